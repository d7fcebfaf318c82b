// SPDX-License-Identifier: Apache-2.0
#include "onednn/plan.h"

#include <cstring>

namespace gantry::x86 {

Operand::Operand(const Desc& given, const Desc& wanted, bool is_input)
    : outer_(memory_of(given)),
      inner_(given == wanted ? outer_ : memory_of(wanted)),
      is_input_(is_input) {
  if (given == wanted) return;
  inner_bytes_ = static_cast<int64_t>(wanted.get_size());
  matrices_ = is_input ? matrices_between(given, wanted) : matrices_between(wanted, given);
  if (matrices_) return;
  const dnnl::memory& from = is_input ? outer_ : inner_;
  const dnnl::memory& to = is_input ? inner_ : outer_;
  const dnnl::reorder::primitive_desc pd(from, to, attributes());
  reorder_ = Launch("a tensor between two kernels", dnnl::reorder(pd),
                    {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Operand::place(sdk::Call& call, void* data) {
  outer_.set_data_handle(data);
  if (is_moved()) inner_.set_data_handle(call.scratch<std::byte>(inner_bytes_));
}

void Operand::run(const dnnl::stream& stream) const {
  if (!matrices_) {
    if (reorder_.is_set()) reorder_.run(stream);
    return;
  }
  const auto* source = static_cast<const float*>((is_input_ ? outer_ : inner_).get_data_handle());
  auto* target = static_cast<float*>((is_input_ ? inner_ : outer_).get_data_handle());
  for_ranges(matrices_->blocks(), matrices_->grain(), [&](int64_t begin, int64_t end) {
    transpose(*matrices_, source, target, begin, end);
  });
}

void Scratchpad::place(sdk::Call& call) {
  if (size_bytes_ > 0) memory_.set_data_handle(call.scratch<std::byte>(size_bytes_));
}

void FusedPrimitive::run(sdk::Call& call, int threads, const dnnl::stream& stream,
                         const FusedTensors& tensors, Variant variant,
                         const OwnEpilogue& epilogue) {
  const void* added = variant == Variant::kInPlace ? nullptr : tensors.addend;
  // The primitive would overwrite the addend before the epilogue adds it.
  if (variant == Variant::kOwn && added == tensors.target && tensors.is_target_inner) {
    auto* copy = call.scratch<float>(tensors.target_elements);
    std::memcpy(copy, added, static_cast<size_t>(tensors.target_elements) * sizeof(float));
    added = copy;
  }
  // oneDNN's API takes non-const addresses; it only reads inputs.
  source.place(call, const_cast<void*>(tensors.source));
  target.place(call, tensors.target);
  if (added) addend.place(call, const_cast<void*>(added));
  scratchpad.place(call);
  with_threads(threads, [&] {
    source.run(stream);
    if (added) addend.run(stream);
    launch.run(stream);
    if (variant == Variant::kOwn) {
      epilogue.run({target.data(), static_cast<size_t>(tensors.target_elements)},
                   added ? addend.data() : nullptr);
    }
    target.run(stream);
  });
}

Variant FusedVariants::variant_for(int threads, const FusedTensors& tensors,
                                   const OwnEpilogue& epilogue) {
  const bool is_in_place =
      tensors.addend && tensors.addend == tensors.target && tensors.is_target_inner;
  const Variant usual = is_in_place ? Variant::kInPlace : Variant::kPlain;
  if (!epilogue.is_possible()) return usual;
  bool is_needed = false;
  with_threads(threads, [&] {
    is_needed = epilogue.is_needed(
        {{static_cast<const float*>(tensors.source), static_cast<size_t>(tensors.source_elements)},
         {static_cast<const float*>(tensors.addend),
          static_cast<size_t>(tensors.addend ? tensors.target_elements : 0)},
         tensors.weights});
  });
  return is_needed ? Variant::kOwn : usual;
}

dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (post_ops.len() > 0) attr.set_post_ops(post_ops);
  return attr;
}

}  // namespace gantry::x86
