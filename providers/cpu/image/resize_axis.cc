// SPDX-License-Identifier: Apache-2.0
#include "image/resize_axis.h"

#include <algorithm>
#include <cmath>

namespace gantry::cpu {

namespace {

double linear_weight(double distance) { return std::max(0.0, 1.0 - std::fabs(distance)); }

double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// With antialias and downsampling the filter is wider, by the factor 1 / this.
double filter_scale(const ResizeRule& rule, const ResizeAxis& axis) {
  return rule.antialias ? std::min(1.0, axis.scale.value()) : 1.0;
}

}  // namespace

ResizeScale scale_of(float scale, int64_t input, int64_t output) {
  const ResizeScale of_extents = {static_cast<double>(output), static_cast<double>(input)};
  if (input > 0 && output > 0 && static_cast<float>(of_extents.value()) == scale) return of_extents;
  // Continued fractions: a fraction this near to the float is one of its convergents (Legendre's
  // theorem).
  constexpr double kMostProduct = 1 << 20;  // larger fractions match any float by chance
  double rest = scale;
  ResizeScale before = {1, 0};
  ResizeScale last = {std::floor(rest), 1};
  while (last.numerator * last.denominator <= kMostProduct) {
    if (last.numerator > 0 && static_cast<float>(last.value()) == scale) return last;
    rest = 1 / (rest - std::floor(rest));
    if (!std::isfinite(rest)) break;
    const double whole = std::floor(rest);
    const ResizeScale next = {whole * last.numerator + before.numerator,
                              whole * last.denominator + before.denominator};
    before = last;
    last = next;
  }
  return {scale, 1};
}

double source_coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t position) {
  const auto x = static_cast<double>(position);
  const auto last = static_cast<double>(axis.input - 1);
  const double up = axis.scale.numerator;
  const double down = axis.scale.denominator;
  const bool is_single = axis.output == 1;
  const auto half_pixel = [&] { return ((2 * x + 1) * down - up) / (2 * up); };
  switch (rule.transform) {
    case Transform::kHalfPixel:
      return half_pixel();
    case Transform::kHalfPixelSymmetric: {
      const double adjustment = static_cast<double>(axis.output) / axis.exact_output;
      const double offset = static_cast<double>(axis.input) / 2 * (1 - adjustment);
      return offset + half_pixel();
    }
    case Transform::kPytorchHalfPixel:
      return is_single ? 0.0 : half_pixel();
    case Transform::kHalfPixelUnshifted:
      return (2 * x + 1) * down / (2 * up);
    case Transform::kAlignCorners:
      return axis.exact_output == 1 ? 0.0 : x * last / (axis.exact_output - 1);
    case Transform::kAsymmetric:
      return x * down / up;
    case Transform::kCrop: {
      // Computed in float, the type of roi: coordinates that are multiples of 1/2 for a roi of 0.1
      // are so for 0.1F only in float.
      const float width = axis.roi_end - axis.roi_begin;
      const auto end = static_cast<float>(axis.input - 1);
      if (is_single) return 0.5F * (axis.roi_begin + axis.roi_end) * end;
      return axis.roi_begin * end +
             static_cast<float>(position) * width * end / static_cast<float>(axis.output - 1);
    }
  }
  return x;
}

bool is_extrapolated(const ResizeRule& rule, const ResizeAxis& axis, double coordinate) {
  return rule.transform == Transform::kCrop &&
         !(coordinate >= 0 && coordinate <= static_cast<double>(axis.input - 1));
}

int64_t nearest_source(const ResizeRule& rule, const ResizeAxis& axis, double coordinate) {
  double rounded = 0;
  switch (rule.nearest) {
    case NearestRule::kPreferFloor:
      rounded = std::ceil(coordinate - 0.5);
      break;
    case NearestRule::kPreferCeil:
      rounded = std::floor(coordinate + 0.5);
      break;
    case NearestRule::kFloor:
      rounded = std::floor(coordinate);
      break;
    case NearestRule::kCeil:
      rounded = std::ceil(coordinate);
      break;
    case NearestRule::kOpset10:
      rounded = axis.scale.value() < 1 ? std::ceil(coordinate) : std::floor(coordinate);
      break;
  }
  if (!(rounded > 0)) return 0;
  return rounded >= static_cast<double>(axis.input)
             ? axis.input - 1
             : std::min(static_cast<int64_t>(rounded), axis.input - 1);
}

int64_t tap_count(const ResizeRule& rule, const ResizeAxis& axis) {
  const double radius = rule.mode == ResizeMode::kLinear ? 1 : 2;
  const double first = std::floor(-radius / filter_scale(rule, axis)) + 1;
  return 2 - 2 * static_cast<int64_t>(std::max(first, -4e9));
}

void set_taps(const ResizeRule& rule, const ResizeAxis& axis, double coordinate, int64_t taps,
              int64_t* sources, double* weights) {
  // The base is the largest integer below the coordinate, so that the distance is in (0, 1].
  const double center = std::isfinite(coordinate) ? coordinate : 0;
  const double base = std::ceil(center) - 1;
  const double distance = center - base;
  const double filter_width = filter_scale(rule, axis);
  const double last = static_cast<double>(axis.input - 1);
  const int64_t before = taps / 2 - 1;  // taps to the left of the base
  double sum = 0;
  for (int64_t i = 0; i < taps; ++i) {
    const auto offset = static_cast<double>(i - before);
    const double source = base + offset;
    const double x = (offset - distance) * filter_width;
    double weight =
        rule.mode == ResizeMode::kLinear ? linear_weight(x) : cubic_weight(x, rule.cubic_a);
    if (rule.excludes_outside && (source < 0 || source > last)) weight = 0;
    sources[i] = static_cast<int64_t>(std::clamp(source, 0.0, last));
    weights[i] = weight;
    sum += weight;
  }
  if ((rule.excludes_outside || rule.antialias) && sum != 0) {
    for (int64_t i = 0; i < taps; ++i) weights[i] /= sum;
  }
}

}  // namespace gantry::cpu
