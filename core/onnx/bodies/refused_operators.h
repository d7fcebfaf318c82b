// SPDX-License-Identifier: Apache-2.0
// Operators of ONNX Runtime that gantry does not support.
#pragma once

#include <string_view>

namespace gantry {

/// The reason, in one sentence with an alternative if there is one; "": it is no such operator.
std::string_view why_not_built(std::string_view domain, std::string_view op_type);

}  // namespace gantry
