// SPDX-License-Identifier: Apache-2.0
#include "operators/attention/attention_heads.h"

#include <algorithm>
#include <cmath>

namespace gantry::cuda {

Heads heads_of(const Extents& shape, int64_t count, int slot) {
  if (shape.size() == 4) return Heads::dense(shape[0], shape[1], shape[2], shape[3]);
  if (shape.size() != 3 || count < 1 || shape[2] % count != 0) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "input " + std::to_string(slot) + " has the shape " + text_of(shape) +
                         ", needs [batch, heads, length, width], or [batch, length, heads * width] "
                         "and the attribute of the number of heads");
  }
  return Heads::side_by_side(shape[0], count, shape[1], shape[2] / count, shape[2]);
}

void check_heads(const Heads& q, const Heads& k, const Heads& v) {
  if (k.batch != q.batch || v.batch != q.batch || k.width != q.width || v.heads != k.heads ||
      v.length != k.length || k.heads < 1 || q.heads % k.heads != 0) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "queries of [batch, heads, length, width] " +
                                                  text_of(q.shape()) + ", keys " +
                                                  text_of(k.shape()) + " and values " +
                                                  text_of(v.shape()) + " do not fit together");
  }
  if (std::max(q.width, v.width) > kMostWidth) {
    throw sdk::Error(GANTRY_UNSUPPORTED, "heads of " + std::to_string(std::max(q.width, v.width)) +
                                             " elements, more than " + std::to_string(kMostWidth));
  }
}

int64_t past_length(const Extents& past, const Heads& heads, int slot) {
  if (past.size() == 4 && past[0] == heads.batch && past[1] == heads.heads &&
      past[3] == heads.width)
    return past[2];
  throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input " + std::to_string(slot) + " has the shape " +
                                                text_of(past) + ", which does not fit the heads");
}

ConcatenatedHeads concatenated_heads(Planner& planner, uint32_t dtype, const Heads& fresh,
                                     int past_slot, int present) {
  ConcatenatedHeads concatenated;
  int64_t before = 0;
  if (planner.has_input(past_slot)) {
    before = past_length(planner.shape(past_slot), fresh, past_slot);
    concatenated.past = {Heads::dense(fresh.batch, fresh.heads, before, fresh.width),
                         Planner::in(past_slot)};
  }
  if (planner.wants(present)) {
    concatenated.present = planner.output(
        present, dtype, {fresh.batch, fresh.heads, before + fresh.length, fresh.width});
  }
  return concatenated;
}

HeadsBuffer plan_concatenation(Planner& planner, uint32_t dtype, const HeadsBuffer& fresh,
                               const ConcatenatedHeads& concatenated) {
  if (!concatenated.past && !concatenated.present) return fresh;
  const Heads& heads = fresh.heads;
  const int64_t bytes = bytes_of(dtype);
  const int64_t before = concatenated.past ? concatenated.past->heads.length : 0;
  const Heads whole = Heads::dense(heads.batch, heads.heads, before + heads.length, heads.width);
  const Buffer target =
      concatenated.present
          ? *concatenated.present
          : planner.scratch(static_cast<uint64_t>(count_of(whole.shape()) * bytes));
  if (concatenated.past) {
    const Heads& past = concatenated.past->heads;
    plan_copy(planner, past.shape(), bytes, target, whole.all_strides(), concatenated.past->at,
              past.all_strides());
  }
  plan_copy(planner, heads.shape(), bytes,
            target.at(static_cast<uint64_t>(before * heads.width * bytes)), whole.all_strides(),
            fresh.at, heads.all_strides());
  return {whole, target};
}

AttentionParameters attention_of(const Heads& q, const Heads& k, const Heads& v, float scale) {
  AttentionParameters p = {};
  p.q = q.strides;
  p.k = k.strides;
  p.v = v.strides;
  p.y = Heads::side_by_side(q.batch, q.heads, q.length, v.width, q.heads * v.width).strides;
  p.batch = q.batch;
  p.q_heads = static_cast<int>(q.heads);
  p.kv_heads = static_cast<int>(k.heads);
  p.q_length = static_cast<int>(q.length);
  p.k_length = p.key_limit = static_cast<int>(k.length);
  p.width = static_cast<int>(q.width);
  p.v_width = static_cast<int>(v.width);
  p.left = p.right = -1;
  p.scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(std::max<int64_t>(q.width, 1)));
  return p;
}

HeadStrides score_strides(const Extents& shape, const AttentionParameters& parameters,
                          const char* what) {
  const int64_t expected[] = {parameters.batch, parameters.q_heads, parameters.q_length};
  HeadStrides strides = {};
  long long* const members[] = {&strides.batch, &strides.head, &strides.row};
  bool fits = !shape.empty() && shape.size() <= 4 && shape.back() <= parameters.k_length;
  const Extents dense = dense_strides(shape);
  for (size_t back = 2; fits && back <= shape.size(); ++back) {
    const size_t axis = shape.size() - back;
    const size_t position = 4 - back;
    fits = shape[axis] == 1 || shape[axis] == expected[position];
    *members[position] = shape[axis] == 1 ? 0 : dense[axis];
  }
  if (fits) return strides;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                   std::string(what) + " of the shape " + text_of(shape) + " does not fit " +
                       std::to_string(parameters.q_length) + " queries and " +
                       std::to_string(parameters.k_length) + " keys");
}

}  // namespace gantry::cuda
