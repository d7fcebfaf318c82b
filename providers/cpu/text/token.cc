// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft on tokens and strings: MurmurHash3, NGramRepeatBlock,
// BifurcationDetector, DynamicTimeWarping.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "families.h"
#include "node_kernel.h"
#include "values.h"

namespace gantry::cpu {
namespace {

constexpr char kMicrosoft[] = "com.microsoft";

uint32_t rotate_left(uint32_t x, int bits) { return (x << bits) | (x >> (32 - bits)); }

uint32_t scramble(uint32_t block) { return rotate_left(block * 0xcc9e2d51U, 15) * 0x1b873593U; }

/// MurmurHash3_x86_32; the algorithm is in the public domain.
uint32_t murmur(std::string_view key, uint32_t seed) {
  constexpr size_t kBlock = sizeof(uint32_t);
  uint32_t hash = seed;
  size_t at = 0;
  for (; at + kBlock <= key.size(); at += kBlock) {
    uint32_t block = 0;
    std::memcpy(&block, key.data() + at, kBlock);
    hash = rotate_left(hash ^ scramble(block), 13) * 5 + 0xe6546b64U;
  }
  uint32_t tail = 0;
  for (size_t i = key.size(); i > at; --i)
    tail = (tail << 8) | static_cast<unsigned char>(key[i - 1]);
  if (at < key.size()) hash ^= scramble(tail);
  hash ^= static_cast<uint32_t>(key.size());
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bU;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35U;
  return hash ^ (hash >> 16);
}

class MurmurHash3 final : public NodeKernel {
 public:
  explicit MurmurHash3(const sdk::NodeView& node)
      : NodeKernel(node),
        seed_(static_cast<uint32_t>(node.get_int("seed", 0))),
        dtype_(node.get_int("positive", 1) != 0 ? GANTRY_UINT32 : GANTRY_INT32) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& x = call.input(0);
    const sdk::Shape shape = call.shape(0);
    const int64_t count = shape.element_count();
    auto* y = static_cast<uint32_t*>(call.output(0, dtype_, shape).data);
    if (x.dtype == GANTRY_STRING) {
      for (int64_t i = 0; i < count; ++i)
        y[i] = murmur(sdk::to_view(string_at(call.host(), call.value(0), i)), seed_);
      return;
    }
    const bool is_wide =
        x.dtype == GANTRY_INT64 || x.dtype == GANTRY_UINT64 || x.dtype == GANTRY_DOUBLE;
    const size_t width = is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
    const char* source = call.data<char>(0);
    for (int64_t i = 0; i < count; ++i)
      y[i] = murmur({source + static_cast<size_t>(i) * width, width}, seed_);
  }

 private:
  uint32_t seed_;
  uint32_t dtype_;
};

/// NGramRepeatBlock: sets the scores of tokens that would repeat an n-gram of the row to -infinity.
class NGramRepeatBlock final : public NodeKernel {
 public:
  explicit NGramRepeatBlock(const sdk::NodeView& node)
      : NodeKernel(node), size_(node.get_int("ngram_size", 0)) {
    if (size_ < 1) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute ngram_size is " + std::to_string(size_) + ", needs at least 1");
    }
  }

  void run(sdk::Call& call) const override {
    require_rank(call, 0, 2);
    require_rank(call, 1, 2);
    const sdk::Shape tokens = call.shape(0);
    const sdk::Shape scores = call.shape(1);
    if (tokens[0] != scores[0]) {
      fail("input 0 has shape " + to_string(tokens) + " and input 1 " + to_string(scores) +
           ", needs as many rows");
    }
    const auto* ids = call.data<int64_t>(0);
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, scores).data);
    std::copy_n(call.data<float>(1), scores.element_count(), y);
    for (int64_t row = 0; row < tokens[0]; ++row)
      block(ids + row * tokens[1], tokens[1], y + row * scores[1], scores[1]);
  }

 private:
  void block(const int64_t* ids, int64_t length, float* scores, int64_t vocabulary) const {
    const int64_t prefix = size_ - 1;
    for (int64_t i = 0; i + size_ <= length; ++i) {
      if (!std::equal(ids + i, ids + i + prefix, ids + length - prefix)) continue;
      const int64_t token = ids[i + prefix];
      if (token < 0 || token >= vocabulary) {
        fail("token " + std::to_string(token) + " is outside scores of " +
             std::to_string(vocabulary) + " tokens");
      }
      scores[token] = -std::numeric_limits<float>::infinity();
    }
  }

  int64_t size_;
};

/// BifurcationDetector: accepts predicted tokens up to the first that differs from the source, and
/// finds where the source continues after their last n-gram.
class BifurcationDetector final : public NodeKernel {
 public:
  explicit BifurcationDetector(const sdk::NodeView& node)
      : NodeKernel(node),
        least_(node.get_int("min_ngram_size", 1)),
        most_(node.get_int("max_ngram_size", 3)) {
    if (least_ < 1 || most_ < least_) {
      node.fail(GANTRY_INVALID_MODEL, "n-grams have " + std::to_string(least_) + " to " +
                                          std::to_string(most_) + " tokens, needs 1 <= min <= max");
    }
  }

