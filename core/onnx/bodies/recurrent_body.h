// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM as nodes for one step after the other, for those who want to know what is
// between: their derivatives follow from those of the nodes. One thread.
#pragma once

#include <optional>

#include "onnx/bodies/body_text.h"
#include "onnx/proto.h"

namespace gantry {

/// The body of such a layer, in nodes of opset 13; nothing: the node is of another operator.
/// UNSUPPORTED: the number of steps or of hidden values is not known, or there are too many steps
/// to stand one after the other. INVALID_MODEL: attributes that the operator does not have.
std::optional<onnx::FunctionProto> unrolled_layer(const onnx::NodeProto& node,
                                                  const BodyContext& context);

}  // namespace gantry
