// SPDX-License-Identifier: Apache-2.0
// DynamicQuantizeLSTM (com.microsoft 1) with constant weights and default activations. The weights
// stay int8 in memory. As in ONNX Runtime, the input of all steps is quantized with one scale, and
// so are, in each step, the states of all sequences of a direction. So the batch is not divided:
// threads divide directions and hidden units.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "fuse/constants.h"
#include "fuse/kernels.h"
#include "onednn/threads.h"
#include "recurrent/int8_weights.h"
#include "recurrent/layer.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

enum QuantizedInput : uint32_t { kWScale = 8, kWZero, kRScale, kRZero };

constexpr int64_t kGates = gates_of(CellKind::kLstm);
/// Most products of a sum that fits 32 bits, whatever the zero points.
constexpr int64_t kMostProducts = 32768;

LayerForm quantized_form_of(const sdk::NodeView& node) {
  LayerForm form(CellKind::kLstm, kGates, node);
  form.is_batch_first = false;  // the operator has no such attribute
  form.input = node.input(kLayerW).extent(1);
  form.hidden = node.input(kLayerR).extent(1);
  form.projected = ProjectedLayout::by_blocks(kGates, form.hidden);
  return form;
}

int32_t number_at(const sdk::ValueView& value, int64_t index) {
  const auto* bytes = static_cast<const uint8_t*>(value.constant()->data) + index;
  return value.dtype() == GANTRY_INT8 ? int32_t{static_cast<int8_t>(*bytes)} : int32_t{*bytes};
}

/// The zero point of each direction; nothing: it differs between columns.
std::optional<std::vector<int32_t>> zero_points_of(const sdk::ValueView& zeros,
                                                   int64_t directions) {
  const int64_t each = element_count(zeros) / directions;
  std::vector<int32_t> result;
  for (int64_t d = 0; d < directions; ++d) {
    result.push_back(number_at(zeros, d * each));
    for (int64_t i = 1; i < each; ++i) {
      if (number_at(zeros, d * each + i) != result.back()) return std::nullopt;
    }
  }
  return result;
}

class DynamicQuantizeLstm final : public RecurrentLayer {
 public:
  explicit DynamicQuantizeLstm(const KernelArgs& args)
      : RecurrentLayer(quantized_form_of(args.index.node(args.fusion.root)),
                       LayerParting::by_units(kProductsToPart),
                       args.index.node(args.fusion.root).label()) {
    const sdk::NodeView node = args.index.node(args.fusion.root);
    pack(args, node, kLayerW, kWScale, form().input, input_weights_);
    pack(args, node, kLayerR, kRScale, form().hidden, state_weights_);
    set_bias(node);
  }

 private:
  static constexpr int64_t kProductsToPart = 1 << 19;

  void pack(const KernelArgs& args, const sdk::NodeView& node, uint32_t matrix, uint32_t scale,
            int64_t inner, Int8LayerWeights& weights) const {
    const sdk::ValueView value = node.input(matrix);
    weights.pack(args.index.host(), args.choices, "content " + std::to_string(matrix),
                 {value.constant()->data, form().directions, inner, form().hidden,
                  value.dtype() == GANTRY_INT8, floats_of(node.input(scale)),
                  zero_points_of(node.input(scale + 1), form().directions).value()});
  }

  /// The sums of both biases, [directions, blocks, gates, kUnitBlock].
  void set_bias(const sdk::NodeView& node) {
    const ProjectedLayout& layout = form().projected;
    const int64_t width = form().width();
    bias_.assign(static_cast<size_t>(form().directions * layout.width), 0);
    if (!node.input(kLayerB).present()) return;
    const std::vector<float> given = floats_of(node.input(kLayerB));
    for (int64_t d = 0; d < form().directions; ++d) {
      const float* from = given.data() + d * 2 * width;
      for (int64_t i = 0; i < width; ++i) {
        const int64_t unit = i % form().hidden;
        bias_[static_cast<size_t>(d * layout.width + i / form().hidden * layout.gate +
                                  unit / kUnitBlock * layout.block + unit % kUnitBlock)] =
            from[i] + from[width + i];
      }
    }
  }

