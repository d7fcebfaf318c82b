// SPDX-License-Identifier: Apache-2.0
// Constant weights in the layouts that primitives want of them. Which layout that is depends on the
// number of threads and, now and then, on the shape of the other operand.
#pragma once

#include <list>
#include <mutex>

#include "library.h"

namespace gantry::onednn {

class PackedWeights {
 public:
  /// Packs `plain`, whose data need not outlive the call, into `desc`, on all cores.
  void pack(const Desc& desc, const dnnl::memory& plain);
  /// The layout that they were packed in. [any]
  [[nodiscard]] Desc desc() const;
  /// The weights in a layout; the first time that another one than desc() is asked for they are
  /// brought into it and kept. [any]
  const dnnl::memory& in(const Desc& desc) const;

 private:
  mutable std::mutex mutex_;
  mutable std::list<dnnl::memory> layouts_;
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

}  // namespace gantry::onednn
