// SPDX-License-Identifier: Apache-2.0
// Functions for strings and encoded images that need other libraries (ICU, RE2, image codecs). They
// are in libgantry_cpu_media.so beside the provider. The first kernel that needs it loads it, so
// that other models do not load the seventeen libraries behind it. Both libraries are built
// together, so C++ types may cross between them. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "media/image.h"

namespace gantry::cpu {

/// A byte range [begin, end) of a string.
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
  /// True if the expression matches all of `text`.
  [[nodiscard]] virtual bool matches(std::string_view text) const = 0;
  /// Finds the first match in `text` that begins at byte `from` or later, the longest if several
  /// begin there. Sets `out` and returns true; false if there is none.
  virtual bool finds(std::string_view text, size_t from, TextSpan& out) const = 0;
};

enum class LetterCase { kLower, kUpper };

/// The functions of libgantry_cpu_media.so.
struct Media {
  /// As in image_formats.h.
  Image (*decode_image)(const uint8_t* data, int64_t size, const TakePixels& take);
  /// Changes the case of `text` by the rules of a locale. Invalid UTF-8 becomes U+FFFD.
  std::string (*change_case)(LetterCase to, const std::string& locale, std::string_view text);
  /// Bytes of the white-space character at the start of `text`, 0 if there is none. Requires a
  /// non-empty text.
  size_t (*leading_space)(std::string_view text);
  /// Compiles a pattern in the syntax of RE2. Returns null and sets `problem` if the pattern is
  /// invalid.
  std::unique_ptr<Expression> (*compile_expression)(const std::string& pattern,
                                                    std::string& problem);
};

/// The function table, which lives as long as the process. The first call loads the library;
/// kernels call it in their constructors, so that no run loads it. Throws UNAVAILABLE if it cannot
/// be loaded.
const Media& media();

}  // namespace gantry::cpu

/// The only symbol that the library exports: its function table.
extern "C" const gantry::cpu::Media* gantry_cpu_media();
