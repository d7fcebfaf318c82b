// SPDX-License-Identifier: Apache-2.0
// Decoders that look at what an encoder made of the input, of the kinds of T5 and Whisper
// (onnxruntime.transformers.convert_generation, models/whisper/whisper_chain): the decoder's inputs
// are input_ids, encoder_attention_mask (T5), encoder_hidden_states (some), for each layer a key
// and a value of the tokens before, and for each layer a key and a value of the encoder's output.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "onnx/bodies/generation/decoder_loop.h"

namespace gantry {

class EncoderDecoder {
 public:
  /// Those of the node; nullptr: it has none of these kinds, and `body` has the reason.
  static std::unique_ptr<EncoderDecoder> find(const BodyContext& context, BodyText& body);

  /// Adds to `body` what add_rows() does, the encoder, `prompt`, int64 [rows, places], the
  /// decoder's first tokens, and `limit`. `start_input`: index of the input decoder_input_ids.
  void add_encoder(BodyText& body, const BodyContext& context, int mask_input, int start_input);

  [[nodiscard]] const onnx::GraphProto& decoder() const { return decoder_; }
  /// What of add_encoder() the decoder's inputs are, for DecoderLoop.
  [[nodiscard]] std::vector<std::string> inputs_around() const;
  /// What of it the decoder's outputs are for the first token; empty: the decoder runs for it.
  [[nodiscard]] std::vector<std::string> first_outputs() const;
  /// Carries on the decoder's inputs: the next token is `next_words`, int64 [rows, 1], the
  /// sequences with it are `longer_tokens`, and each row continues one of `next_rows`.
  void carry(DecoderLoop& loop) const;

  [[nodiscard]] const SubgraphCopy& encoder() const { return encoder_; }

 private:
  EncoderDecoder(const onnx::GraphProto& encoder, const onnx::GraphProto& decoder);

  /// The encoder's output of a key or a value of its own output.
  [[nodiscard]] int cross_output(int index) const {
    return runs_decoder_ ? 2 + pasts_ + index : index;
  }

  const onnx::GraphProto& decoder_;
  SubgraphCopy encoder_;
  bool has_mask_;      // the encoder's second input
  bool runs_decoder_;  // the encoder's graph has the decoder too, for the first tokens
  int first_past_ = 1;
  int pasts_;  // keys and values of the tokens before, and as many of the encoder's output
};

}  // namespace gantry
