// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/generation_operators.h"

#include "onnx/bodies/body_text.h"
#include "onnx/bodies/generation/beam_search.h"
#include "onnx/bodies/generation/greedy_search.h"
#include "onnx/bodies/generation/sampling.h"

namespace gantry {
namespace {

constexpr BodyRow kGenerationRows[] = {
    {"GreedySearch",
     "input_ids, max_length, min_length?, repetition_penalty?, vocab_mask?, prefix_vocab_mask?, "
     "attention_mask?",
     "sequences", "i", build_greedy_search},
    {"Sampling",
     "input_ids, max_length, min_length?, repetition_penalty?, vocab_mask?, prefix_vocab_mask?, "
     "attention_mask?, presence_mask?, seed?",
     "sequences, filtered_logits?", "if", build_sampling},
    {"BeamSearch",
     "input_ids, max_length, min_length?, num_beams, num_return_sequences, length_penalty?, "
     "repetition_penalty?, vocab_mask?, prefix_vocab_mask?, attention_mask?, decoder_input_ids?, "
     "logits_processor?",
     "sequences, sequences_scores?, scores?", "iff", build_beam_search},
    {"WhisperBeamSearch",
     "input_ids, max_length, min_length?, num_beams, num_return_sequences, length_penalty?, "
     "repetition_penalty?, vocab_mask?, prefix_vocab_mask?, attention_mask?, decoder_input_ids?, "
     "logits_processor?, cross_qk_layer_head?, extra_decoding_ids?, temperature?",
     "sequences, sequences_scores?, scores?, cross_qk?, non_speech_probs?", "iffff",
     build_whisper_beam_search},
};

}  // namespace

std::vector<onnx::OpSchema> generation_schemas() {
  std::vector<onnx::OpSchema> schemas;
  for (const BodyRow& row : kGenerationRows) schemas.push_back(schema_of(row));
  return schemas;
}

}  // namespace gantry
