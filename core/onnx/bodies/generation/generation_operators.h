// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft that generate text, GreedySearch, BeamSearch and WhisperBeamSearch,
// which run a decoder that they have as a graph once for each token.
#pragma once

#include <onnx/defs/schema.h>
#include <vector>

#include "onnx/messages/proto.h"

namespace gantry {

/// Their schemas. A body is a Loop whose body is the decoder and what chooses the next token; the
/// encoder of T5 and Whisper stands in front. There is no body for decoders whose past and present
/// share memory.
std::vector<onnx::OpSchema> generation_schemas();

}  // namespace gantry
