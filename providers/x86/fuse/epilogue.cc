// SPDX-License-Identifier: Apache-2.0
#include "fuse/epilogue.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

constexpr size_t kMostActivations = 2;

class Grower {
 public:
  Grower(const GraphIndex& index, const RootTraits& traits,
         const std::function<bool(uint32_t)>& may_take)
      : index_(index), traits_(traits), may_take_(may_take) {}

  Epilogue run(uint32_t root) {
    epilogue_.nodes = {root};
    epilogue_.output = index_.raw(root).outputs[0];
    while (traits_.grows && grow()) {
    }
    std::sort(epilogue_.nodes.begin(), epilogue_.nodes.end());
    return std::move(epilogue_);
  }

 private:
  bool grow() {
    if (index_.is_output(epilogue_.output)) return false;
    const std::vector<uint32_t> readers = index_.readers(epilogue_.output);
    if (readers.size() == 1) {
      const uint32_t next = readers[0];
      return take_scaling(next) || take_activation(next) || take_addition(next) ||
             take_rounded_addition(next);
    }
    return readers.size() == 2 && take_gate(readers);
  }

  [[nodiscard]] bool is_allowed(uint32_t node) const {
    return may_take_(node) && index_.raw(node).domain.length == 0 &&
           index_.raw(node).output_count > 0;
  }

  void take(std::initializer_list<uint32_t> nodes, uint32_t last) {
    epilogue_.nodes.insert(epilogue_.nodes.end(), nodes);
    epilogue_.output = index_.raw(last).outputs[0];
  }

  // Scale and shift by channel, folded into weights and bias.

  bool take_scaling(uint32_t next) {
    if (traits_.channels == 0 || !epilogue_.steps.empty() || !is_allowed(next)) return false;
    const sdk::NodeView node = index_.node(next);
    const std::string_view op = node.op_type();
    if (op == "BatchNormalization") return take_normalization(next, node);
    if (node.input_count() != 2 || (op != "Add" && op != "Mul" && op != "Sub" && op != "Div"))
      return false;
    if (node.since_version() < 7) return false;  // broadcasts by an attribute
    const bool is_first = index_.raw(next).inputs[0] == epilogue_.output;
    const sdk::ValueView other = node.input(is_first ? 1 : 0);
    if (!is_first && (op == "Sub" || op == "Div")) return false;
    auto numbers = along_axis(other, traits_.rank, traits_.channel_axis, traits_.channels);
    if (!numbers) return false;
    const size_t count = numbers->size();
    std::vector<float> ones(count, 1);
    std::vector<float> zeros(count, 0);
    if (op == "Sub") {
      for (float& x : *numbers) x = -x;
    } else if (op == "Div") {
      for (float& x : *numbers) x = 1 / x;
    }
    const bool adds = op == "Add" || op == "Sub";
    if (!apply(adds ? ones : *numbers, adds ? *numbers : zeros)) return false;
    take({next}, next);
    return true;
  }

  bool take_normalization(uint32_t next, const sdk::NodeView& node) {
    if (index_.raw(next).inputs[0] != epilogue_.output) return false;
    const std::optional<Scaling> scaling = normalization_of(node, traits_.channels);
    if (!scaling || !apply(scaling->scale, scaling->shift)) return false;
    take({next}, next);
    return true;
  }

  // False if the folded scales or shifts overflow or underflow where the nodes' own results might
  // not.
  bool apply(const std::vector<float>& scale, const std::vector<float>& shift) {
    const bool is_first = epilogue_.scale.empty();
    std::vector<float> scales = is_first ? scale : epilogue_.scale;
    std::vector<float> shifts = is_first ? shift : epilogue_.shift;
    for (size_t i = 0; i < scale.size() && !is_first; ++i) {
      scales[i] *= scale[i];
      shifts[i] = shifts[i] * scale[i] + shift[i];
      if (scales[i] == 0 && scale[i] != 0 && epilogue_.scale[i] != 0) return false;
    }
    const auto is_finite = [](float x) { return std::isfinite(x); };
    if (!std::all_of(shifts.begin(), shifts.end(), is_finite) || !fit_weights(scales)) return false;
    epilogue_.scale = std::move(scales);
    epilogue_.shift = std::move(shifts);
    return true;
  }

