// SPDX-License-Identifier: Apache-2.0
// The bodies of BeamSearch and WhisperBeamSearch: of all continuations of num_beams sequences the
// num_beams with the highest sum of log probabilities go on, as transformers' beam search has it.
#pragma once

#include "onnx/bodies/body_text.h"

namespace gantry {

BuildBody build_beam_search;
/// The same of WhisperBeamSearch, whose decoder has an encoder.
BuildBody build_whisper_beam_search;

}  // namespace gantry
