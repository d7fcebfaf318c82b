// SPDX-License-Identifier: Apache-2.0
// Trace files: a trace as JSON in the Trace Event Format, which Perfetto and Chrome's tracing page
// open. Threads of the process stand under process 1, each device under a process of its own with a
// line for each stream; memory is counters.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/trace.h"
#include "program/program.h"

namespace gantry {

/// Writes the records so far; an existing file is replaced. `programs`: all whose steps it has
/// records of. `model`: what the title says.
/// UNAVAILABLE: the file cannot be written.
void write_trace_file(const std::filesystem::path& file, const Trace& trace,
                      std::span<const Program* const> programs, const std::string& model);

/// The file for a session whose configuration names `wanted`: the first session of the process gets
/// just that, later ones get a number before the ending, as in trace.2.json, so that none
/// overwrites another's. UNAVAILABLE: the file cannot be written (which is tried at once: after the
/// work it would be too late).
std::filesystem::path claim_trace_file(const std::string& wanted);

}  // namespace gantry
