// SPDX-License-Identifier: Apache-2.0
// Operators that work element by element on f32: activations; Add, Sub, Mul, Div, Max, Min of two
// tensors, one of which may be broadcast; BatchNormalization with constant parameters. Taken where
// their inputs stand channels-last, so that the order is kept. Of 8 bits see
// byte_pairs.cc and byte_scaling.cc.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "constants.h"
#include "epilogue.h"
#include "kernels/byte_tensor.h"

namespace gantry::onednn {
namespace {

std::optional<dnnl::algorithm> arithmetic_of(const sdk::NodeView& node) {
  using dnnl::algorithm;
  if (node.input_count() != 2 || node.since_version() < 7) return std::nullopt;
  const std::string_view op = node.op_type();
  if (op == "Add" || (op == "Sum" && node.since_version() >= 8)) return algorithm::binary_add;
  if (op == "Sub") return algorithm::binary_sub;
  if (op == "Mul") return algorithm::binary_mul;
  if (op == "Div") return algorithm::binary_div;
  if (op == "Max" && node.since_version() >= 8) return algorithm::binary_max;
  if (op == "Min" && node.since_version() >= 8) return algorithm::binary_min;
  return std::nullopt;
}

struct Plan {
  Dims output;
  bool is_empty = false;
  Operand first;
  Operand second;
  Operand target;
  Scratchpad scratchpad;
  Launch launch;
};

class PointwiseKernel final : public sdk::Kernel {
 public:
  explicit PointwiseKernel(const KernelArgs& args)
      : unit_(args.unit),
        label_(args.index.node(unit_.anchor).label()),
        output_slot_(args.output_slot()),
        is_target_formatted_(args.is_output_formatted(output_slot_)) {
    const sdk::NodeView node = args.index.node(unit_.anchor);
    const gantry_node& raw = args.index.raw(unit_.anchor);
    const Chain& chain = unit_.chain;
    const auto take = [&](int position) {
      const auto slot = args.slot_of(raw.inputs[position]);
      slots_.push_back(static_cast<int>(slot));
      is_formatted_.push_back(args.is_input_formatted(slot));
    };
    if (const auto activation = activation_of(node)) {
      take(0);
      activation_ = *activation;
    } else if (node.op_type() == "BatchNormalization") {
      take(0);
      Scaling scaling = *normalization_of(node, element_count(node.input(1)));
      for (size_t i = 0; i < chain.scale.size(); ++i) {
        scaling.scale[i] *= chain.scale[i];
        scaling.shift[i] = scaling.shift[i] * chain.scale[i] + chain.shift[i];
      }
      algorithm_ = dnnl::algorithm::binary_mul;
      constant_ = channels_of(scaling.scale, node.input(0).rank());
      shift_ = channels_of(scaling.shift, node.input(0).rank());
    } else {
      algorithm_ = *arithmetic_of(node);
      const int constant = node.input(0).is_constant() ? 0 : node.input(1).is_constant() ? 1 : -1;
      constant_is_first_ = constant == 0;
      for (int i = 0; i < 2; ++i) {
        if (i != constant) take(i);
      }
      const int rank = std::max(node.input(0).rank(), node.input(1).rank());
      if (constant >= 0) constant_ = channels_of(floats_of(node.input(constant)), rank);
    }
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<Plan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<Plan>&>(*call.context());
    const int threads = call.thread_count();
    cache.key.clear();
    for (const int slot : slots_) {
      const sdk::Shape shape = call.shape(slot);
      cache.key.insert(cache.key.end(), shape.data, shape.data + shape.rank);
    }
    cache.key.push_back(threads);
    Plan& plan = cache.get([&] {
      Plan made;
      with_threads(threads, [&] { made = make_plan(call); });
      return made;
    });
    gantry_tensor& target =
        call.output(static_cast<int>(output_slot_), dtype_of(unit_.target.type()),
                    {plan.output.data(), static_cast<int>(plan.output.size())});
    if (plan.is_empty) return;
    plan.first.place(call, call.input(slots_[0]).data);
    if (slots_.size() > 1) plan.second.place(call, call.input(slots_[1]).data);
    plan.target.place(call, target.data);
    plan.scratchpad.place(call);
    with_threads(threads, [&] {
      plan.first.run(cache.stream);
      if (slots_.size() > 1) plan.second.run(cache.stream);
      plan.launch.run(cache.stream);
      plan.target.run(cache.stream);
    });
  }

 private:
  // A constant of one number for each channel, or of one number.
  [[nodiscard]] static dnnl::memory channels_of(const std::vector<float>& numbers, int rank) {
    Dims dims(static_cast<size_t>(rank), 1);
    dims[1] = static_cast<int64_t>(numbers.size());
    dnnl::memory memory(desc_f32(dims, channels_last(dims.size())), engine());
    std::memcpy(memory.get_data_handle(), numbers.data(), numbers.size() * sizeof(float));
    return memory;
  }

  [[nodiscard]] Dims broadcast(const Dims& a, const Dims& b) const {
    Dims output = a;
    for (size_t i = 0; i < output.size(); ++i) {
      if (a[i] != b[i] && a[i] != 1 && b[i] != 1) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + ": extents " + std::to_string(a[i]) +
                                                      " and " + std::to_string(b[i]) + " on axis " +
                                                      std::to_string(i) + " do not broadcast");
      }
      output[i] = a[i] == 1 ? b[i] : a[i];
    }
    return output;
  }

