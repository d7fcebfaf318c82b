// SPDX-License-Identifier: Apache-2.0
// Base class of the kernels of recurrent layers: checks of a run, initial and final states, the
// loop over directions and steps, and its division among threads. A derived kernel computes the
// input projection and a step. Immutable, any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "recurrent/step.h"

namespace gantry::x86 {

/// Input positions that these operators have in common; also the input slots of the kernels' calls.
enum LayerInput : uint8_t {
  kLayerX,
  kLayerW,
  kLayerR,
  kLayerB,
  kLayerLengths,
  kLayerInitialH,
  kLayerInitialC,
  kLayerPeepholes
};

/// Attributes and extents of a layer.
struct LayerForm {
  CellKind kind = CellKind::kLstm;
  int64_t gates = 0;            ///< of the operator: 4, 3 or 1
  bool is_batch_first = false;  ///< layout = 1
  bool starts_reverse = false;  ///< direction = "reverse"
  int64_t directions = 1;
  int64_t input = 0;          ///< input_size
  int64_t hidden = 0;         ///< hidden_size
  ProjectedLayout projected;  ///< of the input projection

  /// Reads the attributes; the caller sets input, hidden and projected.
  LayerForm(CellKind cell, int64_t all_gates, const sdk::NodeView& node);
  [[nodiscard]] int64_t width() const { return gates * hidden; }
};

/// Least work of a part, when a layer is divided among threads.
struct LayerParting {
  int64_t sequences = 4;                ///< of a part of the batch; each part reads all weights
  int64_t products = int64_t{1} << 17;  ///< multiply-adds, of a step divided by units or of a task

  /// Never divides the batch.
  static LayerParting by_units(int64_t products) {
    return {std::numeric_limits<int64_t>::max(), products};
  }
};

/// True if the value's shape is known and equal to `extents`.
bool has_shape(const sdk::ValueView& value, std::initializer_list<int64_t> extents);

/// Why these kernels refuse a layer because of its attributes or inputs, as a sentence without a
/// final stop; empty: they do not. `op_type`: LSTM, GRU or RNN, whose rules apply to the node.
std::string layer_refusal(const sdk::NodeView& node, std::string_view op_type);

class RecurrentLayer : public sdk::Kernel {
 public:
  RecurrentLayer(const LayerForm& form, const LayerParting& parting, std::string label)
      : form_(form), parting_(parting), label_(std::move(label)) {}

  void run(sdk::Call& call) const final;

 protected:
  [[nodiscard]] const LayerForm& form() const { return form_; }
  [[nodiscard]] const std::string& label() const { return label_; }

  /// Computes the input projection, X * W + bias, of `rows` rows, at least one. `projected`: f32
  /// [rows, directions, form().projected.width]. Scratch memory of the call stays valid until run()
  /// returns.
  virtual void project(sdk::Call& call, int64_t rows, float* projected) const = 0;
  /// Runs one step of a direction. `step`: all but the weights and bias; `threads`: to divide the
  /// hidden units among; `memory`: step_bytes() bytes, not shared with other calls.
  virtual void run_step(sdk::Call& call, RecurrentStep& step, int64_t direction, int threads,
                        std::byte* memory) const = 0;
  /// Bytes of memory for run_step() with `rows` sequences; 0 unless overridden. [any]
  [[nodiscard]] virtual int64_t step_bytes(int64_t rows) const;

 private:
  enum Output : uint8_t { kY, kYH, kYC };

  /// Extents of a run.
  struct Sizes {
    int64_t steps = 0;
    int64_t batch = 0;
  };
  /// Outputs of a run; null: not wanted.
  struct Results {
    float* y = nullptr;
    float* last_h = nullptr;
    float* last_c = nullptr;
  };
  /// Some sequences of one direction.
  struct Task {
    int64_t direction = 0;
    int64_t first = 0;
    int64_t rows = 0;
    float* before = nullptr;
    float* after = nullptr;
    float* cell = nullptr;
    std::byte* memory = nullptr;
  };

  [[nodiscard]] Sizes resolve(const sdk::Call& call) const;
  void run_tasks(sdk::Call& call, const Sizes& sizes, const float* projected,
                 const Results& to) const;
  void run_task(sdk::Call& call, const Sizes& sizes, const float* projected, const Results& to,
                Task task, int threads) const;
  [[nodiscard]] int64_t state_row(const Sizes& sizes, int64_t direction, int64_t sequence) const;
  void load_state(sdk::Call& call, const Sizes& sizes, const Task& task, int slot,
                  float* state) const;
  void store_state(const Sizes& sizes, const Task& task, const float* state, float* to) const;

  LayerForm form_;
  LayerParting parting_;
  std::string label_;
};

}  // namespace gantry::x86
