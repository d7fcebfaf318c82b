// SPDX-License-Identifier: Apache-2.0
// Block-quantized weights of 2 to 8 bits with a scale per block: the nodes that unpack them, and
// the operators GatherBlockQuantized and MatMulBnb4 of com.microsoft.
#pragma once

#include <onnx/defs/schema.h>
#include <string>
#include <vector>

#include "onnx/bodies/body_text.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// Unpacks the elements of `bits` (2, 4 or 8) bits in the bytes of `packed` to float32 `to`, whose
/// last axis is longer by 8 / bits; the lowest bits are the first element.
void unpack_bits(BodyText& body, const std::string& to, const std::string& packed, int64_t bits);

/// GatherBlockQuantized and MatMulBnb4. A Gather index out of range gives a row of zeros, as in
/// ONNX Runtime.
std::vector<onnx::OpSchema> block_schemas();

}  // namespace gantry
