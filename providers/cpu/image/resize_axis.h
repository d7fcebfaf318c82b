// SPDX-License-Identifier: Apache-2.0
// Resampling along one axis, for Resize and Upsample: the input coordinate of an output position,
// and the input positions and weights that it interpolates. The operators are separable, so their
// modes differ in nothing else. Pure functions, any thread.
#pragma once

#include <cstdint>

namespace gantry::cpu {

enum class ResizeMode { kNearest, kLinear, kCubic };
/// In the order in which resize.cc lists the values of nearest_mode.
enum class NearestRule {
  kPreferFloor,  ///< rounds halves down
  kPreferCeil,
  kFloor,
  kCeil,
  kOpset10  ///< floor when upsampling, ceil when downsampling
};
/// In the order in which resize.cc lists the values of coordinate_transformation_mode.
enum class Transform {
  kHalfPixel,
  kHalfPixelSymmetric,
  kPytorchHalfPixel,
  kHalfPixelUnshifted,  ///< "tf_half_pixel_for_nn", of opset 11 only
  kAlignCorners,
  kAsymmetric,
  kCrop  ///< "tf_crop_and_resize"
};

/// The attributes of the operator.
struct ResizeRule {
  ResizeMode mode = ResizeMode::kNearest;
  NearestRule nearest = NearestRule::kFloor;
  Transform transform = Transform::kAsymmetric;
  float cubic_a = -0.75F;
  float extrapolation = 0;
  bool excludes_outside = false;
  bool antialias = false;
};

/// A scale as an exact fraction. A scale such as 1 / 3 has no exact float; the fraction makes
/// coordinates exact.
struct ResizeScale {
  double numerator = 1;
  double denominator = 1;

  [[nodiscard]] double value() const { return numerator / denominator; }
};

/// The fraction that rounds to the float `scale`: output / input if that does, else a fraction of
/// small integers (1 / 3 for 0.33333334F), else the float itself over 1.
ResizeScale scale_of(float scale, int64_t input, int64_t output);

/// One axis of one run. Extents are in elements; `roi_begin` and `roi_end` are fractions of the
/// input extent (kCrop).
struct ResizeAxis {
  int64_t input = 1;
  int64_t output = 1;
  ResizeScale scale;
  /// Input extent times scale: the output extent before it was rounded.
  double exact_output = 1;
  float roi_begin = 0;
  float roi_end = 1;

  /// True if the axis is copied unchanged.
  [[nodiscard]] bool is_identity(Transform transform) const {
    const bool is_whole = transform != Transform::kCrop || (roi_begin == 0.0F && roi_end == 1.0F);
    return input == output && scale.value() == 1 && is_whole;
  }
};

/// Input coordinate of output `position`. Half-pixel and asymmetric coordinates are rounded once,
/// so that multiples of 1/2 are exact for every size. kCrop computes in float, as its regions are
/// float.
double source_coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t position);
/// True if the output takes the extrapolation value instead of an input value (kCrop).
bool is_extrapolated(const ResizeRule& rule, const ResizeAxis& axis, double coordinate);
/// Input position that kNearest selects for `coordinate`, clamped to the input.
int64_t nearest_source(const ResizeRule& rule, const ResizeAxis& axis, double coordinate);

/// Number of input positions that each output position interpolates, for kLinear and kCubic.
int64_t tap_count(const ResizeRule& rule, const ResizeAxis& axis);
/// Writes `taps` input positions, clamped to the input, and their weights, whose sum is 1. `taps`
/// is tap_count().
void set_taps(const ResizeRule& rule, const ResizeAxis& axis, double coordinate, int64_t taps,
              int64_t* sources, double* weights);

}  // namespace gantry::cpu
