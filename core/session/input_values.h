// SPDX-License-Identifier: Apache-2.0
// What a caller gives a session, held to what the model declares. Any thread.
#pragma once

#include <gantry/session.h>

#include <string>
#include <vector>

namespace gantry {

/// The names in quotation marks, with commas in between; "none" if there are none.
std::string names_of(const std::vector<ValueInfo>& infos);

/// Element type and shape as declared: "float32[batch,3]"; of other kinds their name.
std::string expected_of(const ValueInfo& info);

/// Throws INVALID_ARGUMENT: the model has no such input or output (`role`), what it has, and the
/// nearest name.
[[noreturn]] void fail_unknown(const std::string& role, const std::string& name,
                               const std::vector<ValueInfo>& infos);

/// Kind, element type and shape. INVALID_ARGUMENT: names the input or output (`role`), what was
/// expected and what was found.
void check_value(const char* role, const ValueInfo& info, const Value& value);

}  // namespace gantry
