// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool, GlobalMaxPool and GlobalAveragePool (ai.onnx, every version) in f32 or
// int8, and ReduceMean and ReduceMax of f32 over all spatial axes, by oneDNN, channels-last; and
// the list of their implementations.
#include <optional>

#include "fuse/families.h"
#include "onednn/background.h"
#include "onednn/ordinary.h"
#include "onednn/plan.h"
#include "onednn/post_ops.h"
#include "pool/implementations.h"
#include "pool/operands.h"

namespace gantry::x86 {
namespace {

struct LibraryPlan {
  PoolOperands::Placed placed;
  // With oneDNN:
  Operand source;
  Operand target;
  Scratchpad scratchpad;
  Launch launch;
  /// Used instead of oneDNN's reference code, and for f32 max pooling of values that are not
  /// ordinary: oneDNN drops NaN and replaces minus infinity by the lowest float.
  std::optional<PoolLoops> loops;
};

class LibraryPool final : public sdk::Kernel {
 public:
  explicit LibraryPool(const KernelArgs& args) : operands_(args) {
    if (operands_.known_input.empty()) return;
    Dims key = operands_.known_input;
    key.insert(key.end(), {args.threads(), 1});
    prepared_.start(std::move(key), args.threads(),
                    [this] { return make_plan(operands_.known_input, true); });
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<LibraryPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<LibraryPlan>&>(*call.context());
    const gantry_tensor& source = call.input(static_cast<int>(operands_.source_slot));
    const sdk::Shape input(source);
    const int threads = call.thread_count();
    const bool is_for_library = suits_library(source, threads);
    cache.key.assign(input.data, input.data + input.rank);
    cache.key.push_back(threads);
    cache.key.push_back(is_for_library ? 1 : 0);
    LibraryPlan& plan = cache.get([&] {
      if (std::optional<LibraryPlan> made = prepared_.take(cache.key)) return std::move(*made);
      LibraryPlan made;
      with_threads(threads, [&] {
        made = make_plan({input.data, input.data + input.rank}, is_for_library);
      });
      return made;
    });
    void* const target = operands_.target_of(call, plan.placed);
    if (plan.placed.is_empty) return;
    if (plan.loops) return operands_.run_loops(call, *plan.loops, source.data, target);
    plan.source.place(call, const_cast<void*>(source.data));
    plan.target.place(call, target);
    plan.scratchpad.place(call);
    with_threads(threads, [&] {
      plan.source.run(cache.stream);
      plan.launch.run(cache.stream);
      plan.target.run(cache.stream);
    });
  }

 private:
  /// True unless it is f32 max pooling of values that are not ordinary.
  [[nodiscard]] bool suits_library(const gantry_tensor& source, int threads) const {
    if (!operands_.is_max_of_floats()) return true;
    bool are_ordinary = false;
    with_threads(threads, [&] {
      are_ordinary = is_ordinary({static_cast<const float*>(source.data),
                                  static_cast<size_t>(sdk::Shape(source).element_count())});
    });
    return are_ordinary;
  }

  /// `is_for_library`: oneDNN's code, unless that is reference code; else own loops.
  [[nodiscard]] LibraryPlan make_plan(const Dims& input, bool is_for_library) const {
    LibraryPlan plan;
    plan.placed = operands_.place(input);
    const PoolOperands::Placed& placed = plan.placed;
    if (placed.is_empty) return plan;
    if (!is_for_library) {
      plan.loops = operands_.loops_of(placed);
      return plan;
    }
    const dnnl::pooling_forward::primitive_desc pd = describe(placed);
    if (code_kind(pd) == CodeKind::kReference) {
      report_passed_over(operands_.label, pd, "compiled loops of this provider");
      plan.loops = operands_.loops_of(placed);
      return plan;
    }
    plan.source = Operand::input(
        desc_of(input, operands_.is_source_formatted, operands_.source_type), pd.src_desc());
    plan.target = Operand::output(
        desc_of(placed.output, operands_.is_target_formatted, operands_.target_type),
        pd.dst_desc());
    plan.scratchpad = Scratchpad(pd.scratchpad_desc());
    plan.launch = Launch(operands_.label, dnnl::pooling_forward(pd),
                         {{DNNL_ARG_SRC, plan.source.memory()},
                          {DNNL_ARG_DST, plan.target.memory()},
                          {DNNL_ARG_SCRATCHPAD, plan.scratchpad.memory()}});
    return plan;
  }

  // In the memory order of the input, unless oneDNN is slow with that.
  [[nodiscard]] dnnl::pooling_forward::primitive_desc describe(
      const PoolOperands::Placed& placed) const {
    const size_t rank = placed.input.size();
    Dims dilations = placed.window.dilations;
    for (int64_t& dilation : dilations) --dilation;  // oneDNN's dilation is ONNX's - 1
    PostOps post_ops;
    if (operands_.fusion.is_quantized()) {  // requantizes
      const Quantization& from = *operands_.fusion.sources[0].quantization;
      const Quantization& to = *operands_.fusion.target.quantization;
      post_ops.append_linear(1, -static_cast<float>(from.zero_point));
      post_ops.append_linear(from.scale / to.scale, static_cast<float>(to.zero_point));
      post_ops.flush();
    }
    const auto in = [&](Tag tag) {
      return dnnl::pooling_forward::primitive_desc(
          engine(), dnnl::prop_kind::forward_inference, operands_.shape.algorithm,
          Desc(placed.input, operands_.source_type, tag),
          Desc(placed.output, operands_.target_type, tag), placed.window.strides,
          placed.window.kernel, dilations, placed.at.pads_begin, placed.at.pads_end,
          attributes(post_ops.ops));
    };
    if (!operands_.is_source_formatted && !operands_.is_target_formatted &&
        operands_.source_type == Type::f32) {
      dnnl::pooling_forward::primitive_desc pd = in(dense(rank));
      if (is_fast(pd)) return pd;
    }
    return in(channels_last(rank));
  }

  PoolOperands operands_;
  Prepared<LibraryPlan> prepared_;  // last
};

}  // namespace

std::string pool_refusal(const GraphIndex& index, const Fusion& fusion) {
  return PoolShape(index, fusion).fault;
}

RootTraits pool_traits(const GraphIndex& index, uint32_t node) {
  RootTraits traits{index.node(node).input(0).rank(), 1, 0};
  traits.grows = false;
  return traits;
}

std::span<const Implementation> pool_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"loops", make_loops_pool},
                                            {"oneDNN", make_always<LibraryPool>}};
  return kAll;
}

}  // namespace gantry::x86
