// SPDX-License-Identifier: Apache-2.0
// The body of BeamSearch: of all continuations of num_beams sequences the num_beams with the
// highest sum of log probabilities go on, as transformers' beam search has it.
#pragma once

#include "onnx/bodies/body_text.h"

namespace gantry {

BuildBody build_beam_search;

}  // namespace gantry
