// SPDX-License-Identifier: Apache-2.0
// Unidirectional broadcasting of opsets below 7: attributes align the second input with axes of the
// first. A plain value.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>
#include <string>

#include "broadcast.h"
#include "dims.h"

namespace gantry::cpu {

/// How the second input is aligned with the first: by numpy's rule (the default), or by the
/// attributes `broadcast` and `axis` of versions below 7.
class Alignment {
 public:
  Alignment() = default;
  /// By the attributes `broadcast` and `axis` of the node.
  static Alignment from_axis(const sdk::NodeView& node) {
    Alignment result;
    result.is_numpy_ = false;
    result.is_exact_ = node.get_int("broadcast", 0) == 0;
    result.axis_ = node.get_int("axis", -1);
    return result;
  }
  /// A second input of rank 1 is aligned with axis 1 (the slopes of PRelu below version 7).
  static Alignment from_channels() {
    Alignment result;
    result.is_numpy_ = false;
    result.is_channels_ = true;
    return result;
  }

  /// Shape of the second input, padded with 1s so that numpy's rule applies: `b` itself, or a shape
  /// whose extents are written to `extents`. Throws INVALID_ARGUMENT if the shapes do not fit.
  sdk::Shape align(sdk::Shape a, sdk::Shape b, int64_t (&extents)[kMaxRank],
                   const std::string& label) const {
    if (is_numpy_) return b;
    if (is_exact_ && a != b) fail(a, b, label, "must be equal, since attribute broadcast is not 1");
    const bool is_suffix = is_channels_ ? b.rank != 1 || a.rank < 2 || b[0] == 1 : axis_ == -1;
    const int64_t axis = is_suffix ? a.rank - b.rank : is_channels_ ? 1 : axis_;
    if (axis < 0 || axis > a.rank - b.rank)
      fail(a, b, label, "do not fit at axis " + std::to_string(axis));
    check_rank(a.rank, label);
    for (int i = 0; i < a.rank; ++i) {
      const int64_t own = i - axis;
      extents[i] = own >= 0 && own < b.rank ? b[static_cast<int>(own)] : 1;
      if (extents[i] != 1 && extents[i] != a[i])
        fail(a, b, label, "do not fit at axis " + std::to_string(axis));
    }
    return {extents, a.rank};
  }

 private:
  [[noreturn]] static void fail(sdk::Shape a, sdk::Shape b, const std::string& label,
                                const std::string& what) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label + ": input shapes " + to_string(a) + " and " +
                                                  to_string(b) + " " + what);
  }

  bool is_numpy_ = true;
  bool is_exact_ = false;
  bool is_channels_ = false;
  int64_t axis_ = -1;
};

}  // namespace gantry::cpu
