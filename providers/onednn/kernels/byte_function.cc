// SPDX-License-Identifier: Apache-2.0
// A function of numbers of 8 bits with results of 8 bits has 256 results: they are all computed
// when the model is loaded.
#include "bytes/function.h"
#include "kernels/byte_tensor.h"

namespace gantry::onednn {
namespace {

constexpr int64_t kGrain = 1 << 14;  // elements, for a thread of its own

class ByteFunctionKernel final : public sdk::Kernel {
 public:
  ByteFunctionKernel(const KernelArgs& args, const ByteFunction& function)
      : source_(args, function.source),
        target_is_formatted_(args.is_output_formatted(0)),
        target_dtype_(static_cast<gantry_dtype>(args.index.value(function.target).dtype())),
        table_(table_of(args.index, function)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(source_.slot);
    gantry_tensor& target = call.output(0, target_dtype_, shape);
    const int64_t count = shape.element_count();
    if (count == 0) return;
    // Quantizers put such functions before nodes that have no order but the dense one.
    const uint8_t* from = source_.in_order(call, target_is_formatted_);
    auto* const to = static_cast<uint8_t*>(target.data);
    call.parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      map_bytes(table_, from + begin, to + begin, end - begin);
    });
  }

 private:
  ByteSource source_;
  bool target_is_formatted_;
  gantry_dtype target_dtype_;
  ByteTable table_;
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_byte_function(const KernelArgs& args,
                                                const ByteFunction& function) {
  return std::make_unique<ByteFunctionKernel>(args, function);
}

}  // namespace gantry::onednn
