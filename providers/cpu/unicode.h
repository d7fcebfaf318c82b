// SPDX-License-Identifier: Apache-2.0
// Letters and white space of UTF-8 texts; what is beyond ASCII by the Unicode library (ICU), which
// comes with media/media.h. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "media/media.h"

namespace gantry::cpu {

/// Changes the case of texts by the rules of a locale ("en_US"; Turkish, for one, has letters of
/// its own). Immutable.
class CaseChange {
 public:
  CaseChange(LetterCase to, std::string locale);
  /// Bytes that are no UTF-8 become U+FFFD.
  [[nodiscard]] std::string operator()(std::string_view text) const;

 private:
  LetterCase to_;
  std::string locale_;
  bool has_plain_ascii_;  ///< ASCII letters change as in English
};

/// Bytes of the white space character at the head of `text`; 0: there is none.
size_t leading_space(std::string_view text);

}  // namespace gantry::cpu
