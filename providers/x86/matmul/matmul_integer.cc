// SPDX-License-Identifier: Apache-2.0
// MatMulInteger (ai.onnx 10) whose right-hand matrix is constant, and what quantizers put behind it
// when the left-hand matrix is quantized in the run: its integers become floats, are multiplied by
// a scale that the run brings, and get a bias and an activation.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "int8/widened_layer.h"
#include "onednn/packed_weights.h"
#include "onednn/post_ops.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kGuessedRows = 64;  // of the left-hand matrix, if they are not known before

/// One number of rows.
struct Plan {
  Operand source;
  Operand target;
  Scratchpad scratchpad;
  dnnl::memory scale;
  dnnl::memory zero_point;
  Launch launch;
};

class MatMulIntegerKernel final : public sdk::Kernel {
 public:
  explicit MatMulIntegerKernel(const KernelArgs& args)
      : fusion_(args.fusion),
        label_(args.index.node(fusion_.root).label()),
        source_slot_(static_cast<int>(args.slot_of(fusion_.sources[0].value))),
        output_slot_(static_cast<int>(args.output_slot())),
        source_type_(type_of(args.index.value(fusion_.sources[0].value).dtype())) {
    const GraphIndex& index = args.index;
    if (fusion_.scale != GANTRY_NONE) {
      scale_count_ = element_count_of(index.value(fusion_.scale));
      scale_slot_ = index.value(fusion_.scale).is_constant()
                        ? -1
                        : static_cast<int>(args.slot_of(fusion_.scale));
      if (scale_slot_ < 0) scale_ = floats_of(index.value(fusion_.scale));
    }
    if (fusion_.zero_point != GANTRY_NONE) {
      const sdk::ValueView zero = index.value(fusion_.zero_point);
      if (zero.is_constant()) {
        zero_point_ = number_at(zero.constant()->data);
      } else {
        zero_slot_ = static_cast<int>(args.slot_of(fusion_.zero_point));
      }
    }
    pack(args);
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<Plan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<Plan>&>(*call.context());
    const sdk::Shape input = call.shape(source_slot_);
    if (input.rank < 2 || input.rank > 8 || input[input.rank - 1] != inner_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": the last extent of input 0 was expected to be " +
                           std::to_string(inner_) + ", that of the rows of input 1");
    }
    std::array<int64_t, 8> extents{};
    std::copy(input.data, input.data + input.rank, extents.begin());
    extents[static_cast<size_t>(input.rank) - 1] = columns_;
    gantry_tensor& target = call.output(output_slot_, is_float() ? GANTRY_FLOAT : GANTRY_INT32,
                                        {extents.data(), input.rank});
    const int64_t rows = input.count(0, input.rank - 1);
    if (rows == 0) return;
    if (layer_of_int16_) return run_widened(call, rows, target.data);
    const int threads = call.thread_count();
    cache.key.assign({rows, threads});
    Plan& plan = cache.get([&] {
      Plan made;
      with_threads(threads, [&] { made = make_plan(rows); });
      return made;
    });
    bind(call, plan);
    plan.source.place(call, call.input(source_slot_).data);
    plan.target.place(call, target.data);
    plan.scratchpad.place(call);
    with_threads(threads, [&] { plan.launch.run(cache.stream); });
  }

 private:
  [[nodiscard]] bool is_float() const { return fusion_.scale != GANTRY_NONE; }

  [[nodiscard]] int32_t number_at(const void* data) const {
    return source_type_ == Type::u8 ? int32_t{*static_cast<const uint8_t*>(data)}
                                    : int32_t{*static_cast<const int8_t*>(data)};
  }

  static int64_t element_count_of(const sdk::ValueView& value) {
    int64_t count = 1;
    for (int i = 0; i < value.rank(); ++i) count *= value.extent(i);
    return count;
  }

  /// Where the scale of a run stands, or the constant one.
  [[nodiscard]] const float* scale_of(const sdk::Call& call) const {
    if (scale_slot_ < 0) return scale_.data();
    if (call.shape(scale_slot_).element_count() != scale_count_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ + ": the scale behind it has another shape than the model says");
    }
    return call.data<float>(scale_slot_);
  }

  [[nodiscard]] int32_t zero_of(const sdk::Call& call) const {
    return zero_slot_ < 0 ? zero_point_ : number_at(call.input(zero_slot_).data);
  }

  void run_widened(sdk::Call& call, int64_t rows, void* target) const {
    float* scales = nullptr;
    if (is_float()) {
      const float* given = scale_of(call);
      scales = call.scratch<float>(layer_of_int16_->padded());
      std::fill_n(scales, layer_of_int16_->padded(), *given);
      if (scale_count_ > 1) std::copy_n(given, scale_count_, scales);
    }
    layer_of_int16_->run(call, rows,
                         {call.input(source_slot_).data, nullptr, target, source_type_ == Type::s8,
                          zero_of(call), scales});
  }

  /// What this run brings beside the matrix.
  void bind(sdk::Call& call, Plan& plan) const {
    if (scale_slot_ >= 0) plan.scale.set_data_handle(const_cast<float*>(scale_of(call)));
    if (zero_slot_ < 0) return;
    const int32_t zero = zero_of(call);
    std::memcpy(plan.zero_point.get_data_handle(), &zero, sizeof(zero));
  }

  [[nodiscard]] dnnl::matmul::primitive_desc describe(int64_t rows, const Desc& weights) const {
    const Desc source({rows, inner_}, source_type_, Tag::ab);
    const Desc target({rows, columns_}, is_float() ? Type::f32 : Type::s32, Tag::ab);
    const PostOps post_ops(fusion_, {}, Variant::kPlain);
    dnnl::primitive_attr attr = attributes(post_ops.ops);
    if (is_float()) attr.set_scales_mask(DNNL_ARG_WEIGHTS, scale_count_ > 1 ? 2 : 0);
    if (has_zero_point()) attr.set_zero_points_mask(DNNL_ARG_SRC, 0);
    if (bias_.empty()) return {engine(), source, weights, target, attr};
    return {engine(), source, weights, desc_f32({1, columns_}, Tag::ab), target, attr};
  }

  [[nodiscard]] bool has_zero_point() const { return zero_slot_ >= 0 || zero_point_ != 0; }

  [[nodiscard]] Plan make_plan(int64_t rows) const {
    struct Described {
      dnnl::matmul::primitive_desc primitive;
    };
    const auto described =
        describe_with(packed_, Desc({inner_, columns_}, Type::s8, Tag::any),
                      [&](const Desc& weights) { return Described{describe(rows, weights)}; });
    const dnnl::matmul::primitive_desc& pd = described.primitive;
    Plan plan;
    plan.source = Operand::input(pd.src_desc(), pd.src_desc());
    plan.target = Operand::output(pd.dst_desc(), pd.dst_desc());
    plan.scratchpad = Scratchpad(pd.scratchpad_desc());
    plan.launch = Launch(label_, dnnl::matmul(pd),
                         {{DNNL_ARG_SRC, plan.source.memory()},
                          {DNNL_ARG_WEIGHTS, packed_.in(WeightsLayout::of(pd))},
                          {DNNL_ARG_DST, plan.target.memory()},
                          {DNNL_ARG_SCRATCHPAD, plan.scratchpad.memory()}});
    const auto copy = [](const Desc& desc, const void* data) {
      dnnl::memory memory(desc, engine());
      std::memcpy(memory.get_data_handle(), data, desc.get_size());
      return memory;
    };
    if (!bias_.empty())
      plan.launch.add(DNNL_ARG_BIAS, copy(desc_f32({1, columns_}, Tag::ab), bias_.data()));
    if (is_float()) {
      const Desc desc = desc_f32({scale_count_}, Tag::a);
      plan.scale = scale_slot_ >= 0 ? memory_of(desc) : copy(desc, scale_.data());
      plan.launch.add(DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, plan.scale);
    }
    if (has_zero_point()) {
      plan.zero_point = copy(Desc({1}, Type::s32, Tag::a), &zero_point_);
      plan.launch.add(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, plan.zero_point);
    }
    return plan;
  }

  /// The library subtracts what a zero point takes away in floats.
  [[nodiscard]] bool rounds_large_sums() const {
    constexpr int64_t kExactProducts = (1 << 24) / (255 * 128);
    return !is_float() && has_zero_point() && inner_ > kExactProducts;
  }

  void pack(const KernelArgs& args) {
    const GraphIndex& index = args.index;
    const sdk::ValueView matrix = index.value(fusion_.weights);
    inner_ = matrix.extent(0);
    columns_ = matrix.extent(1);
    bias_ = fusion_.epilogue.shift;
    if (std::all_of(bias_.begin(), bias_.end(), [](float x) { return x == 0; })) bias_.clear();
    if (!is_library_exact(inner_) || rounds_large_sums()) {
      layer_of_int16_.emplace().pack(
          index.host(), args.choices,
          WidenedLayer::Plain::matrix(matrix.constant()->data, inner_, columns_, false,
                                      weight_offset(fusion_)),
          fusion_, is_float() ? Int8Type::kF32 : Int8Type::kS32, {}, bias_);
      return;
    }
    int64_t rows = 1;
    const sdk::ValueView left = index.value(fusion_.sources[0].value);
    for (int i = 0; i + 1 < left.rank(); ++i) rows *= std::max<int64_t>(left.extent(i), -1);
    if (rows <= 0) rows = kGuessedRows;
    const auto layout = [&] {
      WeightsLayout chosen;
      with_threads(args.threads(), [&] {
        chosen = WeightsLayout::of(describe(rows, {{inner_, columns_}, Type::s8, Tag::any}));
      });
      return chosen;
    };
    packed_.pack(index.host(), args.choices, layout,
                 {{{inner_, columns_}, Type::s8, Tag::ab},
                  matrix.constant()->data,
                  {},
                  0,
                  weight_offset(fusion_),
                  source_type_,
                  has_zero_point()});
  }

  Fusion fusion_;
  std::string label_;
  int source_slot_;
  int output_slot_;
  Type source_type_;
  int scale_slot_ = -1;  // -1: constant, or there is none
  int zero_slot_ = -1;
  int64_t scale_count_ = 0;
  std::vector<float> scale_;  // constant
  int32_t zero_point_ = 0;    // constant
  int64_t inner_ = 0;
  int64_t columns_ = 0;
  std::vector<float> bias_;
  PackedWeights packed_;
  std::optional<WidenedLayer> layer_of_int16_;  // where the library's sums would not be exact
};

}  // namespace

std::string matmul_integer_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::ValueView left = index.value(fusion.sources[0].value);
  const sdk::ValueView right = index.value(fusion.weights);
  const Type type = type_of(left.dtype());
  if (type != Type::u8 && type != Type::s8) return "only integers of int8 are taken";
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

std::unique_ptr<sdk::Kernel> make_matmul_integer(const KernelArgs& args) {
  return std::make_unique<MatMulIntegerKernel>(args);
}

}  // namespace gantry::x86
