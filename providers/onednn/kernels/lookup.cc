// SPDX-License-Identifier: Apache-2.0
// A function of numbers of 8 bits with results of 8 bits has 256 results: they are all computed
// when the model is loaded. The order of the tensor's dimensions does not matter.
#include <array>

#include "bytes/byte_map.h"
#include "epilogue.h"
#include "kernels/kernels.h"

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
        table_(table_of(*activation_of(args.index.node(args.unit.anchor)), args.unit)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(source_slot_);
    gantry_tensor& target = call.output(output_slot_, dtype_, shape);
    const auto* const from = call.data<uint8_t>(source_slot_);
    auto* const to = static_cast<uint8_t*>(target.data);
    call.parallel_for(shape.element_count(), kGrain, [&](int64_t begin, int64_t end) {
      map_bytes(table_, from + begin, to + begin, end - begin);
    });
  }

 private:
  int source_slot_;
  int output_slot_;
  gantry_dtype dtype_;
  ByteTable table_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_lookup(const KernelArgs& args) {
  return std::make_unique<LookupKernel>(args);
}

}  // namespace gantry::onednn
