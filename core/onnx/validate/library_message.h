// SPDX-License-Identifier: Apache-2.0
// What the onnx library says when it refuses a model, as users are to read it. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace gantry {

/// Throws INVALID_MODEL: that the model breaks a rule of ONNX, found by `by` ("checker"), and the
/// library's message as one sentence: without its tags and lines of context, the node in front, and
/// of several messages the first.
[[noreturn]] void reject_model(std::string_view by, std::string_view message);

/// The node that a message of the library is about, as reject_model names it; "a node" if it names
/// none.
std::string node_of_message(std::string_view message);

}  // namespace gantry
