// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/encoder_decoder.h"

#include <string>
#include <vector>

#include "onnx/bodies/generation/prompt.h"

namespace gantry {
namespace {

constexpr char kMask[] = "encoder_attention_mask";
constexpr char kHidden[] = "encoder_hidden_states";
constexpr char kStart[] = "decoder_input_ids";
constexpr int kHiddenOutput = 1;  // of an encoder that runs the decoder

bool has_input(const onnx::GraphProto& graph, int index, const char* name) {
  return index < graph.input_size() && graph.input(index).name() == name;
}

int pasts_of(const onnx::GraphProto& decoder) { return decoder.output_size() - 1; }

int first_past_of(const onnx::GraphProto& decoder) {
  int at = 1;
  if (has_input(decoder, at, kMask)) ++at;
  if (has_input(decoder, at, kHidden)) ++at;
  return at;
}

// Extent of an axis of the first past, [rows, heads, places, width]; 0: unknown.
int64_t extent_of_past(const onnx::GraphProto& decoder, int axis) {
  const auto& shape = decoder.input(first_past_of(decoder)).type().tensor_type().shape();
  return axis < shape.dim_size() ? shape.dim(axis).dim_value() : 0;
}

// What the encoder's inputs are in the body.
std::vector<std::string> names_of_inputs(const onnx::GraphProto& encoder) {
  std::vector<std::string> names = {"input_ids"};
  if (has_input(encoder, 1, kMask)) names.emplace_back("encoder_mask");
  names.emplace_back("start");
  names.resize(static_cast<size_t>(encoder.input_size()));
  return names;
}

bool fits(const onnx::GraphProto& encoder, const onnx::GraphProto& decoder) {
  const int pasts = pasts_of(decoder);
  const bool has_mask = has_input(encoder, 1, kMask);
  const int places = has_mask ? 2 : 1;  // in front of the start
  const bool runs_decoder = has_input(encoder, places, kStart);
  return has_input(encoder, 0, "encoder_input_ids") && pasts >= 2 && pasts % 2 == 0 &&
         encoder.input_size() == places + (runs_decoder ? 1 : 0) &&
         encoder.output_size() == (runs_decoder ? 2 + 2 * pasts : pasts) &&
         has_input(decoder, 0, "input_ids") &&
         decoder.input_size() == first_past_of(decoder) + 2 * pasts &&
         (runs_decoder || (!has_input(decoder, first_past_of(decoder) - 1, kHidden) &&
                           extent_of_past(decoder, 1) > 0 && extent_of_past(decoder, 3) > 0));
}

const onnx::GraphProto* graph_of(const BodyContext& context, const char* name) {
  const onnx::AttributeProto* attribute = context.getAttribute(name);
  return attribute && attribute->has_g() ? &attribute->g() : nullptr;
}

// An output of the encoder, once for each row.
std::string row_of(int output) { return "encoder_rows_" + std::to_string(output); }

// The graph's nodes among those of the body.
void add_nodes(BodyText& body, const onnx::GraphProto& graph) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    onnx::NodeProto constant;
    constant.set_op_type("Constant");
    constant.set_domain("ai.onnx");
    constant.add_output(tensor.name());
    onnx::AttributeProto& value = *constant.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    *value.mutable_t() = tensor;
    body.add_node(std::move(constant));
  }
  for (const onnx::NodeProto& node : graph.node()) body.add_node(node);
}

}  // namespace

std::unique_ptr<EncoderDecoder> EncoderDecoder::find(const BodyContext& context, BodyText& body) {
  const onnx::GraphProto* encoder = graph_of(context, "encoder");
  const onnx::GraphProto* decoder = graph_of(context, "decoder");
  if (!encoder || !decoder || !fits(*encoder, *decoder) || encoder->sparse_initializer_size() > 0) {
    body.refuse(
        "encoder, decoder: expected graphs with the inputs and outputs that ONNX Runtime's "
        "converter gives T5 or Whisper without shared caches; without decoder_input_ids in the "
        "encoder, with known extents of axes 1 and 3 of the pasts");
    return nullptr;
  }
  return std::unique_ptr<EncoderDecoder>(new EncoderDecoder(*encoder, *decoder));
}

EncoderDecoder::EncoderDecoder(const onnx::GraphProto& encoder, const onnx::GraphProto& decoder)
    : decoder_(decoder),
      encoder_(encoder, "encoder", names_of_inputs(encoder)),
      has_mask_(has_input(encoder, 1, kMask)),
      runs_decoder_(has_input(encoder, has_mask_ ? 2 : 1, kStart)),
      first_past_(first_past_of(decoder)),
      pasts_(pasts_of(decoder)) {}

