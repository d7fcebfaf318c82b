// SPDX-License-Identifier: Apache-2.0
// MatMulInteger (ai.onnx 10) with a constant right-hand matrix, and the nodes that quantizers put
// after it for dynamic quantization: a Cast to f32, a Mul by a scale of the run, a bias and an
// activation.
#include <cstring>

#include "int8/widened_layer.h"
#include "matmul/implementations.h"
#include "matmul/integer_operands.h"
#include "onednn/packed_weights.h"
#include "onednn/post_ops.h"

namespace gantry::x86 {
namespace {

/// The plan for a number of rows.
struct IntegerPlan {
  Operand source;
  Operand target;
  Scratchpad scratchpad;
  dnnl::memory scale;
  dnnl::memory zero_point;
  Launch launch;
};

class LibraryMatMulInteger final : public sdk::Kernel {
 public:
  explicit LibraryMatMulInteger(const KernelArgs& args) : operands_(args) { pack(args); }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<IntegerPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<IntegerPlan>&>(*call.context());
    const IntegerOperands::Tensors tensors = operands_.of(call);
    if (tensors.rows == 0) return;
    const int threads = call.thread_count();
    cache.key.assign({tensors.rows, threads});
    IntegerPlan& plan = cache.get([&] {
      IntegerPlan made;
      with_threads(threads, [&] { made = make_plan(tensors.rows); });
      return made;
    });
    bind(call, plan);
    plan.source.place(call, const_cast<void*>(tensors.source));
    plan.target.place(call, tensors.target);
    plan.scratchpad.place(call);
    with_threads(threads, [&] { plan.launch.run(cache.stream); });
  }

 private:
  /// Binds the scales and the zero point of this run.
  void bind(sdk::Call& call, IntegerPlan& plan) const {
    if (operands_.scale_slot >= 0)
      plan.scale.set_data_handle(const_cast<float*>(operands_.scales_of(call)));
    if (operands_.zero_slot < 0) return;
    const int32_t zero = operands_.zero_point_of(call);
    std::memcpy(plan.zero_point.get_data_handle(), &zero, sizeof(zero));
  }

  [[nodiscard]] Desc bias_desc() const { return desc_f32({1, operands_.columns}, Tag::ab); }
  [[nodiscard]] Dims matrix_dims() const { return {operands_.inner, operands_.columns}; }

  [[nodiscard]] dnnl::matmul::primitive_desc describe(int64_t rows, const Desc& weights) const {
    const bool is_float = operands_.is_float();
    const Desc source({rows, operands_.inner}, operands_.source_type, Tag::ab);
    const Desc target({rows, operands_.columns}, is_float ? Type::f32 : Type::s32, Tag::ab);
    const PostOps post_ops(operands_.fusion, {}, Variant::kPlain);
    dnnl::primitive_attr attr = attributes(post_ops.ops);
    if (is_float) attr.set_scales_mask(DNNL_ARG_WEIGHTS, operands_.scale_count > 1 ? 2 : 0);
    if (operands_.has_zero_point()) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    if (operands_.bias.empty()) return {engine(), source, weights, target, attr};
    return {engine(), source, weights, bias_desc(), target, attr};
  }

  [[nodiscard]] IntegerPlan make_plan(int64_t rows) const {
    struct Described {
      dnnl::matmul::primitive_desc primitive;
    };
    const auto described =
        describe_with(packed_, Desc(matrix_dims(), Type::s8, Tag::any),
                      [&](const Desc& weights) { return Described{describe(rows, weights)}; });
    const dnnl::matmul::primitive_desc& pd = described.primitive;
    IntegerPlan plan;
    plan.source = Operand::input(pd.src_desc(), pd.src_desc());
    plan.target = Operand::output(pd.dst_desc(), pd.dst_desc());
    plan.scratchpad = Scratchpad(pd.scratchpad_desc());
    plan.launch = Launch(operands_.label, dnnl::matmul(pd),
                         {{DNNL_ARG_SRC, plan.source.memory()},
                          {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout::of(pd))},
                          {DNNL_ARG_DST, plan.target.memory()},
                          {DNNL_ARG_SCRATCHPAD, plan.scratchpad.memory()}});
    const auto copy = [](const Desc& desc, const void* data) {
      dnnl::memory memory(desc, engine());
      std::memcpy(memory.get_data_handle(), data, desc.get_size());
      return memory;
    };
    if (!operands_.bias.empty())
      plan.launch.add(DNNL_ARG_BIAS, copy(bias_desc(), operands_.bias.data()));
    if (operands_.is_float()) {
      const Desc desc = desc_f32({operands_.scale_count}, Tag::a);
      plan.scale = operands_.scale_slot >= 0 ? memory_of(desc) : copy(desc, operands_.scale.data());
      plan.launch.add(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, plan.scale);
    }
    if (operands_.has_zero_point()) {
      plan.zero_point = copy(Desc({1}, Type::s32, Tag::a), &operands_.zero_point);
      plan.launch.add(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, plan.zero_point);
    }
    return plan;
  }

  void pack(const KernelArgs& args) {
    const int64_t rows = operands_.known_rows > 0 ? operands_.known_rows : kGuessedRows;
    const auto layout = [&] {
      WeightsLayout chosen;
      with_threads(args.threads(), [&] {
        chosen = WeightsLayout::of(describe(rows, {matrix_dims(), Type::s8, Tag::any}));
      });
      return chosen;
    };
    packed_.pack(args.index.host(), args.choices, layout,
                 {{matrix_dims(), Type::s8, Tag::ab},
                  operands_.matrix,
                  {},
                  0,
                  weight_offset(operands_.fusion),
                  operands_.source_type,
                  operands_.has_zero_point()});
  }

  IntegerOperands operands_;
  PackedWeights packed_;
};

}  // namespace

std::string matmul_integer_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::ValueView left = index.value(fusion.sources[0].value);
  const sdk::ValueView right = index.value(fusion.weights);
  const Type type = type_of(left.dtype());
  if (type != Type::u8 && type != Type::s8) return "only int8 and uint8 are taken";
  if (!fusion.weight_quantization || right.rank() != 2)
    return "the second matrix is not constant, or not around zero";
  if (left.rank() < 2 || left.rank() > 8) return "the first tensor is not of rank 2 to 8";
  if (right.extent(0) < 1 || right.extent(1) < 1) return "the second matrix is empty";
  if (left.extent(left.rank() - 1) >= 0 && left.extent(left.rank() - 1) != right.extent(0))
    return "its shapes do not fit each other";
  const sdk::ValueView zero = index.value(fusion.zero_point);
  const bool is_one =
      !zero.present() || zero.rank() == 0 || (zero.rank() == 1 && zero.extent(0) == 1);
  return is_one ? inexactness_of(fusion, right.extent(0))
                : "the first matrix has not one zero point";
}

RootTraits matmul_integer_traits(const GraphIndex& index, uint32_t node) {
  const sdk::ValueView right = index.node(node).input(1);
  const int rank = index.node(node).input(0).rank();
  RootTraits traits{rank, rank - 1, right.rank() == 2 ? right.extent(1) : 0};
  traits.weights_axis = 1;
  traits.adds_tensors = false;
  traits.is_integer = true;
  return traits;
}

std::span<const Implementation> matmul_integer_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {
      {"int8 widened to int16", make_int8_widened_matmul_integer},
      {"int8 avx_vnni", make_int8_avx_vnni_matmul_integer},
      {"oneDNN", make_always<LibraryMatMulInteger>}};
  return kAll;
}

}  // namespace gantry::x86
