// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "elements.h"
#include "output.h"

namespace gantry::cli {
namespace {

constexpr const char* kKindNames[] = {"nothing", "a tensor", "a sequence", "an optional", "a map"};

void differ(Comparison& result, const std::string& difference) {
  result.equal = false;
  if (result.difference.empty()) result.difference = difference;
}

bool is_close(double actual, double expected, const Tolerance& tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return actual == expected;
  return std::abs(actual - expected) <=
         tolerance.absolute + tolerance.relative * std::abs(expected);
}

void compare_strings(const Tensor& actual, const Tensor& expected, Comparison& result) {
  const auto& found = actual.strings();
  const auto& wanted = expected.strings();
  result.elements += wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    ++result.differing;
    differ(result, fmt::format("element {} is \"{}\", expected \"{}\"", i, found[i], wanted[i]));
  }
}

void compare_numbers(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                     Comparison& result) {
  const std::vector<double> found = to_numbers(actual);
  const std::vector<double> wanted = to_numbers(expected);
  result.elements += wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double difference = std::abs(found[i] - wanted[i]);
    if (std::isfinite(difference)) result.max_absolute = std::max(result.max_absolute, difference);
    if (std::isfinite(wanted[i]))
      result.max_expected = std::max(result.max_expected, std::abs(wanted[i]));
    if (is_close(found[i], wanted[i], tolerance)) continue;
    ++result.differing;
    differ(result, fmt::format("element {} is {:.9g}, expected {:.9g}", i, found[i], wanted[i]));
  }
}

void compare_tensors(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance,
                     Comparison& result) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return differ(result, "it is " + describe(actual.dtype(), actual.shape()) + ", expected " +
                              describe(expected.dtype(), expected.shape()));
  }
  if (expected.dtype() == DType::kString) return compare_strings(actual, expected, result);
  compare_numbers(actual, expected, tolerance, result);
}

void compare_values(const Value& actual, const Value& expected, const Tolerance& tolerance,
                    Comparison& result) {
  if (actual.kind() != expected.kind()) {
    return differ(
        result, fmt::format("it is {}, expected {}", kKindNames[static_cast<size_t>(actual.kind())],
                            kKindNames[static_cast<size_t>(expected.kind())]));
  }
  if (expected.kind() == Kind::kTensor)
    return compare_tensors(actual.tensor(), expected.tensor(), tolerance, result);
  if (actual.size() != expected.size()) {
    return differ(result,
                  fmt::format("it has {} items, expected {}", actual.size(), expected.size()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool was_equal = result.equal;
    compare_values(actual.at(i), expected.at(i), tolerance, result);
    if (was_equal && !result.equal)
      result.difference = fmt::format("item {}: {}", i, result.difference);
  }
}

}  // namespace

Comparison compare(const Value& actual, const Value& expected, const Tolerance& tolerance) {
  Comparison result;
  compare_values(actual, expected, tolerance, result);
  return result;
}

}  // namespace gantry::cli
