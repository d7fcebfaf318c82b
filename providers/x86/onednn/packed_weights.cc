// SPDX-License-Identifier: Apache-2.0
#include "onednn/packed_weights.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "onednn/digest.h"
#include "onednn/layout_text.h"
#include "onednn/packed_share.h"

namespace gantry::x86 {
namespace {

/// A reorder of weights into a layout.
class Reorder {
 public:
  /// `owned`: the memory of `plain`, if the reorder must keep it alive.
  Reorder(const PlainWeights& plain, const Desc& to, std::unique_ptr<uint8_t[]> owned = {})
      : owned_(std::move(owned)) {
    dnnl::primitive_attr attr;
    if (!plain.scales.empty()) {
      attr.set_scales_mask(DNNL_ARG_SRC, plain.scaled_dimensions);
      scales_ = dnnl::memory(desc_f32({static_cast<int64_t>(plain.scales.size())}, Tag::a),
                             engine(), const_cast<float*>(plain.scales.data()));
    }
    with_threads(machine_threads(), [&] {
      const dnnl::reorder::primitive_desc description(engine(), plain.desc, engine(), to, attr);
      report_implementation("weights being packed", description.get());
      primitive_ = dnnl::reorder(description);
      from_ = dnnl::memory(plain.desc, engine(), readable(plain, description.impl_info_str()));
    });
  }

  void operator()(const dnnl::memory& to) const {
    with_threads(machine_threads(), [&] {
      dnnl::stream stream(engine());
      std::unordered_map<int, dnnl::memory> arguments = {{DNNL_ARG_FROM, from_}, {DNNL_ARG_TO, to}};
      if (scales_) arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, scales_);
      primitive_.execute(stream, arguments);
    });
  }

 private:
  /// The data, with the offset added, or a copy if the implementation needs one: generated code
  /// reads unaligned memory, compiled code may rely on the alignment of the dtype.
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

  std::unique_ptr<uint8_t[]> owned_;
  std::unique_ptr<uint8_t[]> copy_;
  dnnl::memory from_;
  dnnl::memory scales_;
  dnnl::reorder primitive_;
};

/// True if the layout has no compensation beside the weights.
bool is_plain(const WeightsLayout& layout) {
  return dnnl::memory::data_type_size(layout.desc.get_data_type()) > 1 ||
         !layout_name(layout.desc).empty();
}

/// A reorder from one packed layout to another.
Reorder between_layouts(const dnnl::memory& from, const Desc& to) {
  const Desc packed = from.get_desc();
  const PlainWeights source{packed, from.get_data_handle(), {}, 0, 0};
  if (dnnl::memory::data_type_size(packed.get_data_type()) > 1) return {source, to};
  // oneDNN computes int8 compensation (for s8 sources and zero points) only from the dense layout;
  // from others it fails or is wrong.
  const Desc dense_order(packed.get_dims(), packed.get_data_type(),
                         dense(packed.get_dims().size()));
  auto numbers = std::make_unique<uint8_t[]>(dense_order.get_size());
  Reorder(source, dense_order)(dnnl::memory(dense_order, engine(), numbers.get()));
  const PlainWeights plain{dense_order, numbers.get(), {}, 0, 0};
  return {plain, to, std::move(numbers)};
}

Digest content_of(const PlainWeights& plain) {
  const std::string form = text_of(plain.desc) + "+" + std::to_string(plain.offset) + "*" +
                           std::to_string(static_cast<int>(plain.other_type)) +
                           (plain.other_has_zero_point ? "-" : "");
  const Digest numbers = digest_of(plain.data, plain.desc.get_size(), form);
  if (plain.scales.empty()) return numbers;
  return digest_of(plain.scales.data(), plain.scales.size() * sizeof(float),
                   {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)});
}

}  // namespace

template <class MakeReorder>
const dnnl::memory& PackedWeights::add(const WeightsLayout& layout,
                                       const MakeReorder& make_reorder) const {
  const Desc& desc = layout.desc;
  const Digest form =
      digest_of(content_.data(), sizeof(content_), text_of(desc) + layout.reader + build());
  std::shared_ptr<const void> share =
      share_packed(host_, {content_, form}, desc.get_size(),
                   [&](void* target) { make_reorder()(dnnl::memory(desc, engine(), target)); });
  void* data = const_cast<void*>(share.get());
  // oneDNN's API takes non-const addresses; it only reads weights.
  return layouts_.emplace_back(Layout{{desc, engine(), data}, std::move(share)}).memory;
}

void PackedWeights::pack(const gantry_host* host, sdk::Choices& choices,
                         const std::function<WeightsLayout()>& choose, const PlainWeights& plain) {
  host_ = host;
  content_ = cached_digest(choices, "content", [&] { return content_of(plain); });
  const std::string* kept = choices.find("layout");
  WeightsLayout layout = kept ? WeightsLayout() : choose();
  // A layout without a name is not cached.
  const std::string name = kept ? *kept : layout_name(layout.desc);
  if (!name.empty()) {
    choices.set("layout", name);
    // Normalises the descriptor: equal layouts may have two, and shared weights are found by one.
    layout = WeightsLayout(layout_of(name, plain.desc.get_dims()));
  }
  if (is_plain(layout)) layout.reader.clear();
  const sdk::MutexLock lock(mutex_);
  add(layout, [&] { return Reorder(plain, layout.desc); });
}

Desc PackedWeights::desc() const {
  const sdk::MutexLock lock(mutex_);
  return layouts_.front().memory.get_desc();
}

const dnnl::memory& PackedWeights::in(const WeightsLayout& wanted) const {
  const sdk::MutexLock lock(mutex_);
  for (const Layout& layout : layouts_) {
    if (layout.memory.get_desc() == wanted.desc) return layout.memory;
  }
  const dnnl::memory& first = layouts_.front().memory;
  WeightsLayout layout = wanted;
  if (is_plain(layout)) layout.reader.clear();
  return add(layout, [&] { return between_layouts(first, layout.desc); });
}

}  // namespace gantry::x86
