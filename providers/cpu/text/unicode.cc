// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace gantry::cpu {

namespace {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

CaseChange::CaseChange(LetterCase to, std::string locale) : to_(to), locale_(std::move(locale)) {
  const std::string language = locale_.substr(0, 2);
  has_plain_ascii_ = language != "tr" && language != "az" && language != "lt";
}

std::string CaseChange::operator()(std::string_view text) const {
  if (has_plain_ascii_ && is_ascii(text)) {
    std::string result(text);
    for (char& c : result) {
      const bool changes = to_ == LetterCase::kLower ? c >= 'A' && c <= 'Z' : c >= 'a' && c <= 'z';
      if (changes) c = static_cast<char>(c ^ 0x20);
    }
    return result;
  }
  return media().change_case(to_, locale_, text);
}

size_t leading_space(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) {
    return first == ' ' || (first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x1F) ? 1
                                                                                                : 0;
  }
  return media().leading_space(text);
}

}  // namespace gantry::cpu
