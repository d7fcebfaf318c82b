// SPDX-License-Identifier: Apache-2.0
// What texts and encoded images need of other libraries. It stands in a library of its own beside
// the provider, libgantry_cpu_media.so, which is opened for the first kernel that needs it: opening
// the seventeen libraries behind it would be part of loading every model. Both are of one build, so
// types of C++ go from one to the other. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "media/image.h"

namespace gantry::cpu {

/// A range of bytes of a text.
struct TextSpan {
  size_t begin = 0, end = 0;
};

/// A regular expression. Immutable.
class Expression {
 public:
  Expression() = default;
  virtual ~Expression() = default;
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;
  /// Whether it stands for all of `text`.
  [[nodiscard]] virtual bool matches(std::string_view text) const = 0;
  /// Whether it stands for a part of `text` that begins at byte `from` or later; `out` becomes the
  /// first such part, the longest of those that begin there.
  virtual bool finds(std::string_view text, size_t from, TextSpan& out) const = 0;
};

enum class LetterCase { kLower, kUpper };

struct Media {
  /// As in image_formats.h.
  Image (*decode_image)(const uint8_t* data, int64_t size, const TakePixels& take);
  /// By the rules of a locale; bytes that are no UTF-8 become U+FFFD.
  std::string (*change_case)(LetterCase to, const std::string& locale, std::string_view text);
  /// Bytes of the white space character at the head of `text`, which is not empty; 0: there is
  /// none.
  size_t (*leading_space)(std::string_view text);
  /// In the syntax of RE2. Null: `problem` says what is wrong with it.
  std::unique_ptr<Expression> (*compile_expression)(const std::string& pattern,
                                                    std::string& problem);
};

/// The library's table, which lives as long as the process. The first call opens the library; a
/// kernel calls it when it is made, so that no run has to. UNAVAILABLE: it cannot be opened.
const Media& media();

}  // namespace gantry::cpu

/// What the library exports: its table.
extern "C" const gantry::cpu::Media* gantry_cpu_media();
