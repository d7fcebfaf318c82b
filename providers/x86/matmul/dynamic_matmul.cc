// SPDX-License-Identifier: Apache-2.0
// MatMul (ai.onnx 1, 9, 13) and Gemm (7, 9, 11, 13) of two f32 activations, with their epilogue, by
// oneDNN. Only static shapes: oneDNN compiles code for each shape, which takes as long as hundreds
// of small products.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "onednn/plan.h"
#include "onednn/post_ops.h"

namespace gantry::x86 {
namespace {

/// Extents of the operands: [batch, rows, inner] and [batch, inner, columns].
struct Extents {
  int64_t batch = 1;
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;
  bool is_left_transposed = false;
  bool is_right_transposed = false;
  std::string fault;  ///< why the provider refuses them; empty: it does not

  Extents(const GraphIndex& index, uint32_t node) {
    const sdk::NodeView view = index.node(node);
    const Dims left = known(view.input(0));
    const Dims right = known(view.input(1));
    if (left.size() < 2 || right.size() < 2 || right.size() > left.size()) {
      fault = "the second matrix is not constant, and the extents are not known";
      return;
    }
    if (view.op_type() == "Gemm") {
      is_left_transposed = view.get_int("transA", 0) != 0;
      is_right_transposed = view.get_int("transB", 0) != 0;
    }
    const auto [first, last] = std::pair(left[left.size() - 2], left.back());
    rows = is_left_transposed ? last : first;
    inner = is_left_transposed ? first : last;
    columns = right[right.size() - (is_right_transposed ? 2 : 1)];
    const int64_t matrices =
        std::accumulate(left.begin(), left.end() - 2, int64_t{1}, std::multiplies<>());
    if (std::all_of(right.begin(), right.end() - 2, [](int64_t x) { return x == 1; })) {
      rows *= matrices;  // one right-hand matrix for all
    } else if (std::equal(left.begin(), left.end() - 2, right.begin(), right.end() - 2)) {
      batch = matrices;
    } else {
      fault = "the second matrix is not constant, and the leading axes differ";
    }
    if (right[right.size() - (is_right_transposed ? 1 : 2)] != inner)
      fault = "its shapes do not fit each other";
  }

  [[nodiscard]] Desc left() const { return desc(rows, inner, is_left_transposed); }
  [[nodiscard]] Desc right() const { return desc(inner, columns, is_right_transposed); }
  [[nodiscard]] Desc target() const { return desc(rows, columns, false); }

 private:
  [[nodiscard]] Desc desc(int64_t height, int64_t width, bool is_transposed) const {
    return desc_f32({batch, height, width}, is_transposed ? Tag::acb : Tag::abc);
  }

  /// The extents; empty unless all of them are known.
  static Dims known(const sdk::ValueView& value) {
    Dims extents;
    for (int i = 0; i < value.rank(); ++i) extents.push_back(value.extent(i));
    const bool are_known =
        std::all_of(extents.begin(), extents.end(), [](int64_t x) { return x > 0; });
    return are_known ? extents : Dims();
  }
};

/// The plan for a number of threads.
struct DynamicPlan {
  FusedVariants variants;
  dnnl::memory right;
};

class DynamicMatMulKernel final : public sdk::Kernel {
 public:
  explicit DynamicMatMulKernel(const KernelArgs& args)
      : fusion_(args.fusion),
        extents_(args.index, fusion_.root),
        label_(args.index.node(fusion_.root).label()),
        left_slot_(static_cast<int>(args.slot_of(fusion_.sources[0].value))),
        right_slot_(static_cast<int>(args.slot_of(fusion_.weights))),
        output_slot_(static_cast<int>(args.output_slot())) {
    const sdk::ValueView target = args.index.value(fusion_.target.value);
    for (int i = 0; i < target.rank(); ++i) output_.push_back(target.extent(i));
    if (fusion_.addend.value != GANTRY_NONE)
      addend_slot_ = static_cast<int>(args.slot_of(fusion_.addend.value));
    const std::vector<float> bias = *bias_of(args.index, fusion_, extents_.columns);
    own_epilogue_.set(fusion_, bias, {});
    if (std::all_of(bias.begin(), bias.end(), [](float x) { return x == 0; })) return;
    bias_ = dnnl::memory(desc_f32({1, 1, extents_.columns}, Tag::abc), engine());
    std::memcpy(bias_.get_data_handle(), bias.data(), bias.size() * sizeof(float));
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<DynamicPlan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<DynamicPlan>&>(*call.context());
    check(call.shape(left_slot_), extents_.left(), 0);
    check(call.shape(right_slot_), extents_.right(), 1);
    const sdk::Shape output(output_.data(), static_cast<int>(output_.size()));
    gantry_tensor& target = call.output(output_slot_, GANTRY_FLOAT, output);
    const void* addend = addend_slot_ >= 0 ? call.input(addend_slot_).data : nullptr;
    if (addend && call.shape(addend_slot_) != output) {
      throw sdk::Error(
          GANTRY_INVALID_ARGUMENT,
          label_ + ": the tensor added to the result has another shape than the result");
    }
    cache.key.assign({call.thread_count()});
    DynamicPlan& plan = cache.get([&] { return DynamicPlan{{}, memory_of(extents_.right())}; });
    const gantry_tensor& left = call.input(left_slot_);
    const gantry_tensor& right = call.input(right_slot_);
    plan.right.set_data_handle(const_cast<void*>(right.data));
    const FusedTensors tensors = {
        .source = left.data,
        .source_elements = sdk::Shape(left).element_count(),
        .addend = addend,
        .target = target.data,
        .target_elements = output.element_count(),
        .weights = {static_cast<const float*>(right.data),
                    static_cast<size_t>(sdk::Shape(right).element_count())}};
    plan.variants.run(call, cache.stream, tensors, own_epilogue_,
                      [&](Variant variant) { return make(plan.right, variant); });
  }

