// SPDX-License-Identifier: Apache-2.0
#include "operators/attention/heads_move.h"

#include <algorithm>

#include "compile/kernel_texts.h"

namespace gantry::cuda {
namespace {

constexpr int64_t kMostBlocks = int64_t{1} << 20;

template <class T>
const void* const* member(const T* const& pointer) {
  return reinterpret_cast<const void* const*>(&pointer);
}

}  // namespace

void HeadsMove::add(const HeadsBuffer& from, const HeadsBuffer& to, const Change& change) {
  MovedHeads& part = parameters_.parts[count_++];
  part.from = from.heads.strides;
  part.to = to.heads.strides;
  part.heads = static_cast<int>(from.heads.heads);
  part.width = static_cast<int>(from.heads.width);
  part.is_rotated = change.is_rotated ? 1 : 0;
  part.is_cached = change.is_cached ? 1 : 0;
  addresses_.emplace_back(&part.source, from.at);
  addresses_.emplace_back(&part.target, to.at);
  if (change.bias) addresses_.emplace_back(&part.bias, *change.bias);
  parameters_.blocks += batch_ * parameters_.length * part.heads;
  widest_ = std::max(widest_, part.width);
}

void HeadsMove::position(const CachePositions& positions, const Buffer& last_keys,
                         const Buffer* total, int64_t capacity) {
  parameters_.positions = positions;
  parameters_.capacity = capacity;
  addresses_.emplace_back(member(parameters_.positions.last_keys), last_keys);
  if (total) addresses_.emplace_back(member(parameters_.positions.total), *total);
}

void HeadsMove::rotate(const Buffer& cosines, const Buffer& sines, uint32_t dtype, int64_t rows,
                       int64_t pairs, bool is_interleaved, const Buffer* positions) {
  angles_ = dtype;
  parameters_.angle_rows = rows;
  parameters_.pairs = static_cast<int>(pairs);
  parameters_.is_interleaved = is_interleaved ? 1 : 0;
  addresses_.emplace_back(&parameters_.cosines, cosines);
  addresses_.emplace_back(&parameters_.sines, sines);
  if (positions) addresses_.emplace_back(member(parameters_.angles), *positions);
}

void HeadsMove::plan(Planner& planner, uint32_t dtype) {
  if (parameters_.blocks == 0) return;
  const std::string body = "\ntypedef " + type_name(dtype) + " T;\ntypedef " + type_name(angles_) +
                           " S;\ntypedef " + computed_name(dtype) + " C;\n" +
                           std::string(kernel_text("attention_position.cu")) +
                           std::string(kernel_text("heads.cu"));
  planner.launch(kernel_source({"attention.h", "heads.h"}, body),
                 std::min<int64_t>(parameters_.blocks, kMostBlocks),
                 std::min((widest_ + 63) / 64 * 32, 256), parameters_, addresses_);
}

}  // namespace gantry::cuda
