// SPDX-License-Identifier: Apache-2.0
// A function of numbers of 8 bits with results of 8 bits has 256 results: they are all computed
// when the model is loaded. The order of the tensor's dimensions does not matter.
#include <algorithm>
#include <array>
#include <cmath>

#include "epilogue.h"
#include "kernels/kernels.h"

namespace gantry::onednn {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements, for a thread of its own
constexpr size_t kNumbers = 256;

using Table = std::array<uint8_t, kNumbers>;

/// The results by the byte that stands for the operand.
Table table_of(const Activation& activation, const Unit& unit) {
  const Quantization& from = *unit.sources[0].quantization;
  const Quantization& to = *unit.target.quantization;
  std::array<float, kNumbers> floats{};
  for (size_t byte = 0; byte < kNumbers; ++byte) {
    const int number = from.type == Type::u8 ? static_cast<int>(byte)
                                             : static_cast<int>(static_cast<int8_t>(byte));
    floats[byte] = static_cast<float>(number - from.zero_point) * from.scale;
  }
  with_threads(1, [&] {
    const Desc desc = desc_f32({kNumbers}, Tag::a);
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
  Table table{};
  const float low = to.type == Type::u8 ? 0.0F : -128.0F;
  for (size_t byte = 0; byte < kNumbers; ++byte) {
    const float number =
        std::nearbyint(floats[byte] / to.scale) + static_cast<float>(to.zero_point);
    // Not a number counts as the lowest.
    const float kept = number > low ? std::min(number, low + 255) : low;
    table[byte] = static_cast<uint8_t>(static_cast<int>(kept));
  }
  return table;
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
      for (int64_t i = begin; i < end; ++i) to[i] = table_[from[i]];
    });
  }

 private:
  int source_slot_;
  int output_slot_;
  gantry_dtype dtype_;
  Table table_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_lookup(const KernelArgs& args) {
  return std::make_unique<LookupKernel>(args);
}

}  // namespace gantry::onednn
