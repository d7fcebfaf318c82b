// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding and MRotaryEmbedding of com.microsoft.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "onnx/bodies/attention_body.h"

namespace gantry {
namespace {

constexpr int64_t kStreams = 3;  // position streams: time, height and width

// Reshapes `input`, [batch, length, heads * width] or [batch, heads, length, width], to `parts`,
// [batch, length, heads, width].
void part_input(const BodyContext& context, AttentionBody& body) {
  body.widen("wide", "input");
  if (rank_of(context, 0) == 4) {
    body.transpose("parts", "wide");
  } else if (body.heads() > 0) {
    body.split_heads("parts", "wide", body.heads());
  } else {
    // Whole heads are rotated, so their width is twice that of the caches.
    body.extent("half_width", "cos_cache", 1);
    body.add("head_width = Add(half_width, half_width)");
    body.ints("before_heads", {0, 0, -1});
    body.reshape("parts", "wide", std::vector<std::string>{"before_heads", "head_width"});
  }
}

// Reshapes `rotated`, which has the shape of `parts`, to `output`.
void join_output(const BodyContext& context, AttentionBody& body) {
  if (rank_of(context, 0) == 4) {
    body.transpose("shaped", "rotated");
  } else {
    body.add("shape = Shape(input)");
    body.add("shaped = Reshape(rotated, shape)");
  }
  body.narrow("output", "shaped");
}

bool is_interleaved(const BodyContext& context) { return int_of(context, "interleaved", 0) != 0; }

constexpr char kUnknownInput[] = "input: expected a known element type, and a known rank of 3 or 4";

bool knows_input(const BodyContext& context) {
  const int rank = rank_of(context, 0);
  return (rank == 3 || rank == 4) && type_of(context, 0) != 0;
}

// Number of columns of the caches of each stream; empty: absent or invalid.
std::vector<int64_t> sections_of(const BodyContext& context) {
  const onnx::AttributeProto* given = context.getAttribute("mrope_section");
  if (given == nullptr || given->ints_size() != kStreams) return {};
  const std::vector<int64_t> sections(given->ints().begin(), given->ints().end());
  const bool fits = std::all_of(sections.begin(), sections.end(), [](int64_t columns) {
    return columns >= 0 && columns <= INT32_MAX;
  });
  return fits ? sections : std::vector<int64_t>{};
}

// The stream whose position each column of the caches uses: consecutive sections or, if `is_mixed`,
// height and width interleaved at every third column up to their numbers, and time elsewhere.
std::vector<int64_t> streams_of(const std::vector<int64_t>& sections, bool is_mixed) {
  const int64_t columns = std::accumulate(sections.begin(), sections.end(), int64_t{0});
  std::vector<int64_t> streams;
  for (int64_t column = 0; column < columns; ++column) {
    if (is_mixed) {
      const int64_t stream = column % kStreams;
      streams.push_back(column < kStreams * sections[stream] ? stream : 0);
    } else {
      streams.push_back(column < sections[0] ? 0 : column < sections[0] + sections[1] ? 1 : 2);
    }
  }
  return streams;
}

// `to`, [batch, length, 1, columns]: each column of the cache at the position of its stream.
void choose_columns(AttentionBody& body, const std::string& to, const std::string& cache) {
  body.add(to + "_rows = Gather(" + cache + ", position_ids)");
  body.widen(to + "_wide", to + "_rows");
  constexpr std::array<const char*, kStreams> kNames{"_times", "_heights", "_widths"};
  for (int64_t stream = 0; stream < kStreams; ++stream)
    body.pick(to + kNames[stream], to + "_wide", stream, 0);
  body.add(to + "_without_heights = Where(is_width, " + to + "_widths, " + to + "_times)");
  body.add(to + "_chosen = Where(is_height, " + to + "_heights, " + to + "_without_heights)");
  body.unsqueeze(to, to + "_chosen", {2});
}

}  // namespace

// RotaryEmbedding. Inputs: input, position_ids, cos_cache, sin_cache. As in ONNX Runtime, `scale`
// and `is_packed_batching` are ignored.
bool build_rotary(const BodyContext& context, const onnx::OpSchema& schema,
                  onnx::FunctionProto& function) {
  const int place_rank = rank_of(context, 1);
  if (!knows_input(context)) return refuse(function, kUnknownInput);
  if (place_rank != 1 && place_rank != 2)
    return refuse(function, "position_ids: expected a known rank of 1 or 2");
  AttentionBody body(function, context);
  part_input(context, body);
  std::string positions = "position_ids";
  if (place_rank == 1) {  // the position of the first element
    body.extent("length", "parts", 1);
    body.count("steps", "length");
    body.add("shifted = Add(steps, position_ids)");
    body.unsqueeze("positions", "shifted", {0});
    positions = "positions";
  }
  body.rotate("rotated", "parts", positions, is_interleaved(context));
  join_output(context, body);
  schema.BuildFunction(function);
  return true;
}

// MRotaryEmbedding, of Qwen's vision-language models. Inputs as above, but positions are [3, batch,
// length].
bool build_rotary_of_streams(const BodyContext& context, const onnx::OpSchema& schema,
                             onnx::FunctionProto& function) {
  const std::vector<int64_t> sections = sections_of(context);
  const int64_t layout = int_of(context, "mrope_layout", 0);
  if (!knows_input(context)) return refuse(function, kUnknownInput);
  if (rank_of(context, 1) != 3) return refuse(function, "position_ids: expected a known rank of 3");
  if (sections.empty() || layout < 0 || layout > 1)
    return refuse(function, "expected three numbers in mrope_section, and mrope_layout 0 or 1");
  AttentionBody body(function, context);
  part_input(context, body);
  body.ints("streams", streams_of(sections, layout == 1));
  body.number("height", int64_t{1});
  body.number("width", int64_t{2});
  body.add("is_height = Equal(streams, height)");
  body.add("is_width = Equal(streams, width)");
  choose_columns(body, "cos", "cos_cache");
  choose_columns(body, "sin", "sin_cache");
  body.rotate_by("rotated", "parts", "cos", "sin", is_interleaved(context));
  join_output(context, body);
  schema.BuildFunction(function);
  return true;
}

}  // namespace gantry
