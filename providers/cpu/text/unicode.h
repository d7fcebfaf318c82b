// SPDX-License-Identifier: Apache-2.0
// Case and white space of UTF-8 strings. ASCII is handled here, other characters by ICU through
// media/media.h. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "media/media.h"

namespace gantry::cpu {

/// Changes the case of strings by the rules of a locale ("en_US"). Turkish, for one, has case rules
/// of its own. Immutable.
class CaseChange {
 public:
  CaseChange(LetterCase to, std::string locale);
  /// `text` in the other case. Invalid UTF-8 becomes U+FFFD. Throws UNAVAILABLE if ICU is needed
  /// and cannot be loaded.
  [[nodiscard]] std::string operator()(std::string_view text) const;

 private:
  LetterCase to_;
  std::string locale_;
  bool has_plain_ascii_;  ///< ASCII letters change as in English
};

/// Bytes of the white-space character at the start of `text`, 0 if there is none.
size_t leading_space(std::string_view text);

}  // namespace gantry::cpu
