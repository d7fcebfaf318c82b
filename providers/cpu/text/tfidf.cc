// SPDX-License-Identifier: Apache-2.0
// TfIdfVectorizer: counts the n-grams of a pool in each row of tokens, with gaps of up to
// max_skip_count tokens. The pool is a trie of tokens, built when the kernel is made.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "attributes.h"
#include "families.h"
#include "node_kernel.h"
#include "tensor/indices.h"
#include "values.h"

namespace gantry::cpu {
namespace {

enum class Weighting { kCount, kPresence, kWeightedCount };

/// The pool as a trie. Tokens of the pool are numbered; node 0 is the root.
class NgramPool {
 public:
  static constexpr int64_t kNone = -1;

  explicit NgramPool(const sdk::NodeView& node) {
    texts_ = node.get_strings("pool_strings");
    const std::vector<int64_t> numbers = node.get_ints("pool_int64s");
    require_one_list(node, texts_.empty(), numbers.empty(), "pool_strings", "pool_int64s");
    std::vector<int64_t> tokens;
    for (const std::string& text : texts_) {
      tokens.push_back(
          text_ids_.try_emplace(text, static_cast<int64_t>(text_ids_.size())).first->second);
    }
    for (const int64_t number : numbers) {
      tokens.push_back(
          number_ids_.try_emplace(number, static_cast<int64_t>(number_ids_.size())).first->second);
    }
    nodes_ = 1;
    ends_.push_back(kNone);
    add_ngrams(node, tokens);
    make_tables();
  }

  [[nodiscard]] bool has_texts() const { return !texts_.empty(); }
  [[nodiscard]] int64_t token(std::string_view text) const {
    const auto found = text_ids_.find(text);
    return found == text_ids_.end() ? kNone : found->second;
  }
  [[nodiscard]] int64_t token(int64_t number) const {
    if (!number_table_.empty()) {
      const uint64_t at = static_cast<uint64_t>(number) - static_cast<uint64_t>(least_number_);
      return at < number_table_.size() ? number_table_[at] : kNone;
    }
    const auto found = number_ids_.find(number);
    return found == number_ids_.end() ? kNone : found->second;
  }
  /// The child of `parent` for a token, or kNone.
  [[nodiscard]] int64_t child(int64_t parent, int64_t token) const {
    if (!table_.empty()) return table_[static_cast<size_t>(parent * tokens_ + token)];
    const auto found = children_.find({parent, token});
    return found == children_.end() ? kNone : found->second;
  }
  /// The index in the pool of the n-gram that ends at a node, or kNone.
  [[nodiscard]] int64_t ngram(int64_t tree_node) const {
    return ends_[static_cast<size_t>(tree_node)];
  }
  [[nodiscard]] int64_t ngram_count() const { return ngrams_; }

 private:
  struct Edge {
    int64_t parent;
    int64_t token;
    bool operator==(const Edge& other) const {
      return parent == other.parent && token == other.token;
    }
  };
  struct EdgeHash {
    size_t operator()(const Edge& edge) const {
      return (static_cast<size_t>(edge.parent) * 0x9E3779B97F4A7C15U) ^
             static_cast<size_t>(edge.token) * 0xC2B2AE3D27D4EB4FU;
    }
  };

  /// Attribute ngram_counts[n] is the index at which the (n + 1)-grams start.
  void add_ngrams(const sdk::NodeView& node, const std::vector<int64_t>& tokens) {
    const std::vector<int64_t> starts = node.get_ints("ngram_counts");
    const auto size = static_cast<int64_t>(tokens.size());
    for (size_t n = 0; n < starts.size(); ++n) {
      const int64_t begin = starts[n];
      const int64_t end = n + 1 < starts.size() ? starts[n + 1] : size;
      const auto length = static_cast<int64_t>(n) + 1;
      if (begin < 0 || end < begin || end > size || (end - begin) % length != 0) {
        node.fail(GANTRY_INVALID_MODEL, "attribute ngram_counts does not divide a pool of " +
                                            std::to_string(size) + " tokens into n-grams");
      }
      for (int64_t at = begin; at < end; at += length) add(tokens.data() + at, length);
    }
  }
  /// Builds lookup tables for small pools, which are faster than hash maps.
  void make_tables() {
    constexpr int64_t kMost = int64_t{1} << 18;
    tokens_ = static_cast<int64_t>(text_ids_.size() + number_ids_.size());
    if (nodes_ <= kMost / std::max<int64_t>(tokens_, 1)) {
      table_.assign(static_cast<size_t>(nodes_ * tokens_), kNone);
      for (const auto& [edge, node] : children_)
        table_[static_cast<size_t>(edge.parent * tokens_ + edge.token)] = node;
    }
    if (number_ids_.empty()) return;
    int64_t most = number_ids_.begin()->first;
    least_number_ = most;
    for (const auto& [number, token] : number_ids_) {
      least_number_ = std::min(least_number_, number);
      most = std::max(most, number);
    }
    const uint64_t range = static_cast<uint64_t>(most) - static_cast<uint64_t>(least_number_);
    if (range >= kMost) return;
    number_table_.assign(range + 1, kNone);
    for (const auto& [number, token] : number_ids_)
      number_table_[static_cast<size_t>(number - least_number_)] = token;
  }
  void add(const int64_t* tokens, int64_t length) {
    int64_t at = 0;
    for (int64_t i = 0; i < length; ++i) {
      const auto [found, is_new] = children_.try_emplace({at, tokens[i]}, nodes_);
      if (is_new) {
        ++nodes_;
        ends_.push_back(kNone);
      }
      at = found->second;
    }
    // Of equal n-grams the first index counts.
    if (ends_[static_cast<size_t>(at)] == kNone) ends_[static_cast<size_t>(at)] = ngrams_;
    ++ngrams_;
  }

