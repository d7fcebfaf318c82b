// SPDX-License-Identifier: Apache-2.0
// The function table of libgantry_cpu_media.so, and its functions that use ICU and RE2.
#include <algorithm>
#include <re2/re2.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include "media/image_formats.h"
#include "media/media.h"

namespace gantry::cpu {
namespace {

std::string change_case(LetterCase to, const std::string& locale, std::string_view text) {
  auto letters = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  const icu::Locale rules(locale.c_str());
  if (to == LetterCase::kLower) {
    letters.toLower(rules);
  } else {
    letters.toUpper(rules);
  }
  std::string result;
  return letters.toUTF8String(result);
}

size_t leading_white_space(std::string_view text) {
  int32_t end = 0;
  UChar32 letter = 0;
  // No character has more than four bytes.
  const auto length = static_cast<int32_t>(std::min<size_t>(text.size(), 4));
  U8_NEXT(text.data(), end, length, letter);
  return letter >= 0 && u_isUWhiteSpace(letter) ? static_cast<size_t>(end) : 0;
}

class Re2Expression final : public Expression {
 public:
  explicit Re2Expression(const std::string& pattern) : expression_(pattern, options()) {}
  [[nodiscard]] const RE2& compiled() const { return expression_; }
  [[nodiscard]] bool matches(std::string_view text) const override {
    return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), expression_);
  }
  bool finds(std::string_view text, size_t from, TextSpan& out) const override {
    re2::StringPiece found;
    if (!expression_.Match(re2::StringPiece(text.data(), text.size()), from, text.size(),
                           RE2::UNANCHORED, &found, 1))
      return false;
    out.begin = static_cast<size_t>(found.data() - text.data());
    out.end = out.begin + found.size();
    return true;
  }

 private:
  // Longest match affects finds() only.
  static RE2::Options options() {
    RE2::Options made(RE2::Quiet);
    made.set_longest_match(true);
    return made;
  }

  RE2 expression_;
};

std::unique_ptr<Expression> compile_expression(const std::string& pattern, std::string& problem) {
  auto made = std::make_unique<Re2Expression>(pattern);
  if (made->compiled().ok()) return made;
  problem = made->compiled().error();
  return nullptr;
}

constexpr Media kMedia = {decode_image, change_case, leading_white_space, compile_expression};

}  // namespace
}  // namespace gantry::cpu

__attribute__((visibility("default"))) const gantry::cpu::Media* gantry_cpu_media() {
  return &gantry::cpu::kMedia;
}
