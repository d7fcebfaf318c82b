// SPDX-License-Identifier: Apache-2.0
// Operators on strings: StringConcat, StringSplit, StringNormalizer, RegexFullMatch.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attributes.h"
#include "broadcast.h"
#include "families.h"
#include "media/media.h"
#include "node_kernel.h"
#include "text/unicode.h"
#include "values.h"

namespace gantry::cpu {
namespace {

std::string_view text_at(sdk::Call& call, int slot, int64_t index) {
  return sdk::to_view(string_at(call.host(), call.value(slot), index));
}

class StringConcat final : public NodeKernel {
 public:
  explicit StringConcat(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const Broadcast<2> plan({call.shape(0), call.shape(1)}, label());
    const OwnedValue result = create_string_tensor(call.host(), plan.shape());
    std::string joined;
    plan.for_each_run(0, plan.count(), [&](const auto& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        joined = text_at(call, 0, run.inputs[0] + i * plan.inner_stride(0));
        joined += text_at(call, 1, run.inputs[1] + i * plan.inner_stride(1));
        set_string(call.host(), result.get(), run.output + i, sdk::to_str(joined));
      }
    });
    call.output_value(0, result.get());
  }
};

/// StringSplit: the substrings of each string, in rows padded with empty strings to the longest.
class StringSplit final : public NodeKernel {
 public:
  explicit StringSplit(const sdk::NodeView& node)
      : NodeKernel(node), delimiter_(node.get_string("delimiter", "")) {
    const int64_t most = node.get_int("maxsplit", -1);
    most_ = most < 0 ? std::numeric_limits<int64_t>::max() : most;
    if (delimiter_.empty()) media();  // the delimiter is Unicode white space
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    const int64_t count = x.element_count();
    auto* counts = static_cast<int64_t*>(call.output(1, GANTRY_INT64, x).data);
    auto* texts = call.scratch<gantry_str>(count);
    read_strings(call.host(), call.value(0), count, texts);
    std::vector<std::string_view> pieces;
    pieces.reserve(static_cast<size_t>(count));
    int64_t width = 0;
    for (int64_t i = 0; i < count; ++i) {
      const size_t before = pieces.size();
      for_each_piece(sdk::to_view(texts[i]),
                     [&](std::string_view piece) { pieces.push_back(piece); });
      counts[i] = static_cast<int64_t>(pieces.size() - before);
      width = std::max(width, counts[i]);
    }
    Dims shape(x);
    shape.push(width);
    const OwnedValue result = create_string_tensor(call.host(), shape.shape());
    size_t next = 0;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < counts[i]; ++k)
        set_string(call.host(), result.get(), i * width + k, sdk::to_str(pieces[next++]));
    }
    call.output_value(0, result.get());
  }

 private:
  template <class Visit>
  void for_each_piece(std::string_view text, Visit visit) const {
    if (delimiter_.empty()) return for_each_word(text, visit);
    for (int64_t splits = 0; splits < most_; ++splits) {
      const size_t end = text.find(delimiter_);
      if (end == std::string_view::npos) break;
      visit(text.substr(0, end));
      text.remove_prefix(end + delimiter_.size());
    }
    visit(text);
  }
  /// Splits at white space; the rest after the last split keeps its trailing white space.
  template <class Visit>
  void for_each_word(std::string_view text, Visit visit) const {
    for (int64_t splits = 0;; ++splits) {
      while (const size_t space = leading_space(text)) text.remove_prefix(space);
      if (text.empty()) return;
      if (splits == most_) return visit(text);
      size_t end = 0;
      while (end < text.size() && leading_space(text.substr(end)) == 0) ++end;
      visit(text.substr(0, end));
      text.remove_prefix(end);
    }
  }

  std::string delimiter_;
  int64_t most_;
};

/// StringNormalizer: removes stop words and changes the case of the others.
class StringNormalizer final : public NodeKernel {
 public:
  explicit StringNormalizer(const sdk::NodeView& node)
      : NodeKernel(node),
        is_case_sensitive_(node.get_int("is_case_sensitive", 0) != 0),
        fold_(LetterCase::kLower, node.get_string("locale", "en_US")) {
    media();  // runs may need it for characters beyond ASCII
    const int action = read_choice(node, "case_change_action", "NONE", {"NONE", "LOWER", "UPPER"});
    if (action != 0) {
      change_.emplace(action == 1 ? LetterCase::kLower : LetterCase::kUpper,
                      node.get_string("locale", "en_US"));
    }
    for (const std::string& word : node.get_strings("stopwords"))
      stop_words_.insert(is_case_sensitive_ ? word : fold_(word));
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank != 1 && !(x.rank == 2 && x[0] == 1))
      fail("input 0 has shape " + to_string(x) + ", needs [C] or [1, C]");
    const int64_t count = x.element_count();
    auto* kept = call.scratch<int64_t>(count);
    int64_t kept_count = 0;
    for (int64_t i = 0; i < count; ++i) {
      if (!is_stop_word(text_at(call, 0, i))) kept[kept_count++] = i;
    }
    Dims shape(x);
    // If no string remains, the result is one empty string.
    shape[x.rank - 1] = std::max<int64_t>(kept_count, 1);
    const OwnedValue result = create_string_tensor(call.host(), shape.shape());
    for (int64_t i = 0; i < kept_count; ++i) {
      const std::string_view text = text_at(call, 0, kept[i]);
      const std::string changed = change_ ? (*change_)(text) : std::string(text);
      set_string(call.host(), result.get(), i, sdk::to_str(changed));
    }
    call.output_value(0, result.get());
  }

 private:
  [[nodiscard]] bool is_stop_word(std::string_view text) const {
    if (stop_words_.empty()) return false;
    return is_case_sensitive_ ? stop_words_.find(text) != stop_words_.end()
                              : stop_words_.find(fold_(text)) != stop_words_.end();
  }

  bool is_case_sensitive_;
  CaseChange fold_;
  std::optional<CaseChange> change_;
  std::set<std::string, std::less<>> stop_words_;
};

class RegexFullMatch final : public NodeKernel {
 public:
  explicit RegexFullMatch(const sdk::NodeView& node) : NodeKernel(node) {
    const std::string pattern = node.get_string("pattern", "");
    std::string problem;
    expression_ = media().compile_expression(pattern, problem);
    if (!expression_) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute pattern \"" + pattern + "\" is no RE2 expression: " + problem);
    }
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    auto* y = static_cast<bool*>(call.output(0, GANTRY_BOOL, x).data);
    const int64_t count = x.element_count();
    auto* texts = call.scratch<gantry_str>(count);
    read_strings(call.host(), call.value(0), count, texts);
    call.parallel_for(count, 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = expression_->matches(sdk::to_view(texts[i]));
    });
  }

 private:
  std::unique_ptr<Expression> expression_;
};

constexpr sdk::KernelRow kStringRows[] = {
    {"StringConcat", 20, sdk::kLatest, sdk::kString, sdk::make<StringConcat>},
    {"StringSplit", 20, sdk::kLatest, sdk::kString, sdk::make<StringSplit>},
    {"StringNormalizer", 10, sdk::kLatest, sdk::kString, sdk::make<StringNormalizer>},
    {"RegexFullMatch", 20, sdk::kLatest, sdk::kString, sdk::make<RegexFullMatch>},
};

}  // namespace

sdk::KernelTable string_kernels() { return sdk::table(kStringRows); }

}  // namespace gantry::cpu