  // True if weights times these scales neither overflow nor underflow.
  bool fit_weights(const std::vector<float>& scales) {
    constexpr float kSmall = 0x1p-30F, kLarge = 0x1p30F;  // any sensible weight bears these
    constexpr float kLeast = 0x1p-100F, kMost = 0x1p100F;
    float least = kMost;
    float most = 0;
    for (const float scale : scales) {
      if (!std::isfinite(scale)) return false;
      most = std::max(most, std::abs(scale));
      if (scale != 0) least = std::min(least, std::abs(scale));
    }
    if (least >= kSmall && most <= kLarge) return true;
    const float weight = largest_weight();
    return weight * most <= kMost && (weight * least >= kLeast || weight <= kLeast);
  }

  // The largest magnitude of constant f32 weights; 1 for others. Read once, on demand.
  float largest_weight() {
    if (largest_weight_ >= 0) return largest_weight_;
    largest_weight_ = 1;
    const sdk::NodeView root = index_.node(epilogue_.nodes[0]);
    if (root.input_count() < 2 || !is_constant_f32(root.input(1))) return largest_weight_;
    largest_weight_ = 0;
    for (const float x : floats_of(root.input(1)))
      largest_weight_ = std::max(largest_weight_, std::abs(x));
    return largest_weight_;
  }

  // Steps.

  [[nodiscard]] size_t activations() const {
    return static_cast<size_t>(
        std::count_if(epilogue_.steps.begin(), epilogue_.steps.end(),
                      [](const EpilogueStep& step) { return step.activation.has_value(); }));
  }

  bool take_activation(uint32_t next) {
    if (!is_allowed(next) || index_.raw(next).inputs[0] != epilogue_.output ||
        activations() == kMostActivations)
      return false;
    const std::optional<Activation> activation = activation_of(index_.node(next));
    if (!activation) return false;
    epilogue_.steps.push_back({activation, std::nullopt, GANTRY_NONE});
    take({next}, next);
    return true;
  }

  bool take_addition(uint32_t next) {
    const gantry_node& node = index_.raw(next);
    const sdk::NodeView view = index_.node(next);
    const bool adds = (view.op_type() == "Add" && view.since_version() >= 7) ||
                      (view.op_type() == "Sum" && view.since_version() >= 8);
    if (!is_allowed(next) || !traits_.adds_tensors || !adds || node.input_count != 2 ||
        epilogue_.addend() != GANTRY_NONE)
      return false;
    const uint32_t other = node.inputs[0] == epilogue_.output ? node.inputs[1] : node.inputs[0];
    if (other == GANTRY_NONE || index_.value(other).is_constant() ||
        index_.value(other).dtype() != GANTRY_FLOAT ||
        !sdk::has_equal_extents(index_, other, epilogue_.output))
      return false;
    epilogue_.steps.push_back({std::nullopt, std::nullopt, other});
    take({next}, next);
    return true;
  }

  // An Add after a QuantizeLinear and a DequantizeLinear of equal parameters, as quantizers leave
  // them between a convolution and its residual. The kernel rounds as they do.
  bool take_rounded_addition(uint32_t next) {
    if (!traits_.is_quantized || !is_allowed(next)) return false;
    const sdk::NodeView quantize = index_.node(next);
    const uint32_t undo = index_.only_reader(index_.raw(next).outputs[0]);
    if (quantize.op_type() != "QuantizeLinear" || undo == GANTRY_NONE || !is_allowed(undo) ||
        index_.node(undo).op_type() != "DequantizeLinear")
      return false;
    const std::optional<Quantization> rounding = quantization_of(quantize);
    if (!rounding || quantization_of(index_.node(undo)) != rounding) return false;
    const uint32_t addition = index_.only_reader(index_.raw(undo).outputs[0]);
    if (addition == GANTRY_NONE) return false;
    const Epilogue before = epilogue_;
    epilogue_.steps.push_back({std::nullopt, rounding, GANTRY_NONE});
    take({next, undo}, undo);
    if (take_addition(addition)) return true;
    epilogue_ = before;
    return false;
  }

  // x * f(x), as exporters write Swish, its approximation of GELU, HardSwish and Mish.
  bool take_gate(const std::vector<uint32_t>& readers) {
    if (activations() == kMostActivations) return false;
    for (const bool swapped : {false, true}) {
      const uint32_t product = readers[swapped ? 0 : 1];
      const std::optional<Gate> gate = gate_from(readers[swapped ? 1 : 0]);
      if (!gate || !is_allowed(product) || index_.node(product).op_type() != "Mul" ||
          index_.only_reader(index_.raw(gate->nodes.back()).outputs[0]) != product)
        continue;
      epilogue_.steps.push_back({gate->activation, std::nullopt, GANTRY_NONE});
      epilogue_.nodes.insert(epilogue_.nodes.end(), gate->nodes.begin(), gate->nodes.end());
      take({product}, product);
      return true;
    }
    return false;
  }