  void project(sdk::Call& call, int64_t rows, float* projected) const override {
    constexpr int64_t kProducts = 1 << 18;  // of a part of the work
    const int64_t inner = form().input;
    const int64_t quads = input_weights_.quads();
    const auto* x = call.data<float>(kLayerX);
    auto* numbers = call.scratch<uint8_t>(rows * quads * 4);
    auto* sums = call.scratch<int32_t>(rows);
    QuantizedRows quantized{numbers, sums};
    set_range(range_of(x, rows, inner, inner), quantized);
    const int64_t grain = 1 + kProducts / 16 / inner;
    call.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      const FlushDenormals flush;
      quantize_rows(x + begin * inner, end - begin, inner, inner, quantized, quads,
                    numbers + begin * quads * 4, sums + begin);
    });
    // Threads divide the panels, so that each panel is read by one thread.
    const int64_t fours = unit_blocks_of(form().hidden);
    const int64_t parts = form().directions * fours;
    const int64_t least = 1 + kProducts / (rows * quads * 4 * kGates * kUnitBlock);
    call.parallel_for(parts, std::max<int64_t>(least, divided_up(parts, call.thread_count())),
                      [&](int64_t begin, int64_t end) {
                        const FlushDenormals flush;
                        for (int64_t d = begin / fours; d * fours < end; ++d) {
                          const int64_t at = d * form().projected.width;
                          project_int8(input_weights_.of_direction(d), quantized, rows,
                                       bias_.data() + at, std::max<int64_t>(begin - d * fours, 0),
                                       std::min(end - d * fours, fours), projected + at,
                                       form().directions * form().projected.width);
                        }
                      });
  }

  [[nodiscard]] int64_t step_bytes(int64_t rows) const override {
    const int64_t bytes = rows * (state_weights_.quads() * 4 + int64_t{sizeof(int32_t)});
    return divided_up(bytes, kLine) * kLine;
  }

  void run_step(sdk::Call& call, RecurrentStep& step, int64_t direction, int threads,
                std::byte* memory) const override {
    const Int8Gates gates = state_weights_.of_direction(direction);
    auto* sums = reinterpret_cast<int32_t*>(memory);
    auto* numbers = reinterpret_cast<uint8_t*>(sums + step.rows);
    QuantizedRows before{numbers, sums};
    set_range(range_of(step.before, step.rows, step.hidden, step.state_stride), before);
    quantize_rows(step.before, step.rows, step.hidden, step.state_stride, before, gates.quads,
                  numbers, sums);
    call.parallel_for(gates.blocks, divided_up(gates.blocks, threads),
                      [&](int64_t begin, int64_t end) {
                        const FlushDenormals flush;
                        run_int8_step(step, gates, before, begin, end);
                      });
  }

  static constexpr int64_t kLine = 64;  // bytes of a cache line, which threads do not share

  Int8LayerWeights input_weights_;
  Int8LayerWeights state_weights_;
  std::vector<float> bias_;
};

/// Why a matrix with its scales and zero points is refused; empty: it is not.
std::string matrix_refusal(const sdk::NodeView& node, uint32_t matrix, uint32_t scale,
                           const LayerForm& form, int64_t inner) {
  const sdk::ValueView value = node.input(matrix);
  const sdk::ValueView zeros = node.input(scale + 1);
  if (!zeros.is_constant() || !is_constant_f32(node.input(scale)))
    return "its scales and zero points are not constant";
  const bool fits =
      has_shape(value, {form.directions, inner, form.width()}) && zeros.dtype() == value.dtype();
  const auto is_of_layer = [&](const sdk::ValueView& beside) {
    return has_shape(beside, {form.directions}) ||
           has_shape(beside, {form.directions, form.width()});
  };
  if (!fits || !is_of_layer(node.input(scale)) || !is_of_layer(zeros))
    return "its weights do not fit each other";
  if (!zero_points_of(zeros, form.directions))
    return "its zero points differ from column to column";
  return {};
}

}  // namespace

std::string dynamic_quantize_lstm_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView node = index.node(fusion.root);
  if (node.input(kLayerX).dtype() != GANTRY_FLOAT || node.input(kLayerX).rank() != 3)
    return "only float32 of rank 3 is taken";
  for (const uint32_t matrix : {kLayerW, kLayerR}) {
    const sdk::ValueView value = node.input(matrix);
    const bool is_int8 = value.dtype() == GANTRY_INT8 || value.dtype() == GANTRY_UINT8;
    if (!value.is_constant() || !is_int8 || value.rank() != 3)
      return "its weights are not constant numbers of 8 bits";
  }
  if (node.input(kLayerB).present() && !is_constant_f32(node.input(kLayerB)))
    return "its biases are not constant";
  std::string reason = layer_refusal(node, "LSTM");
  if (!reason.empty()) return reason;
  const LayerForm form = quantized_form_of(node);
  if (form.hidden < 1 || form.input < 1 ||
      node.get_int("hidden_size", form.hidden) != form.hidden ||
      (node.input(kLayerB).present() &&
       !has_shape(node.input(kLayerB), {form.directions, 2 * form.width()})))
    return "its weights do not fit each other";
  if (std::max(form.hidden, form.input) > kMostProducts)
    return "its sums have more than " + std::to_string(kMostProducts) + " products";
  reason = matrix_refusal(node, kLayerW, kWScale, form, form.input);
  return reason.empty() ? matrix_refusal(node, kLayerR, kRScale, form, form.hidden) : reason;
}

bool is_dynamic_quantize_lstm_parameter(const GraphIndex& index, uint32_t node, uint32_t position) {
  return is_recurrent_parameter(index, node, position) || position >= kWScale;
}

std::span<const Implementation> dynamic_quantize_lstm_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {
      {"int8 step by step", make_always<DynamicQuantizeLstm>}};
  return kAll;
}

}  // namespace gantry::x86
