// SPDX-License-Identifier: Apache-2.0
#include "packed_weights.h"

#include <oneapi/tbb/info.h>

namespace gantry::onednn {
namespace {

void reorder(dnnl::memory from, dnnl::memory to) {
  with_threads(oneapi::tbb::info::default_concurrency(), [&] {
    dnnl::stream stream(engine());
    dnnl::reorder(from, to).execute(stream, from, to);
  });
}

}  // namespace

void PackedWeights::pack(const Desc& desc, const dnnl::memory& plain) {
  reorder(plain, layouts_.emplace_back(desc, engine()));
}

Desc PackedWeights::desc() const {
  const std::lock_guard lock(mutex_);
  return layouts_.front().get_desc();
}

const dnnl::memory& PackedWeights::in(const Desc& desc) const {
  const std::lock_guard lock(mutex_);
  for (const dnnl::memory& layout : layouts_) {
    if (layout.get_desc() == desc) return layout;
  }
  dnnl::memory& layout = layouts_.emplace_back(desc, engine());
  reorder(layouts_.front(), layout);
  return layout;
}

}  // namespace gantry::onednn
