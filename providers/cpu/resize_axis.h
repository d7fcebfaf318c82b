// SPDX-License-Identifier: Apache-2.0
// Resizing along one axis: where an output position lies in the input, and which input positions it
// is made of with which weights. Resize and Upsample are separable, so this is all that their modes
// differ in. Pure functions on plain values.
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
  kOpset10  ///< down when growing, up when shrinking
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

/// A scale as the quotient that it stands for: of whole numbers where it is meant so, which makes
/// coordinates exact.
struct ResizeScale {
  double numerator = 1;
  double denominator = 1;

  [[nodiscard]] double value() const { return numerator / denominator; }
};

/// The quotient that a scale in float was rounded from: output / input if that rounds to it, else a
/// fraction of small numbers that does (0.33333334F is 1 / 3), else the float itself.
ResizeScale scale_of(float scale, int64_t input, int64_t output);

/// One axis of one run.
struct ResizeAxis {
  int64_t input = 1;
  int64_t output = 1;
  ResizeScale scale;
  /// Input extent times scale: the output extent before it was rounded.
  double exact_output = 1;
  float roi_begin = 0;
  float roi_end = 1;

  /// Nothing happens along this axis.
  [[nodiscard]] bool is_identity(Transform transform) const {
    const bool is_whole = transform != Transform::kCrop || (roi_begin == 0.0F && roi_end == 1.0F);
    return input == output && scale.value() == 1 && is_whole;
  }
};

/// Position in the input: one rounded division of exact numbers where the scale is a fraction, so
/// that whole positions and halves come out exact for every size.
double source_coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t position);
/// The position is made of the extrapolation value instead of the input.
bool is_extrapolated(const ResizeRule& rule, const ResizeAxis& axis, double coordinate);
/// Input position that kNearest takes.
int64_t nearest_source(const ResizeRule& rule, const ResizeAxis& axis, double coordinate);

/// Input positions that each output position is made of, for kLinear and kCubic.
int64_t tap_count(const ResizeRule& rule, const ResizeAxis& axis);
/// Writes `taps` clamped input positions and weights, whose sum is 1.
void set_taps(const ResizeRule& rule, const ResizeAxis& axis, double coordinate, int64_t taps,
              int64_t* sources, double* weights);

}  // namespace gantry::cpu