  /// The nodes of f, in order, and what x * f(x) is.
  struct Gate {
    std::vector<uint32_t> nodes;
    Activation activation;
  };

  [[nodiscard]] std::optional<Gate> gate_from(uint32_t first) const {
    using dnnl::algorithm;
    if (!is_allowed(first)) return std::nullopt;
    const sdk::NodeView node = index_.node(first);
    const std::string_view op = node.op_type();
    if (op == "Sigmoid") return Gate{{first}, {algorithm::eltwise_swish, 1, 0}};
    if (op == "HardSigmoid") {
      constexpr float kUnits = 0x1p-24F;  // 2 ULP of a sixth
      const bool is_standard = std::abs(node.get_float("alpha", 0.2F) - 1.0F / 6.0F) <= kUnits &&
                               node.get_float("beta", 0.5F) == 0.5F;
      if (!is_standard) return std::nullopt;
      return Gate{{first}, {algorithm::eltwise_hardswish, 1.0F / 6.0F, 0.5F}};
    }
    const uint32_t second = index_.only_reader(index_.raw(first).outputs[0]);
    if (second == GANTRY_NONE || !is_allowed(second)) return std::nullopt;
    const std::string_view next = index_.node(second).op_type();
    if (op == "Softplus" && next == "Tanh")
      return Gate{{first, second}, {algorithm::eltwise_mish, 0, 0}};
    if (op == "Mul" && next == "Sigmoid" && node.since_version() >= 7) {
      const std::optional<float> factor = factor_of(first);
      if (factor) return Gate{{first, second}, {algorithm::eltwise_swish, *factor, 0}};
    }
    return std::nullopt;
  }

  /// The constant scalar that a Mul multiplies the epilogue's output by, if its rank does not
  /// change the result's.
  [[nodiscard]] std::optional<float> factor_of(uint32_t product) const {
    const gantry_node& raw = index_.raw(product);
    if (raw.input_count != 2) return std::nullopt;
    const sdk::ValueView other =
        index_.value(raw.inputs[0] == epilogue_.output ? raw.inputs[1] : raw.inputs[0]);
    if (!is_constant_f32(other) || other.rank() > traits_.rank || element_count(other) != 1)
      return std::nullopt;
    return scalar_of(other);
  }

  const GraphIndex& index_;
  const RootTraits& traits_;
  const std::function<bool(uint32_t)>& may_take_;
  Epilogue epilogue_;
  float largest_weight_ = -1;  // negative: not looked for yet
};

}  // namespace

uint32_t Epilogue::addend() const {
  for (const EpilogueStep& step : steps) {
    if (step.addend != GANTRY_NONE) return step.addend;
  }
  return GANTRY_NONE;
}

std::optional<Scaling> normalization_of(const sdk::NodeView& node, int64_t channels) {
  for (int i = 1; i < node.output_count(); ++i) {
    if (node.output(i).present()) return std::nullopt;
  }
  if (node.get_int("training_mode", 0) != 0 || node.get_int("spatial", 1) != 1 ||
      (node.since_version() < 7 && node.get_int("is_test", 0) == 0))
    return std::nullopt;
  for (int i = 1; i < 5; ++i) {
    const sdk::ValueView value = node.input(i);
    if (!is_constant_f32(value) || element_count(value) != channels) return std::nullopt;
  }
  Scaling result{floats_of(node.input(1)), floats_of(node.input(2))};
  const std::vector<float> mean = floats_of(node.input(3));
  const std::vector<float> variance = floats_of(node.input(4));
  const double epsilon = node.get_float("epsilon", 1e-5F);
  for (size_t i = 0; i < result.scale.size(); ++i) {
    const double factor = result.scale[i] / std::sqrt(variance[i] + epsilon);
    result.shift[i] = static_cast<float>(result.shift[i] - mean[i] * factor);
    result.scale[i] = static_cast<float>(factor);
  }
  return result;
}

Epilogue epilogue_of(const GraphIndex& index, uint32_t root, const RootTraits& traits,
                     const std::function<bool(uint32_t)>& may_take) {
  return Grower(index, traits, may_take).run(root);
}

}  // namespace gantry::x86
