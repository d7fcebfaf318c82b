// SPDX-License-Identifier: Apache-2.0
// A function of numbers of 8 bits with results of 8 bits has 256 results: they are all computed
// when the model is loaded. In which order the tensor's dimensions stand does not matter, unless
// the result stands in another one.
#include <array>
#include <utility>

#include "bytes/byte_map.h"
#include "epilogue.h"
#include "kernels/kernels.h"
#include "transpose/matrices.h"

namespace gantry::onednn {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements, for a thread of its own

/// The results by the byte that stands for the operand.
ByteTable table_of(const Activation& activation, const Unit& unit) {
  std::array<float, kByteNumbers> floats = floats_of_bytes(*unit.sources[0].quantization);
  with_threads(1, [&] {
    const Desc desc = desc_f32({kByteNumbers}, Tag::a);
    Epilogue epilogue;
    for (const EpilogueStep& step : unit.chain.steps) epilogue.append_activation(*step.activation);
    dnnl::primitive_attr attr;
    attr.set_post_ops(epilogue.ops);
    const dnnl::eltwise_forward::primitive_desc description(
        engine(), dnnl::prop_kind::forward_inference, activation.algorithm, desc, desc,
        activation.alpha, activation.beta, attr);
    const dnnl::memory memory(desc, engine(), floats.data());
    dnnl::stream stream(engine());
    dnnl::eltwise_forward(description)
        .execute(stream, {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}});
  });
  return bytes_of_floats(floats, *unit.target.quantization);
}

class LookupKernel final : public sdk::Kernel {
 public:
  explicit LookupKernel(const KernelArgs& args)
      : source_slot_(static_cast<int>(args.slot_of(args.unit.sources[0].value))),
        output_slot_(static_cast<int>(args.output_slot())),
        dtype_(dtype_of(args.unit.target.type())),
        is_source_formatted_(args.is_input_formatted(static_cast<size_t>(source_slot_))),
        is_target_formatted_(args.is_output_formatted(static_cast<size_t>(output_slot_))),
        table_(table_of(*activation_of(args.index.node(args.unit.anchor)), args.unit)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(source_slot_);
    gantry_tensor& target = call.output(output_slot_, dtype_, shape);
    const auto* const from = call.data<uint8_t>(source_slot_);
    auto* const to = static_cast<uint8_t*>(target.data);
    if (shape.element_count() == 0) return;
    const bool is_moved = is_source_formatted_ != is_target_formatted_;
    uint8_t* const mapped = is_moved ? call.scratch<uint8_t>(shape.element_count()) : to;
    call.parallel_for(shape.element_count(), kGrain, [&](int64_t begin, int64_t end) {
      map_bytes(table_, from + begin, mapped + begin, end - begin);
    });
    if (is_moved) move(call, shape, mapped, to);
  }

 private:
  /// From the order of the source to that of the target.
  void move(sdk::Call& call, const sdk::Shape& shape, const uint8_t* from, uint8_t* to) const {
    Matrices images{shape[0], shape[1], shape.count(2, shape.rank)};
    if (is_source_formatted_) std::swap(images.rows, images.columns);
    call.parallel_for(images.blocks(), images.grain(),
                      [&](int64_t begin, int64_t end) { transpose(images, from, to, begin, end); });
  }

  int source_slot_;
  int output_slot_;
  gantry_dtype dtype_;
  bool is_source_formatted_;
  bool is_target_formatted_;
  ByteTable table_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_lookup(const KernelArgs& args) {
  return std::make_unique<LookupKernel>(args);
}

}  // namespace gantry::onednn