  void run(sdk::Call& call) const override {
    for (int slot = 0; slot < (call.has_input(3) ? 4 : 2); ++slot) {
      if (slot != 2) require_rank(call, slot, 1);
    }
    const auto* source = call.data<int64_t>(0);
    const int64_t source_length = call.shape(0)[0];
    const int64_t current_length = call.shape(1)[0];
    const int64_t taken = call.has_input(3) ? count_taken(call, source, source_length) : 0;
    const int64_t length = current_length + taken;
    auto* tokens = static_cast<int64_t*>(call.output(0, GANTRY_INT64, {length}).data);
    std::copy_n(call.data<int64_t>(1), current_length, tokens);
    if (taken > 0) std::copy_n(call.data<int64_t>(3), taken, tokens + current_length);
    const int64_t match = find_suffix(source, source_length, tokens, length);
    auto& result = call.output(1, GANTRY_INT64, call.shape(2));
    if (sdk::Shape(result).element_count() != 1)
      fail("input 2 has shape " + to_string(call.shape(2)) + ", needs one element");
    *static_cast<int64_t*>(result.data) = match;
  }

 private:
  int64_t count_taken(sdk::Call& call, const int64_t* source, int64_t source_length) const {
    const int64_t start = read_int(call, 2);
    const int64_t predicted = call.shape(3)[0];
    if (start < 0 || start > source_length || predicted != source_length + 1 - start) {
      fail("input 3 has " + std::to_string(predicted) + " tokens and input 2 is " +
           std::to_string(start) + ", needs a position in the " + std::to_string(source_length) +
           " tokens of the source and one token more than stand behind it");
    }
    const auto* tokens = call.data<int64_t>(3);
    int64_t equal = 0;
    while (equal < source_length - start && tokens[equal] == source[start + equal]) ++equal;
    return equal + 1;
  }

  [[nodiscard]] int64_t find_suffix(const int64_t* source, int64_t source_length,
                                    const int64_t* tokens, int64_t length) const {
    const int64_t* end = source + source_length;
    int64_t found = -1;
    for (int64_t size = least_; size <= std::min(most_, length); ++size) {
      const int64_t* suffix = tokens + length - size;
      const int64_t* first = std::search(source, end, suffix, tokens + length);
      if (first == end) break;
      found = first - source + size;
      if (found >= source_length) break;
      if (std::search(first + 1, end, suffix, tokens + length) == end) continue;
      found = -1;
    }
    return found;
  }

  int64_t least_;
  int64_t most_;
};

/// DynamicTimeWarping: the path of least cost through a cost matrix, from its first to its last
/// element.
class DynamicTimeWarping final : public NodeKernel {
 public:
  explicit DynamicTimeWarping(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank != 2 && !(x.rank == 3 && x[0] == 1))
      fail("input 0 has shape " + to_string(x) + ", needs [M, N] or [1, M, N]");
    const int64_t rows = x[x.rank - 2];
    const int64_t columns = x[x.rank - 1];
    enum Step : int8_t { kBoth, kRow, kColumn };
    const auto* costs = call.data<float>(0);
    // Two columns of cumulative costs; row 0 is the border before the matrix.
    auto* last = call.scratch<float>(rows + 1);
    auto* sums = call.scratch<float>(rows + 1);
    auto* steps = call.scratch<int8_t>(rows * columns);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::fill_n(last, rows + 1, kInfinity);
    last[0] = 0;
    for (int64_t column = 0; column < columns; ++column) {
      sums[0] = kInfinity;
      for (int64_t row = 0; row < rows; ++row) {
        const float both = last[row];
        const float up = sums[row];
        const float left = last[row + 1];
        const Step step = both < up && both < left ? kBoth
                          : up < both && up < left ? kRow
                                                   : kColumn;
        const float before = step == kBoth ? both : step == kRow ? up : left;
        sums[row + 1] = before + costs[row * columns + column];
        steps[row * columns + column] = step;
      }
      std::swap(last, sums);
    }
    int64_t length = 0;
    const auto walk = [&](auto visit) {
      int64_t row = rows - 1;
      int64_t column = columns - 1;
      while (row >= 0 && column >= 0) {
        const int8_t step = steps[row * columns + column];
        visit(row, column);
        if (step != kColumn) --row;
        if (step != kRow) --column;
      }
    };
    walk([&](int64_t, int64_t) { ++length; });
    auto* path = static_cast<int32_t*>(call.output(0, GANTRY_INT32, {2, length}).data);
    int64_t at = length;
    walk([&](int64_t row, int64_t column) {
      --at;
      path[at] = static_cast<int32_t>(row);
      path[length + at] = static_cast<int32_t>(column);
    });
  }
};

constexpr sdk::DTypeSet kHashed =
    sdk::kString | sdk::dtypes(GANTRY_INT32, GANTRY_UINT32, GANTRY_INT64, GANTRY_UINT64,
                               GANTRY_FLOAT, GANTRY_DOUBLE);

constexpr sdk::KernelRow token_row(const char* op_type, sdk::DTypeSet dtypes,
                                   sdk::Factory factory) {
  return {op_type, 1, sdk::kLatest, dtypes, factory, {}, nullptr, kMicrosoft};
}

constexpr sdk::KernelRow kTokenRows[] = {
    token_row("MurmurHash3", kHashed, sdk::make<MurmurHash3>),
    token_row("NGramRepeatBlock", sdk::dtypes(GANTRY_INT64), sdk::make<NGramRepeatBlock>),
    token_row("BifurcationDetector", sdk::dtypes(GANTRY_INT64), sdk::make<BifurcationDetector>),
    token_row("DynamicTimeWarping", sdk::dtypes(GANTRY_FLOAT), sdk::make<DynamicTimeWarping>),
};

}  // namespace

sdk::KernelTable token_kernels() { return sdk::table(kTokenRows); }

}  // namespace gantry::cpu
