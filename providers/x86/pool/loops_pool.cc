// SPDX-License-Identifier: Apache-2.0
// The f32 pooling kernel by compiled loops (loops.h).
#include "onednn/plan.h"
#include "pool/implementations.h"
#include "pool/operands.h"

namespace gantry::x86 {
namespace {

struct LoopsPlan {
  PoolOperands::Placed placed;
  PoolLoops loops;
};

class LoopsPool final : public sdk::Kernel {
 public:
  explicit LoopsPool(PoolOperands&& operands) : operands_(std::move(operands)) {}

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<LoopsPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<LoopsPlan>&>(*call.context());
    const sdk::Shape input = call.shape(static_cast<int>(operands_.source_slot));
    cache.key.assign(input.data, input.data + input.rank);
    const LoopsPlan& plan = cache.get([&] {
      PoolOperands::Placed placed = operands_.place(cache.key);
      PoolLoops loops = operands_.loops_of(placed);
      return LoopsPlan{std::move(placed), std::move(loops)};
    });
    void* const target = operands_.target_of(call, plan.placed);
    if (plan.placed.is_empty) return;
    const void* source = call.input(static_cast<int>(operands_.source_slot)).data;
    operands_.run_loops(call, plan.loops, source, target);
  }

 private:
  PoolOperands operands_;
};

}  // namespace

Made make_loops_pool(const KernelArgs& args) {
  PoolOperands operands(args);
  if (!operands.is_source_formatted && !operands.is_target_formatted)
    return refuse("the tensors are NCHW, where oneDNN is faster");
  const bool is_open_mean = operands.source_type == Type::f32 && operands.has_dynamic_size;
  if (!operands.is_max_of_floats() && !is_open_mean)
    return refuse("it is no maximum of f32, and no mean of f32 over images of dynamic size");
  return made<LoopsPool>(std::move(operands));
}

}  // namespace gantry::x86
