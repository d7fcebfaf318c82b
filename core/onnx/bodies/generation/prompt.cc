// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/generation/prompt.h"

#include <array>
#include <string_view>
#include <vector>

namespace gantry {
namespace {

constexpr int kPastRank = 5;  // key and value, rows, heads, places, width

// Extent of a past's axis; -1: unknown.
int64_t past_extent(const onnx::GraphProto& decoder, int axis) {
  const auto& shape = decoder.input(kFirstPast).type().tensor_type().shape();
  if (shape.dim_size() != kPastRank || !shape.dim(axis).has_dim_value()) return -1;
  return shape.dim(axis).dim_value();
}

bool has_names(const onnx::GraphProto& decoder) {
  constexpr std::array<std::string_view, 4> kInputs = {"input_ids", "position_ids",
                                                       "attention_mask", "past_0"};
  for (size_t i = 0; i < kInputs.size(); ++i) {
    if (decoder.input(static_cast<int>(i)).name() != kInputs[i]) return false;
  }
  return true;
}

}  // namespace

const onnx::GraphProto* find_decoder(const BodyContext& context, BodyText& body) {
  const auto no = [&](const char* why) {
    body.refuse(why);
    return nullptr;
  };
  if (int_of(context, "model_type", 0) != 0)
    return no("model_type: expected 0, a decoder without an encoder");
  if (context.getAttribute("init_decoder"))
    return no("init_decoder: expected none, since the decoder runs the prompt");
  const onnx::AttributeProto* attribute = context.getAttribute("decoder");
  if (!attribute || !attribute->has_g()) return no("decoder: expected a graph, found none");
  const onnx::GraphProto& decoder = attribute->g();
  const int layers = decoder.output_size() - kFirstPresent;
  if (layers < 1 || decoder.input_size() != kFirstPast + layers || !has_names(decoder)) {
    return no(
        "decoder: expected the inputs input_ids, position_ids, attention_mask and past_0 and so "
        "on, and the outputs logits and a present for each past");
  }
  if (past_extent(decoder, 2) < 1 || past_extent(decoder, 4) < 1)
    return no("decoder: expected past_0 of rank 5 with known extents of axes 2 and 4");
  return &decoder;
}

void add_rows(BodyText& body, const BodyContext& context, bool has_beams) {
  body.ints("flat", {-1});
  body.extent("batch", "input_ids", 0);
  if (has_beams) {
    body.add_lines(R"(
      beams_as_given = Cast<to = 7>(num_beams)
      beams = Reshape(beams_as_given, flat)
      rows = Mul(batch, beams))");
    body.count("numbers_of_rows", "rows");
    body.add("batch_of_row = Div(numbers_of_rows, beams)");
  } else {
    body.add("rows = Identity(batch)");
    body.count("batch_of_row", "rows");
  }
  body.number("pad", int_of(context, "pad_token_id", 0));
  body.number("one", int64_t{1});
  body.number("second_axis", int64_t{1});
  body.add_lines(R"(
    most = Cast<to = 7>(max_length)
    most_words = Reshape(most, flat))");
}

void add_limit(BodyText& body, const std::string& prompt) {
  body.extent("length", prompt, 1);
  body.add_lines(R"(
    more_words = Sub(most_words, length)
    limit = Squeeze(more_words))");
}

void add_prompt(BodyText& body, const BodyContext& context, const onnx::GraphProto& decoder,
                bool has_beams, int mask_input) {
  add_rows(body, context, has_beams);
  body.add_lines(R"(
    ids = Gather<axis = 0>(input_ids, batch_of_row)
    prompt = Cast<to = 7>(ids))");
  add_limit(body, "prompt");
  // Positions are counted without pads, also if a mask is given.
  body.add_lines(R"(
    is_pad = Equal(prompt, pad)
    is_word = Not(is_pad))");
  body.add(context.hasInput(mask_input) ? "mask = Gather<axis = 0>(attention_mask, batch_of_row)"
                                        : "mask = Cast<to = 6>(is_word)");
  body.ints("axis_of_places", {1});
  body.add_lines(R"(
    words = Cast<to = 7>(is_word)
    words_up_to = CumSum(words, second_axis)
    words_before = Sub(words_up_to, one)
    places_of_words = Mul(words_before, words)
    positions = Cast<to = 6>(places_of_words)
    word_counts = ReduceSum<keepdims = 1>(words, axis_of_places)
    next_positions = Cast<to = 6>(word_counts))");
  const int type = decoder.input(kFirstPast).type().tensor_type().elem_type();
  body.ints("key_and_value", {2});
  body.ints("of_past", {past_extent(decoder, 2), 0, past_extent(decoder, 4)});
  body.add("past_shape = Concat<axis = 0>(key_and_value, rows, of_past)");
  body.number("nothing_in_floats", 0.0F);
  body.add("nothing" + cast_to(type) + "nothing_in_floats)");
  body.add("no_past = Expand(nothing, past_shape)");
}

void carry_words(DecoderLoop& loop) {
  BodyText& step = loop.step();
  step.add_lines(R"(
    next_ids = Cast<to = 6>(next_words)
    row_shape = Shape(next_words)
    one_place = Cast<to = 6>(one)
    place_now = Identity(next_place)
    later_positions = Add(next_place, one_place)
    seen = Expand(one_place, row_shape))");
  step.join("next_mask", loop.input(kMaskInput), "seen", 1);
  loop.carry_input(kIdsInput, "ids", "next_ids");
  loop.carry_input(kPositionsInput, "positions", "place_now");
  loop.carry_input(kMaskInput, "mask", "next_mask");
  loop.carry("next_place", type_of_rank(onnx::TensorProto::INT32, 2), "next_positions",
             "later_positions");
}

void carry_past(DecoderLoop& loop, int past_input, int present_output, const std::string& first,
                int axis) {
  const std::string next = "next_past_" + std::to_string(past_input);
  loop.step().add(next + " = Gather<axis = " + std::to_string(axis) + ">(" +
                  loop.output(present_output) + ", next_rows)");
  loop.carry_input(past_input, first, next);
}

}  // namespace gantry
