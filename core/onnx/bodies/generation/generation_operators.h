// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that generate text: GreedySearch and BeamSearch, which run a decoder
// that they have as a graph once for each token.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. A body is a Loop whose body is the decoder and what chooses the next token. There
/// is no body for decoders with an encoder (T5, Whisper), nor for those whose past and present
/// share memory.
std::vector<onnx::OpSchema> generation_schemas();

}  // namespace gantry