  std::vector<std::string> texts_;  // text_ids_ points into it
  std::unordered_map<std::string_view, int64_t> text_ids_;
  std::unordered_map<int64_t, int64_t> number_ids_;
  std::unordered_map<Edge, int64_t, EdgeHash> children_;
  std::vector<int64_t> ends_;
  std::vector<int64_t> table_;         ///< child of each node and token, if the pool is small
  std::vector<int64_t> number_table_;  ///< token of each number from least_number_ on, likewise
  int64_t least_number_ = 0;
  int64_t tokens_ = 0;
  int64_t nodes_ = 0;
  int64_t ngrams_ = 0;
};

class TfIdfVectorizer final : public NodeKernel {
 public:
  explicit TfIdfVectorizer(const sdk::NodeView& node)
      : NodeKernel(node),
        pool_(node),
        shortest_(node.get_int("min_gram_length", 1)),
        longest_(node.get_int("max_gram_length", 1)),
        most_skips_(node.get_int("max_skip_count", 0)),
        columns_(node.get_ints("ngram_indexes")),
        weights_(node.get_floats("weights")),
        weighting_(read_choice<Weighting>(node, "mode", "", {"TF", "IDF", "TFIDF"})) {
    if (shortest_ < 1 || longest_ < shortest_ || most_skips_ < 0) {
      node.fail(GANTRY_INVALID_MODEL,
                "the n-gram lengths must be positive and rising, max_skip_count at least 0");
    }
    if (static_cast<int64_t>(columns_.size()) != pool_.ngram_count() ||
        (!weights_.empty() && weights_.size() != columns_.size())) {
      node.fail(GANTRY_INVALID_MODEL,
                "ngram_indexes and weights must have one number for each of "
                "the " +
                    std::to_string(pool_.ngram_count()) + " n-grams");
    }
    for (const int64_t column : columns_) {
      if (column < 0 || column > INT64_MAX / 8)
        node.fail(GANTRY_INVALID_MODEL, "attribute ngram_indexes has a negative number");
      width_ = std::max(width_, column + 1);
    }
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank > 2) fail("input 0 has shape " + to_string(x) + ", needs [C] or [N, C]");
    const int64_t rows = x.rank == 2 ? x[0] : 1;
    const int64_t length = x.rank == 0 ? 1 : x[x.rank - 1];
    const int64_t extents[] = {rows, width_};
    const sdk::Shape shape = x.rank == 2 ? sdk::Shape(extents, 2) : sdk::Shape(extents + 1, 1);
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, shape).data);
    if (count_of(shape) == 0) return;
    auto* tokens = call.scratch<int64_t>(rows * length);
    read_tokens(call, rows * length, tokens);
    const int64_t grain = std::max<int64_t>(1, 1024 / std::max<int64_t>(length, 1));
    call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        std::fill_n(y + row * width_, width_, 0.0F);
        count_row(tokens + row * length, length, y + row * width_);
      }
    });
  }

 private:
  void read_tokens(sdk::Call& call, int64_t count, int64_t* tokens) const {
    const bool is_text = call.input(0).dtype == GANTRY_STRING;
    if (is_text != pool_.has_texts())
      fail("the pool and the input must both be texts or both be integers");
    if (is_text) {
      for (int64_t i = 0; i < count; ++i)
        tokens[i] = pool_.token(sdk::to_view(string_at(call.host(), call.value(0), i)));
    } else {
      const Indices numbers(call, 0);
      for (int64_t i = 0; i < count; ++i) tokens[i] = pool_.token(numbers[i]);
    }
  }

  void count_row(const int64_t* tokens, int64_t length, float* y) const {
    for (int64_t skip = 0; skip <= most_skips_ && skip < std::max<int64_t>(length, 1); ++skip) {
      for (int64_t start = 0; start < length; ++start) {
        int64_t at = 0;
        for (int64_t n = 1; n <= longest_; ++n) {
          const int64_t position = start + (n - 1) * (skip + 1);
          if (position >= length || tokens[position] == NgramPool::kNone) break;
          at = pool_.child(at, tokens[position]);
          if (at == NgramPool::kNone) break;
          // A single token has no gaps, so it counts only once.
          if (n >= shortest_ && pool_.ngram(at) != NgramPool::kNone && (n > 1 || skip == 0))
            add(static_cast<size_t>(pool_.ngram(at)), y);
        }
      }
    }
  }
  void add(size_t ngram, float* y) const {
    float& value = y[columns_[ngram]];
    const float weight = weights_.empty() ? 1.0F : weights_[ngram];
    switch (weighting_) {
      case Weighting::kCount:
        value += 1.0F;
        break;
      case Weighting::kPresence:
        value = weight;
        break;
      case Weighting::kWeightedCount:
        value += weight;
        break;
    }
  }

  NgramPool pool_;
  int64_t shortest_;
  int64_t longest_;
  int64_t most_skips_;
  std::vector<int64_t> columns_;
  std::vector<float> weights_;
  Weighting weighting_;
  int64_t width_ = 0;
};

constexpr sdk::KernelRow kTfidfRows[] = {
    {"TfIdfVectorizer", 9, sdk::kLatest, sdk::kString | sdk::dtypes(GANTRY_INT32, GANTRY_INT64),
     sdk::make<TfIdfVectorizer>},
};

}  // namespace

sdk::KernelTable tfidf_kernels() { return sdk::table(kTfidfRows); }

}  // namespace gantry::cpu
