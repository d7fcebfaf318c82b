// SPDX-License-Identifier: Apache-2.0
// Appends the checks of each file level<N>_*.cc. The checks refer to the subject, which must
// outlive them.
#pragma once

#include <string>
#include <vector>

#include "check.h"

namespace gantry::checks {

using Checks = std::vector<Check>;

void add_loading_checks(Checks& checks, const Subject& subject);  ///< level 1
void add_version_checks(Checks& checks, const Subject& subject);  ///< level 1: other versions
void add_device_checks(Checks& checks, const Subject& subject);   ///< level 2: devices, memory
void add_stream_checks(Checks& checks, const Subject& subject);   ///< level 2: streams, events
void add_capture_checks(Checks& checks, const Subject& subject);  ///< level 2: recorded kernels
void add_claim_checks(Checks& checks, const Subject& subject);    ///< level 3: ordinary graphs
void add_hostile_checks(Checks& checks, const Subject& subject);  ///< level 3: hostile graphs
void add_case_checks(Checks& checks, const Subject& subject);     ///< level 4: ONNX node cases
void add_random_checks(Checks& checks, const Subject& subject);   ///< level 4: random cases
void add_chain_checks(Checks& checks, const Subject& subject);    ///< level 4: nodes together
void add_blob_checks(Checks& checks, const Subject& subject);     ///< level 5: compiled forms
void add_thread_checks(Checks& checks, const Subject& subject);   ///< level 5: threads
void add_memory_checks(Checks& checks, const Subject& subject);   ///< level 5: memory of runs
void add_fault_checks(Checks& checks, const Subject& subject);    ///< level 5: injected faults

/// True if a pattern of Subject::only, with * and ?, matches the check name.
bool is_named(const std::string& pattern, const std::string& name);

/// The checks of the levels and names that the subject selects, in the order in which they run.
/// Deterministic, so that parent and child processes agree.
Checks all_checks(const Subject& subject);

}  // namespace gantry::checks
