// SPDX-License-Identifier: Apache-2.0
// What the kernels of recurrent layers share: the checks of a run, the states that come in and go
// out, the loop over directions and steps, and how threads part it. A kernel says what the input
// adds to the gates, and what a step does. Immutable, any thread.
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

/// Inputs that all of these operators have in the same place, and slots of the kernels' calls.
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

/// What the attributes and the weights of a layer say.
struct LayerForm {
  CellKind kind = CellKind::kLstm;
  int64_t gates = 0;
  bool is_batch_first = false;
  bool starts_reverse = false;
  int64_t directions = 1;
  int64_t input = 0;
  int64_t hidden = 0;
  ProjectedLayout projected;

  /// The attributes alone; the extents are left to the caller.
  LayerForm(CellKind cell, int64_t all_gates, const sdk::NodeView& node);
  [[nodiscard]] int64_t width() const { return gates * hidden; }
};

/// From how much work on it is parted among the threads.
struct LayerParting {
  int64_t sequences = 4;                ///< of a part of a batch: its weights are read once
  int64_t products = int64_t{1} << 17;  ///< of a step whose units are parted, and of a task's steps

  /// The sequences of a batch stay together.
  static LayerParting by_units(int64_t products) {
    return {std::numeric_limits<int64_t>::max(), products};
  }
};

/// True if all extents are known, and these.
bool has_shape(const sdk::ValueView& value, std::initializer_list<int64_t> extents);

/// Why these kernels leave a layer with its attributes and inputs to others, a sentence without a
/// final stop; empty: they take it. `op_type`: LSTM, GRU or RNN, as which the node is read.
std::string layer_refusal(const sdk::NodeView& node, std::string_view op_type);

class RecurrentLayer : public sdk::Kernel {
 public:
  RecurrentLayer(const LayerForm& form, const LayerParting& parting, std::string label)
      : form_(form), parting_(parting), label_(std::move(label)) {}

  void run(sdk::Call& call) const final;

 protected:
  [[nodiscard]] const LayerForm& form() const { return form_; }
  [[nodiscard]] const std::string& label() const { return label_; }

  /// Computes what `rows` rows of the input, at least one, add to the gates: `projected`, f32
  /// [rows, directions, form().projected.width]. What it asks of the call is there until run()
  /// returns.
  virtual void project(sdk::Call& call, int64_t rows, float* projected) const = 0;
  /// One step of a direction; `step` has all but the weights. `threads`: among which its units are
  /// parted. `memory`: step_bytes() bytes, of this call alone.
  virtual void run_step(sdk::Call& call, RecurrentStep& step, int64_t direction, int threads,
                        std::byte* memory) const = 0;
  /// Of `rows` sequences in one direction. [any]
  [[nodiscard]] virtual int64_t step_bytes(int64_t rows) const;

 private:
  enum Output : uint8_t { kY, kYH, kYC };

  /// Extents of a run.
  struct Sizes {
    int64_t steps = 0;
    int64_t batch = 0;
  };
  /// Null: not wanted.
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