 private:
  void check(const sdk::Shape& shape, const Desc& expected, int input) const {
    const auto count = static_cast<int64_t>(expected.get_size() / sizeof(float));
    if (shape.element_count() == count) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": input " + std::to_string(input) +
                                                  " was expected to have " + std::to_string(count) +
                                                  " elements, as the model says, and has " +
                                                  std::to_string(shape.element_count()));
  }

  [[nodiscard]] FusedPrimitive make(const dnnl::memory& right, Variant variant) const {
    const Desc target = extents_.target();
    const PostOps post_ops(fusion_, target, variant);
    const dnnl::primitive_attr attr = attributes(post_ops.ops);
    const dnnl::matmul::primitive_desc pd =
        bias_ ? dnnl::matmul::primitive_desc(engine(), extents_.left(), extents_.right(),
                                             bias_.get_desc(), target, attr)
              : dnnl::matmul::primitive_desc(engine(), extents_.left(), extents_.right(), target,
                                             attr);
    FusedPrimitive fused;
    fused.source = Operand::input(extents_.left(), extents_.left());
    fused.target = Operand::output(target, target);
    fused.scratchpad = Scratchpad(pd.scratchpad_desc());
    fused.launch = Launch(label_, dnnl::matmul(pd),
                          {{DNNL_ARG_SRC, fused.source.memory()},
                           {DNNL_ARG_WEIGHTS, right},
                           {DNNL_ARG_DST, fused.target.memory()},
                           {DNNL_ARG_SCRATCHPAD, fused.scratchpad.memory()}});
    if (bias_) fused.launch.add(DNNL_ARG_BIAS, bias_);
    if (addend_slot_ >= 0 && variant != Variant::kInPlace) {
      fused.addend = Operand::input(target, target);
      if (post_ops.addend_argument != 0)
        fused.launch.add(post_ops.addend_argument, fused.addend.memory());
    }
    return fused;
  }

  Fusion fusion_;
  Extents extents_;
  std::string label_;
  int left_slot_;
  int right_slot_;
  int output_slot_;
  int addend_slot_ = -1;
  Dims output_;
  dnnl::memory bias_;  // empty: there is none
  OwnEpilogue own_epilogue_;
};

}  // namespace

std::string dynamic_matmul_refusal(const GraphIndex& index, const Fusion& fusion) {
  constexpr int64_t kLeastExtent = 16;
  constexpr int64_t kLeastProducts = 1 << 19;
  constexpr auto kWanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  if ((static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kWanted) != kWanted)
    return "the library has no code for two tensors of the run on this CPU";
  const sdk::NodeView view = index.node(fusion.root);
  for (int i = 0; i < 2; ++i) {
    if (!view.input(i).present() || view.input(i).dtype() != GANTRY_FLOAT)
      return "only float32 is taken";
  }
  if (view.op_type() == "Gemm" && (view.since_version() < 7 || view.get_float("alpha", 1) != 1 ||
                                   view.get_float("beta", 1) != 1))
    return "the product or the third matrix is multiplied by a number";
  const Extents extents(index, fusion.root);
  if (!extents.fault.empty()) return extents.fault;
  if (!bias_of(index, fusion, extents.columns)) return "the third matrix is not a constant row";
  const int64_t products = extents.batch * extents.rows * extents.inner * extents.columns;
  if (std::min({extents.rows, extents.inner, extents.columns}) < kLeastExtent ||
      products < kLeastProducts)
    return "the second matrix is not constant, and the product is small";
  return {};
}

RootTraits dynamic_matmul_traits(const GraphIndex& index, uint32_t node) {
  const int rank = index.node(node).input(0).rank();
  RootTraits traits{rank, rank - 1, 0};
  traits.weights_axis = 1;
  return traits;
}

std::span<const Implementation> dynamic_matmul_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"oneDNN", make_always<DynamicMatMulKernel>}};
  return kAll;
}

}  // namespace gantry::x86
