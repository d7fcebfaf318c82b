// SPDX-License-Identifier: Apache-2.0
// Constant weights packed in the layouts that oneDNN primitives choose. The layout depends on the
// number of threads and sometimes on the shape of the other operand. Equal weights in equal layouts
// share memory within the process.
#pragma once

#include <gantry/sdk/blob.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/mutex.h>

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "onednn/library.h"

namespace gantry::x86 {

/// Weights as the model has them.
struct PlainWeights {
  Desc desc;
  const void* data = nullptr;  ///< of any alignment
  /// Factors along one or two leading dimensions of `desc` or its last one; empty: none.
  std::vector<float> scales;
  int scaled_dimensions = 0;  ///< bit i: dimension i has a factor for each index
  uint8_t offset = 0;         ///< added to each byte, modulo 256; 0 unless the elements are bytes
  /// Dtype of the other operand if it is int8, else undef. oneDNN stores compensation for s8
  /// sources and for zero points with the weights, and the layout does not say for which.
  dnnl::memory::data_type other_type = dnnl::memory::data_type::undef;
  bool other_has_zero_point = false;
};

/// A layout of weights and the implementation that reads it.
struct WeightsLayout {
  WeightsLayout() = default;
  explicit WeightsLayout(Desc layout) : desc(std::move(layout)) {}
  /// The layout that a primitive descriptor (convolution, matmul) chose for its weights.
  template <class Primitive>
  static WeightsLayout of(const Primitive& primitive) {
    WeightsLayout layout(primitive.weights_desc());
    layout.reader = primitive.impl_info_str();
    return layout;
  }

  Desc desc;
  /// Name of the implementation that reads int8 weights, part of the key of shared memory: it
  /// determines their compensation, which `desc` contains but does not reveal.
  std::string reader;
};

class PackedWeights {
 public:
  /// Packs `plain` into the layout that `choose()` returns, on all cores; does not keep `plain`.
  /// Layout and digest are cached in `choices`: if they and the packed weights are in the
  /// compiled-model cache, `choose` is not called and the data are not read.
  /// Errors: OUT_OF_MEMORY, dnnl::error.
  void pack(const gantry_host* host, sdk::Choices& choices,
            const std::function<WeightsLayout()>& choose, const PlainWeights& plain);
  /// The layout of pack(). [any]
  [[nodiscard]] Desc desc() const;
  /// The weights in a layout. A layout other than desc() is packed and kept when it is first asked
  /// for. [any]
  const dnnl::memory& in(const WeightsLayout& layout) const;

 private:
  struct Layout {
    dnnl::memory memory;
    std::shared_ptr<const void> share;  // owns the memory's data
  };
  /// Adds the weights in `layout`. If nobody shares them, the reorder of `make_reorder()` packs
  /// them.
  template <class MakeReorder>
  const dnnl::memory& add(const WeightsLayout& layout, const MakeReorder& make_reorder) const
      GANTRY_REQUIRES(mutex_);

  const gantry_host* host_ = nullptr;
  std::array<uint64_t, 2> content_{};  // digest of the plain weights and their scales
  mutable sdk::Mutex mutex_;
  mutable std::list<Layout> layouts_ GANTRY_GUARDED_BY(mutex_);
};

/// The primitive descriptor for packed weights: describe(weights.desc()) if oneDNN is fast with
/// that layout, else describe(any), with a layout that oneDNN chooses.
template <class Describe>
auto describe_with(const PackedWeights& weights, const Desc& any, Describe&& describe) {
  try {
    auto described = describe(weights.desc());
    if (is_fast(described.primitive)) return described;
  } catch (const dnnl::error&) {  // not with this layout at all
  }
  return describe(any);
}

}  // namespace gantry::x86
