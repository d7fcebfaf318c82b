// SPDX-License-Identifier: Apache-2.0
// Writes a trace as JSON in the Trace Event Format, which Perfetto and chrome://tracing open.
// Threads of the process are under process 1; each device is a process of its own with a thread for
// each stream; memory is shown as counters.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/trace.h"
#include "program/program.h"

namespace gantry {

/// Writes the records so far; an existing file is replaced. `programs`: all programs whose steps
/// are in the trace. `model`: the model's name, for the title. UNAVAILABLE: the file cannot be
/// written.
void write_trace_file(const std::filesystem::path& file, const Trace& trace,
                      std::span<const Program* const> programs, const std::string& model);

/// The trace file for a session whose configuration names `wanted`. The first session of the
/// process gets that file; later ones get a number before the extension, as in trace.2.json, so
/// that none overwrites another's. UNAVAILABLE: the file cannot be written, which is tested now,
/// before the work.
std::filesystem::path claim_trace_file(const std::string& wanted);

}  // namespace gantry
