// SPDX-License-Identifier: Apache-2.0
// Tokenizer of com.microsoft: splits strings into tokens, as exported scikit-learn text pipelines
// do.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "families.h"
#include "media/media.h"
#include "node_kernel.h"
#include "values.h"

namespace gantry::cpu {
namespace {

constexpr char kStartOfText[] = "\x02";
constexpr char kEndOfText[] = "\x03";

bool continues_a_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Bytes of the character at `at`; invalid UTF-8 is accepted.
size_t letter_bytes(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && continues_a_letter(text[end])) ++end;
  return end - at;
}

int64_t letter_count(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size(); at += letter_bytes(text, at)) ++count;
  return count;
}

// Tokens are single characters, the parts between matches of separator expressions (applied one
// after the other), or the matches of one token expression.
class Tokenizer final : public NodeKernel {
 public:
  explicit Tokenizer(const sdk::NodeView& node)
      : NodeKernel(node),
        has_marks_(node.get_int("mark", 0) != 0),
        least_letters_(node.get_int("mincharnum", 1)),
        filler_(node.get_string("pad_value", "")) {
    const std::vector<std::string> separators = node.get_strings("separators");
    const std::string token = node.get_string("tokenexp", "");
    if (least_letters_ < 1) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute mincharnum is " + std::to_string(least_letters_) + ", needs at least 1");
    }
    if (separators.empty() && token.empty()) {
      node.fail(GANTRY_INVALID_MODEL,
                "attributes separators and tokenexp are both missing or empty, one is needed");
    }
    splits_letters_ = separators.size() == 1 && separators[0].empty();
    if (splits_letters_ && least_letters_ > 1) {
      node.fail(GANTRY_INVALID_MODEL, "attribute mincharnum is " + std::to_string(least_letters_) +
                                          ", needs to be 1 where tokens are letters");
    }
    if (splits_letters_) return;
    for (const std::string& separator : separators)
      separators_.push_back(compile(node, "separators", separator));
    if (separators.empty()) token_ = compile(node, "tokenexp", token);
  }

  void run(sdk::Call& call) const override {
    const sdk::Shape x = call.shape(0);
    if (x.rank != 1 && x.rank != 2)
      fail("input 0 has shape " + to_string(x) + ", needs [C] or [N, C]");
    const int64_t count = x.element_count();
    auto* texts = call.scratch<gantry_str>(count);
    read_strings(call.host(), call.value(0), count, texts);
    std::vector<std::vector<std::string_view>> rows(static_cast<size_t>(count));
    size_t width = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] = tokens_of(sdk::to_view(texts[i]));
      width = std::max(width, rows[i].size());
    }
    if (has_marks_ && width > 0) width += 2;
    Dims shape(x);
    // As ONNX Runtime: an empty input gives a result without the token axis.
    if (count > 0) shape.push(static_cast<int64_t>(width));
    const OwnedValue result = create_string_tensor(call.host(), shape.shape());
    for (size_t i = 0; i < rows.size() && width > 0; ++i)
      write(call, result, static_cast<int64_t>(i * width), width, rows[i]);
    call.output_value(0, result.get());
  }

 private:
  using Tokens = std::vector<std::string_view>;

  static std::unique_ptr<Expression> compile(const sdk::NodeView& node, const std::string& name,
                                             const std::string& pattern) {
    std::string problem;
    std::unique_ptr<Expression> made = media().compile_expression(pattern, problem);
    if (!made) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute " + name + " has \"" + pattern + "\", no RE2 expression: " + problem);
    }
    return made;
  }

  [[nodiscard]] Tokens tokens_of(std::string_view text) const {
    if (splits_letters_) return letters_of(text);
    if (token_) return matches_in(text);
    Tokens pieces = {text};
    for (const auto& separator : separators_) {
      Tokens smaller;
      for (const std::string_view piece : pieces) split(*separator, piece, smaller);
      pieces = std::move(smaller);
    }
    return pieces;
  }

  static Tokens letters_of(std::string_view text) {
    Tokens letters;
    for (size_t at = 0; at < text.size(); at += letters.back().size())
      letters.push_back(text.substr(at, letter_bytes(text, at)));
    return letters;
  }

  void add(std::string_view token, Tokens& to) const {
    if (letter_count(token) >= least_letters_) to.push_back(token);
  }

  // Where the search continues after a match; an empty match also skips the next character.
  static size_t end_behind(std::string_view text, const TextSpan& match) {
    if (match.end > match.begin) return match.end;
    return match.end < text.size() ? match.end + letter_bytes(text, match.end) : text.size();
  }

  void split(const Expression& separator, std::string_view text, Tokens& to) const {
    size_t begin = 0;
    TextSpan match;
    while (begin < text.size() && separator.finds(text, begin, match)) {
      add(text.substr(begin, match.begin - begin), to);
      begin = end_behind(text, match);
    }
    add(text.substr(begin), to);
  }

  [[nodiscard]] Tokens matches_in(std::string_view text) const {
    Tokens found;
    TextSpan match;
    for (size_t at = 0; at < text.size() && token_->finds(text, at, match);
         at = end_behind(text, match))
      add(text.substr(match.begin, match.end - match.begin), found);
    return found;
  }

  void write(sdk::Call& call, const OwnedValue& result, int64_t at, size_t width,
             const Tokens& tokens) const {
    size_t written = 0;
    const auto put = [&](std::string_view text) {
      set_string(call.host(), result.get(), at + static_cast<int64_t>(written++),
                 sdk::to_str(text));
    };
    if (has_marks_) put(kStartOfText);
    for (const std::string_view token : tokens) put(token);
    if (has_marks_) put(kEndOfText);
    while (written < width) put(filler_);
  }

  bool has_marks_;
  int64_t least_letters_;  // least number of characters of a token
  std::string filler_;     // pads rows with fewer tokens than the longest
  bool splits_letters_ = false;
  std::vector<std::unique_ptr<Expression>> separators_;
  std::unique_ptr<Expression> token_;  // null: separators_ are used
};

constexpr sdk::KernelRow kTokenizerRows[] = {
    {"Tokenizer",
     1,
     sdk::kLatest,
     sdk::kString,
     sdk::make<Tokenizer>,
     {},
     nullptr,
     "com.microsoft"},
};

}  // namespace

sdk::KernelTable tokenizer_kernels() { return sdk::table(kTokenizerRows); }

}  // namespace gantry::cpu