void EncoderDecoder::add_encoder(BodyText& body, const BodyContext& context, int mask_input,
                                 int start_input) {
  add_rows(body, context, true);
  if (context.hasInput(start_input)) {
    body.add("start = Cast<to = 6>(decoder_input_ids)");
  } else {
    body.number("start_word", int_of(context, "decoder_start_token_id", 0));
    body.add_lines(R"(
      one_place = Reshape(one, flat)
      start_shape = Concat<axis = 0>(batch, one_place)
      start_words = Expand(start_word, start_shape)
      start = Cast<to = 6>(start_words))");
  }
  body.add_lines(R"(
    start_rows = Gather<axis = 0>(start, batch_of_row)
    prompt = Cast<to = 7>(start_rows))");
  add_limit(body, "prompt");
  // Of an encoder that runs the decoder the first ids of the loop are not read.
  body.ints("from_last", {-1});
  body.ints("to_end", {int64_t{1} << 62});
  body.slice("first_ids", "start_rows", "from_last", "to_end", 1);
  if (has_mask_) {
    if (context.hasInput(mask_input)) {
      body.add("encoder_mask = Identity(attention_mask)");
    } else {
      // Pads in front are masked; those behind may be the end of the text.
      body.add_lines(R"(
        encoder_words = Cast<to = 7>(input_ids)
        is_encoder_pad = Equal(encoder_words, pad)
        is_encoder_word = Not(is_encoder_pad)
        encoder_word_counts = Cast<to = 7>(is_encoder_word)
        encoder_words_so_far = CumSum(encoder_word_counts, second_axis)
        is_seen = Cast<to = 9>(encoder_words_so_far)
        encoder_mask = Cast<to = 6>(is_seen))");
    }
    body.add("encoder_mask_rows = Gather<axis = 0>(encoder_mask, batch_of_row)");
  }
  add_nodes(body, encoder_.graph);
  const auto add_output = [&](int index) {
    body.add(row_of(index) + " = Gather<axis = 0>(" + encoder_.output(index) + ", batch_of_row)");
  };
  for (int i = 0; i < encoder_.graph.output_size(); ++i) add_output(i);
  if (runs_decoder_) return;
  body.ints("of_past", {extent_of_past(decoder_, 1), 0, extent_of_past(decoder_, 3)});
  body.number("nothing_in_floats", 0.0F);
  body.add_lines(R"(
    past_shape = Concat<axis = 0>(rows, of_past)
    no_past_in_floats = Expand(nothing_in_floats, past_shape))");
  body.add("no_past" + cast_to(decoder_.input(first_past_).type().tensor_type().elem_type()) +
           "no_past_in_floats)");
}

std::vector<std::string> EncoderDecoder::inputs_around() const {
  std::vector<std::string> around(static_cast<size_t>(decoder_.input_size()));
  for (int i = 1; i < first_past_; ++i) {
    const bool is_mask = decoder_.input(i).name() == kMask;
    around.at(static_cast<size_t>(i)) = is_mask ? "encoder_mask_rows" : row_of(kHiddenOutput);
  }
  for (int i = 0; i < pasts_; ++i) {
    const int input = first_past_ + pasts_ + i;
    around.at(static_cast<size_t>(input)) = row_of(cross_output(i));
  }
  return around;
}

std::vector<std::string> EncoderDecoder::first_outputs() const {
  if (!runs_decoder_) return {};
  std::vector<std::string> first = {row_of(0)};
  for (int i = 0; i < pasts_; ++i) first.push_back(row_of(2 + i));
  return first;
}

void EncoderDecoder::carry(DecoderLoop& loop) const {
  const auto& shape = decoder_.input(0).type().tensor_type().shape();
  const bool is_one_word = shape.dim_size() == 2 && shape.dim(1).dim_value() == 1;
  loop.step().add("next_ids" + cast_to(onnx::TensorProto::INT32) +
                  (is_one_word ? "next_words)" : "longer_tokens)"));
  loop.carry_input(0, runs_decoder_ ? "first_ids" : "start_rows", "next_ids");
  for (int i = 0; i < pasts_; ++i) {
    carry_past(loop, first_past_ + i, 1 + i, runs_decoder_ ? row_of(2 + i) : "no_past", 0);
  }
}

}  // namespace gantry
