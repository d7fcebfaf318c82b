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

/// One axis of one run.
struct ResizeAxis {
  int64_t input = 1;
  int64_t output = 1;
  float scale = 1;
  /// Input extent times scale: the output extent before it was rounded.
  float exact_output = 1;
  float roi_begin = 0;
  float roi_end = 1;

  /// Nothing happens along this axis.
  [[nodiscard]] bool is_identity(Transform transform) const {
    const bool is_whole = transform != Transform::kCrop || (roi_begin == 0.0F && roi_end == 1.0F);
    return input == output && scale == 1.0F && is_whole;
  }
};

/// Position in the input, in float as the scales are, so that exact quotients come out exact.
float source_coordinate(const ResizeRule& rule, const ResizeAxis& axis, int64_t position);
/// The position is made of the extrapolation value instead of the input.
bool is_extrapolated(const ResizeRule& rule, const ResizeAxis& axis, float coordinate);
/// Input position that kNearest takes.
int64_t nearest_source(const ResizeRule& rule, const ResizeAxis& axis, float coordinate);

/// Input positions that each output position is made of, for kLinear and kCubic.
int64_t tap_count(const ResizeRule& rule, const ResizeAxis& axis);
/// Writes `taps` clamped input positions and weights, whose sum is 1.
void set_taps(const ResizeRule& rule, const ResizeAxis& axis, float coordinate, int64_t taps,
              int64_t* sources, double* weights);

}  // namespace gantry::cpu
