// SPDX-License-Identifier: Apache-2.0
// Constant weights in the layouts that primitives want of them. Which layout that is depends on the
// number of threads and, now and then, on the shape of the other operand. Equal weights in equal
// layouts are held once in the process, whichever sessions use them.
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
  const void* data = nullptr;  ///< at any byte
  /// Factors along one or two leading dimensions of `desc` or its last one; empty: none.
  std::vector<float> scales;
  int scaled_dimensions = 0;  ///< bit i: dimension i has a factor for each index
  uint8_t offset = 0;         ///< added to each byte, modulo 256; 0 unless the elements are bytes
  /// Of the other factor, if it is of bytes: beside the weights the library keeps what it takes
  /// away for signed ones and for a zero point, and no layout tells for which.
  dnnl::memory::data_type other_type = dnnl::memory::data_type::undef;
  bool other_has_zero_point = false;
};

/// The layout that a primitive wants of its weights.
struct WeightsLayout {
  WeightsLayout() = default;
  explicit WeightsLayout(Desc layout) : desc(std::move(layout)) {}
  /// Of a description of a convolution or a product.
  template <class Primitive>
  static WeightsLayout of(const Primitive& primitive) {
    WeightsLayout layout(primitive.weights_desc());
    layout.reader = primitive.impl_info_str();
    return layout;
  }

  Desc desc;
  /// The implementation that reads them. What the library keeps beside bytes is part of `desc`, but
  /// only the library sees it there: of bytes that are shared the reader says it.
  std::string reader;
};

class PackedWeights {
 public:
  /// Packs `plain`, whose data need not outlive the call, into the layout that `choose()` returns,
  /// on all cores. Layout and digest are kept in `choices`; where they stand there already, and
  /// another start packed the weights, nothing is chosen and nothing of the data read.
  void pack(const gantry_host* host, sdk::Choices& choices,
            const std::function<WeightsLayout()>& choose, const PlainWeights& plain);
  /// The layout that they were packed in. [any]
  [[nodiscard]] Desc desc() const;
  /// The weights in a layout; the first time that another one than desc() is asked for they are
  /// brought into it and kept. [any]
  const dnnl::memory& in(const WeightsLayout& layout) const;

 private:
  struct Layout {
    dnnl::memory memory;
    std::shared_ptr<const void> share;  // of what the memory shows
  };
  /// The share of `layout`, filled by the reorder that `make_reorder()` returns if nobody has it.
  template <class MakeReorder>
  const dnnl::memory& add(const WeightsLayout& layout, const MakeReorder& make_reorder) const
      GANTRY_REQUIRES(mutex_);

  const gantry_host* host_ = nullptr;
  std::array<uint64_t, 2> content_{};  // digest of the plain weights and their scales
  mutable sdk::Mutex mutex_;
  mutable std::list<Layout> layouts_ GANTRY_GUARDED_BY(mutex_);
};

/// The description of a primitive that reads packed weights: `describe` makes it for a layout of
/// the weights. The layout they have if the library is fast with it, else the one that it likes
/// best.
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
