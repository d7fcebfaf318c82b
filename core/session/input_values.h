// SPDX-License-Identifier: Apache-2.0
// Checks the caller's values against the declarations of the model. Any thread.
#pragma once

#include <gantry/session.h>

#include <string>
#include <vector>

namespace gantry {

/// The quoted names, separated by commas; "none" if there are none.
std::string names_of(const std::vector<ValueInfo>& infos);

/// Element type and shape as declared: "float32[batch,3]"; of other kinds their name.
std::string expected_of(const ValueInfo& info);

/// Throws INVALID_ARGUMENT: the model has no such input or output (`role`); the message lists those
/// it has and the nearest name.
[[noreturn]] void fail_unknown(const std::string& role, const std::string& name,
                               const std::vector<ValueInfo>& infos);

/// Checks kind, element type and shape. INVALID_ARGUMENT: one differs; the message names the input
/// or output (`role`), what was expected and what was found.
void check_value(const char* role, const ValueInfo& info, const Value& value);

}  // namespace gantry
