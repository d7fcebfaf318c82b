// SPDX-License-Identifier: Apache-2.0
// Converts numbers to and from strings as Cast does. Nothing here allocates or depends on the
// locale. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gantry::cpu {

/// Bytes that hold the text of any number.
inline constexpr size_t kNumberText = 48;

/// A number read from a string. `is_integer`: it was written as an integer of at most 64 bits, and
/// `integer` is exact.
struct Number {
  double real;
  int64_t integer;  ///< the low 64 bits, two's complement
  bool is_integer;
};

/// Reads decimal and scientific notation, "inf", "infinity" and "nan" in any case, with an optional
/// sign and surrounding white space. std::nullopt for other strings.
std::optional<Number> read_number(std::string_view text);

/// The shortest decimal text that reads back as the same number, plain from 1e-5 up to 1e16
/// ("314.15926", "1"); "INF", "-INF", "NaN". The view points into `buffer` or to static text.
std::string_view write_number(float value, std::array<char, kNumberText>& buffer);
std::string_view write_number(double value, std::array<char, kNumberText>& buffer);
std::string_view write_number(int64_t value, std::array<char, kNumberText>& buffer);
std::string_view write_number(uint64_t value, std::array<char, kNumberText>& buffer);
/// The remaining integer types, bool as 1 or 0.
template <class T>
std::string_view write_number(T value, std::array<char, kNumberText>& buffer) {
  return write_number(static_cast<int64_t>(value), buffer);
}

}  // namespace gantry::cpu
