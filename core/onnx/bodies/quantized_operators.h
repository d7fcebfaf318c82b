// SPDX-License-Identifier: Apache-2.0
// Quantized operators of com.microsoft whose bodies depend on the inputs or attributes of a node.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// QGemm: the bias is int32 in the scale of the products; without an output scale the result is
/// float32.
onnx::OpSchema qgemm_schema();

/// QLinearConcat. Inputs: scale and zero point of the result, then tensor, scale and zero point of
/// each operand.
onnx::OpSchema qlinear_concat_schema();

/// QLinearSoftmax: as the Softmax of the opset in its attribute; before opset 13 Softmax flattens
/// all axes from `axis` on.
onnx::OpSchema qlinear_softmax_schema();

/// DynamicQuantizeLSTM: an LSTM with 8-bit weights. Unlike ONNX Runtime, the body does not quantize
/// the activations to 8 bits.
onnx::OpSchema dynamic_quantize_lstm_schema();

}  // namespace gantry