  [[nodiscard]] Plan make_plan(const sdk::Call& call) const {
    const auto dims_of = [&](size_t i) {
      const sdk::Shape shape = call.shape(slots_[i]);
      return Dims(shape.data, shape.data + shape.rank);
    };
    Plan plan;
    const Dims first = dims_of(0);
    const Dims second = slots_.size() > 1     ? dims_of(1)
                        : constant_.get(true) ? constant_.get_desc().get_dims()
                                              : first;
    plan.output = broadcast(first, second);
    plan.is_empty = std::find(plan.output.begin(), plan.output.end(), 0) != plan.output.end();
    if (plan.is_empty) return plan;
    const Tag last = channels_last(first.size());
    const Desc target = desc_f32(plan.output, last);
    plan.first = Operand::input(desc_of(first, is_formatted_[0]), desc_f32(first, last));
    if (slots_.size() > 1)
      plan.second = Operand::input(desc_of(second, is_formatted_[1]), desc_f32(second, last));
    plan.target = Operand::output(desc_of(plan.output, is_target_formatted_), target);
    if (algorithm_ == dnnl::algorithm::undef) {
      const Epilogue epilogue(unit_, target, false);
      const dnnl::eltwise_forward::primitive_desc pd(
          engine(), dnnl::prop_kind::forward_inference, activation_.algorithm, target, target,
          activation_.alpha, activation_.beta, attributes(epilogue.ops));
      plan.scratchpad = Scratchpad(pd.scratchpad_desc());
      plan.launch =
          Launch(dnnl::eltwise_forward(pd), {{DNNL_ARG_SRC, plan.first.memory()},
                                             {DNNL_ARG_DST, plan.target.memory()},
                                             {DNNL_ARG_SCRATCHPAD, plan.scratchpad.memory()}});
      return plan;
    }
    dnnl::post_ops ops;
    if (shift_.get(true)) ops.append_binary(dnnl::algorithm::binary_add, shift_.get_desc());
    for (const EpilogueStep& step : unit_.chain.steps)
      ops.append_eltwise(step.activation->algorithm, step.activation->alpha, step.activation->beta);
    dnnl::memory left = plan.first.memory();
    dnnl::memory right = slots_.size() > 1 ? plan.second.memory() : constant_;
    if (constant_is_first_) std::swap(left, right);
    const dnnl::binary::primitive_desc pd(engine(), algorithm_, left.get_desc(), right.get_desc(),
                                          target, attributes(ops));
    plan.scratchpad = Scratchpad(pd.scratchpad_desc());
    plan.launch = Launch(dnnl::binary(pd), {{DNNL_ARG_SRC_0, left},
                                            {DNNL_ARG_SRC_1, right},
                                            {DNNL_ARG_DST, plan.target.memory()},
                                            {DNNL_ARG_SCRATCHPAD, plan.scratchpad.memory()}});
    if (shift_.get(true))
      plan.launch.add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, shift_);
    return plan;
  }

  Unit unit_;
  std::string label_;
  size_t output_slot_;
  bool is_target_formatted_;
  std::vector<int> slots_;  // of the tensors, in the operator's order
  std::vector<bool> is_formatted_;
  Activation activation_;
  dnnl::algorithm algorithm_ = dnnl::algorithm::undef;  // of two operands
  dnnl::memory constant_;  // the second operand, if it is none of the run
  bool constant_is_first_ = false;
  dnnl::memory shift_;  // of a normalisation
};

}  // namespace

std::string pointwise_refusal(const GraphIndex& index, const Unit& unit) {
  const sdk::NodeView view = index.node(unit.anchor);
  if (unit.is_quantized()) {
    if (!unit.target.quantization) return "the result is not quantized";
    return unit.sources.size() == 1 ? byte_scaling_refusal(index, unit)
                                    : byte_pairs_refusal(index, unit);
  }
  const auto check = [&](int i) -> std::string {
    const sdk::ValueView value = view.input(i);
    if (value.dtype() != GANTRY_FLOAT) return "only float32 is taken";
    return value.rank() < 3 || value.rank() > 5 ? "only inputs of rank 3 to 5 are taken" : "";
  };
  if (activation_of(view)) return check(0);
  if (view.op_type() == "BatchNormalization") {
    if (std::string reason = check(0); !reason.empty()) return reason;
    const bool is_folded = is_constant_f32(view.input(1)) &&
                           normalization_of(view, element_count(view.input(1))).has_value();
    return is_folded ? "" : "it trains, or its parameters are not constant";
  }
  if (!arithmetic_of(view)) return "no kernel for operator " + std::string(view.op_type());
  if (view.input(0).is_constant() && view.input(1).is_constant()) return "both inputs are constant";
  for (int i = 0; i < 2; ++i) {
    const sdk::ValueView other = view.input(1 - i);
    if (view.input(i).is_constant()) {
      const int64_t channels = other.rank() > 1 ? other.extent(1) : -1;
      if (channels < 1 || !along_axis(view.input(i), other.rank(), 1, channels))
        return "its constant is not one number for each channel";
    } else if (std::string reason = check(i); !reason.empty()) {
      return reason;
    } else if (!other.is_constant() && other.rank() != view.input(i).rank()) {
      return "its inputs differ in rank";
    }
  }
  return {};
}

bool is_pointwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position) {
  return position > 0 || arithmetic_of(index.node(node)).has_value();
}

AnchorTraits pointwise_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  const bool folds = view.op_type() == "BatchNormalization" && is_constant_f32(view.input(1));
  AnchorTraits traits{view.input(0).rank(), 1, folds ? element_count(view.input(1)) : 0};
  traits.adds_tensors = false;
  if (arithmetic_of(view)) traits.tensors = 2;
  return traits;
}

std::unique_ptr<sdk::Kernel> make_pointwise(const KernelArgs& args) {
  if (args.unit.is_quantized())
    return args.unit.sources.size() == 1 ? make_byte_scaling(args) : make_byte_pairs(args);
  return std::make_unique<PointwiseKernel>(args);
}

}  // namespace gantry::onednn
