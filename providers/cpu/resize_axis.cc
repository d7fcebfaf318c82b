// SPDX-License-Identifier: Apache-2.0
#include "resize_axis.h"

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

/// How much the filter is stretched: by 1 / this.
double filter_scale(const ResizeRule& rule, const ResizeAxis& axis) {
  return rule.antialias ? std::min(1.0, static_cast<double>(axis.scale)) : 1.0;
}

}  // namespace

float source_coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t position) {
  const auto x = static_cast<float>(position);
  const auto last = static_cast<float>(axis.input - 1);
  const bool is_single = axis.output == 1;
  switch (rule.transform) {
    case Transform::kHalfPixel:
      return (x + 0.5F) / axis.scale - 0.5F;
    case Transform::kHalfPixelSymmetric: {
      const float adjustment = static_cast<float>(axis.output) / axis.exact_output;
      const float offset = static_cast<float>(axis.input) / 2.0F * (1.0F - adjustment);
      return offset + (x + 0.5F) / axis.scale - 0.5F;
    }
    case Transform::kPytorchHalfPixel:
      return is_single ? 0.0F : (x + 0.5F) / axis.scale - 0.5F;
    case Transform::kHalfPixelUnshifted:
      return (x + 0.5F) / axis.scale;
    case Transform::kAlignCorners:
      return axis.exact_output == 1.0F ? 0.0F : x * last / (axis.exact_output - 1.0F);
    case Transform::kAsymmetric:
      return x / axis.scale;
    case Transform::kCrop: {
      const float width = axis.roi_end - axis.roi_begin;
      if (is_single) return 0.5F * (axis.roi_begin + axis.roi_end) * last;
      return axis.roi_begin * last + x * width * last / static_cast<float>(axis.output - 1);
    }
  }
  return x;
}

bool is_extrapolated(const ResizeRule& rule, const ResizeAxis& axis, float coordinate) {
  return rule.transform == Transform::kCrop &&
         !(coordinate >= 0 && coordinate <= static_cast<float>(axis.input - 1));
}

int64_t nearest_source(const ResizeRule& rule, const ResizeAxis& axis, float coordinate) {
  // What is a half but for the rounding of the quotient counts as one.
  const float slack = std::fabs(coordinate) * 0x1p-22F;
  float rounded = 0;
  switch (rule.nearest) {
    case NearestRule::kPreferFloor:
      rounded = std::ceil(coordinate - 0.5F - slack);
      break;
    case NearestRule::kPreferCeil:
      rounded = std::floor(coordinate + 0.5F + slack);
      break;
    case NearestRule::kFloor:
      rounded = std::floor(coordinate);
      break;
    case NearestRule::kCeil:
      rounded = std::ceil(coordinate);
      break;
    case NearestRule::kOpset10:
      rounded = axis.scale < 1 ? std::ceil(coordinate) : std::floor(coordinate);
      break;
  }
  if (!(rounded > 0)) return 0;
  return rounded >= static_cast<float>(axis.input)
             ? axis.input - 1
             : std::min(static_cast<int64_t>(rounded), axis.input - 1);
}

int64_t tap_count(const ResizeRule& rule, const ResizeAxis& axis) {
  const double radius = rule.mode == ResizeMode::kLinear ? 1 : 2;
  const double first = std::floor(-radius / filter_scale(rule, axis)) + 1;
  return 2 - 2 * static_cast<int64_t>(std::max(first, -4e9));
}

void set_taps(const ResizeRule& rule, const ResizeAxis& axis, float coordinate, int64_t taps,
              int64_t* sources, double* weights) {
  // At a whole position the left neighbour is the base, so that the distance is in (0, 1].
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
