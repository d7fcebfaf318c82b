// SPDX-License-Identifier: Apache-2.0
// Rewrites error messages of the onnx library for users. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gantry {

/// Throws INVALID_MODEL: the model violates a rule of ONNX, found by `by` ("checker"), with the
/// library's message as one sentence: without its tags and context lines, the node first, and only
/// the first of several messages.
[[noreturn]] void reject_model(std::string_view by, std::string_view message);

/// The node of a library message, as reject_model names it; "a node" if the message names none.
std::string node_of_message(std::string_view message);

}  // namespace gantry
