// SPDX-License-Identifier: Apache-2.0
#include "packed_weights.h"

#include <algorithm>
#include <oneapi/tbb/info.h>
#include <unordered_map>
#include <utility>

#include "digest.h"
#include "packed_share.h"

namespace gantry::onednn {
namespace {

/// What brings weights into a layout: made before memory is asked for, as making it can fail.
class Reorder {
 public:
  Reorder(const PlainWeights& plain, const Desc& to) {
    dnnl::primitive_attr attr;
    if (!plain.scales.empty()) {
      attr.set_scales_mask(DNNL_ARG_SRC, plain.scaled_dimensions);
      scales_ = dnnl::memory(desc_f32({static_cast<int64_t>(plain.scales.size())}, Tag::a),
                             engine(), const_cast<float*>(plain.scales.data()));
    }
    with_threads(oneapi::tbb::info::default_concurrency(), [&] {
      const dnnl::reorder::primitive_desc description(engine(), plain.desc, engine(), to, attr);
      primitive_ = dnnl::reorder(description);
      from_ = dnnl::memory(plain.desc, engine(), readable(plain, description.impl_info_str()));
    });
  }

  void operator()(const dnnl::memory& to) const {
    with_threads(oneapi::tbb::info::default_concurrency(), [&] {
      dnnl::stream stream(engine());
      std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_FROM, from_}, {DNNL_ARG_TO, to}};
      if (scales_) arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, scales_);
      primitive_.execute(stream, arguments);
    });
  }

 private:
  /// The data, where the implementation can read them: generated code reads at any byte, compiled
  /// code may rely on the alignment of the element type.
  void* readable(const PlainWeights& plain, const std::string& implementation) {
    const bool is_aligned = reinterpret_cast<uintptr_t>(plain.data) % alignof(float) == 0;
    const bool is_readable = is_aligned || implementation.rfind("jit", 0) == 0;
    if (is_readable && plain.offset == 0) return const_cast<void*>(plain.data);
    copy_ = std::make_unique<uint8_t[]>(plain.desc.get_size());
    const auto* bytes = static_cast<const uint8_t*>(plain.data);
    std::transform(bytes, bytes + plain.desc.get_size(), copy_.get(),
                   [&](uint8_t x) { return static_cast<uint8_t>(x + plain.offset); });
    return copy_.get();
  }

  std::unique_ptr<uint8_t[]> copy_;
  dnnl::memory from_;
  dnnl::memory scales_;
  dnnl::reorder primitive_;
};

}  // namespace

template <class Fill>
const dnnl::memory& PackedWeights::add(const Desc& desc, const Fill& fill) const {
  const Digest form = digest_of(content_.data(), sizeof(content_), text_of(desc));
  std::shared_ptr<const void> share =
      share_packed(host_, {content_, form}, desc.get_size(),
                   [&](void* target) { fill(dnnl::memory(desc, engine(), target)); });
  void* data = const_cast<void*>(share.get());
  // The library takes every address as one that it may write to; it reads from weights.
  return layouts_.emplace_back(Layout{{desc, engine(), data}, std::move(share)}).memory;
}

void PackedWeights::pack(const gantry_host* host, const Desc& desc, const PlainWeights& plain) {
  host_ = host;
  const Digest numbers = digest_of(plain.data, plain.desc.get_size(),
                                   text_of(plain.desc) + "+" + std::to_string(plain.offset));
  content_ = plain.scales.empty()
                 ? numbers
                 : digest_of(plain.scales.data(), plain.scales.size() * sizeof(float),
                             {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)});
  add(desc, Reorder(plain, desc));
}

Desc PackedWeights::desc() const {
  const std::lock_guard lock(mutex_);
  return layouts_.front().memory.get_desc();
}

const dnnl::memory& PackedWeights::in(const Desc& desc) const {
  const std::lock_guard lock(mutex_);
  for (const Layout& layout : layouts_) {
    if (layout.memory.get_desc() == desc) return layout.memory;
  }
  const dnnl::memory& first = layouts_.front().memory;
  return add(desc, Reorder({first.get_desc(), first.get_data_handle(), {}, 0, 0}, desc));
}

}  // namespace gantry::onednn
