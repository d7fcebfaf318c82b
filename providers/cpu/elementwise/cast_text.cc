// SPDX-License-Identifier: Apache-2.0
#include "elementwise/cast_text.h"

#include <charconv>
#include <cmath>

namespace gantry::cpu {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

template <class T>
bool read_all(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

template <class F>
std::string_view write_float(F value, std::array<char, kNumberText>& buffer) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "INF" : "-INF";
  const F magnitude = std::fabs(value);
  const bool is_plain = magnitude == 0 || (magnitude >= F(1e-5) && magnitude < F(1e16));
  const auto format = is_plain ? std::chars_format::fixed : std::chars_format::scientific;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
  return {buffer.data(), static_cast<size_t>(result.ptr - buffer.data())};
}

template <class I>
std::string_view write_integer(I value, std::array<char, kNumberText>& buffer) {
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), static_cast<size_t>(result.ptr - buffer.data())};
}

}  // namespace

std::optional<Number> read_number(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  int64_t integer = 0;
  if (read_all(text, integer)) {
    const bool is_negative_zero = integer == 0 && text[0] == '-';
    return Number{is_negative_zero ? -0.0 : static_cast<double>(integer), integer, true};
  }
  uint64_t large = 0;
  if (read_all(text, large))
    return Number{static_cast<double>(large), static_cast<int64_t>(large), true};
  double real = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, real);
  if (stop != end || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too small for a double if the exponent is negative, else too large.
    const bool is_tiny =
        text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
    real = std::copysign(is_tiny ? 0.0 : HUGE_VAL, text[0] == '-' ? -1.0 : 1.0);
  }
  return Number{real, 0, false};
}

std::string_view write_number(float value, std::array<char, kNumberText>& buffer) {
  return write_float(value, buffer);
}
std::string_view write_number(double value, std::array<char, kNumberText>& buffer) {
  return write_float(value, buffer);
}
std::string_view write_number(int64_t value, std::array<char, kNumberText>& buffer) {
  return write_integer(value, buffer);
}
std::string_view write_number(uint64_t value, std::array<char, kNumberText>& buffer) {
  return write_integer(value, buffer);
}

}  // namespace gantry::cpu
