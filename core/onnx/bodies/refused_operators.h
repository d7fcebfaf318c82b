// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX Runtime runs and that are not built here.
#pragma once

#include <string_view>

namespace gantry {

/// Why, in one sentence with what to do instead where there is something; "": it is not such an
/// operator.
std::string_view why_not_built(std::string_view domain, std::string_view op_type);

}  // namespace gantry
