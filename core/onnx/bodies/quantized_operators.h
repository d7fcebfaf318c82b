// SPDX-License-Identifier: Apache-2.0
// Quantized operators of com.microsoft whose bodies depend on the inputs or attributes that a node
// has.
#pragma once

#include <onnx/defs/schema.h>

#include "onnx/messages/proto.h"

namespace gantry {

/// QGemm: its bias is of i32 in the scale of the products; without a scale of the result that is
/// f32.
onnx::OpSchema qgemm_schema();

/// QLinearConcat: scale and zero point of the result, then a tensor, its scale and its zero point
/// for each part.
onnx::OpSchema qlinear_concat_schema();

/// QLinearSoftmax: as the Softmax of the opset that its attribute names, of which those before 13
/// take all axes from theirs on as one.
onnx::OpSchema qlinear_softmax_schema();

/// DynamicQuantizeLSTM: an LSTM whose matrices are of 8 bits. What they are multiplied by stays in
/// floats, where ONNX Runtime rounds it to 8 bits in each run.
onnx::OpSchema dynamic_quantize_lstm_schema();

}  // namespace gantry
