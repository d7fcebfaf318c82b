// SPDX-License-Identifier: Apache-2.0
// Weights of few bits in blocks, each block with a scale: the nodes that unpack them, and the
// operators GatherBlockQuantized and MatMulBnb4 of com.microsoft.
#pragma once

#include <onnx/defs/schema.h>
#include <string>
#include <vector>

#include "onnx/bodies/body_text.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// `to`, f32: the numbers of `bits` (2, 4 or 8) bits in the bytes of `packed`, whose last axis gets
/// longer; the lowest bits are the first number.
void unpack_bits(BodyText& body, const std::string& to, const std::string& packed, int64_t bits);

/// GatherBlockQuantized: a row that an index out of range asks for is zeros, as in ONNX Runtime.
std::vector<onnx::OpSchema> block_schemas();

}  // namespace gantry
