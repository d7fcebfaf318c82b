// SPDX-License-Identifier: Apache-2.0
// How the provider's operators become kernels of the host: an operation plans, and PlannedKernel
// keeps its plans by shape and runs them on the stream of a call.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/rows.h>

#include <memory>
#include <utility>

#include "plan.h"

namespace gantry::cuda {

/// A claim that was compiled. Immutable; any thread.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;
  /// Adds outputs and steps for the planner's inputs. Depends on their types, shapes and, of slots
  /// in host memory, on what add_host_input says, and on nothing else. INVALID_ARGUMENT: they do
  /// not fit.
  virtual void plan(Planner& planner) const = 0;
  /// Appends to the key of plans what `plan` reads of an input in host memory: all of its bytes,
  /// or, for an operation that says so, less, so that one plan serves many values. `tensor` is
  /// input `slot` of the call and has elements.
  virtual void add_host_input(const gantry_tensor& tensor, int slot, const sdk::Call& call,
                              std::vector<int64_t>& key) const;
};

/// Runs an operation. The first run of each shape makes the plan and loads its kernels; later ones
/// allocate nothing.
class PlannedKernel final : public sdk::Kernel {
 public:
  /// `host_inputs`: bit i set: input slot i is in host memory, and its value counts.
  PlannedKernel(std::unique_ptr<Operation> operation, uint64_t host_inputs)
      : operation_(std::move(operation)), host_inputs_(host_inputs) {}

  void run(sdk::Call& call) const override;
  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override;

  /// NVIDIA's libraries may round factors of f32 to TF32. Before the first run.
  void set_rounds_to_tf32(bool rounds) { rounds_to_tf32_ = rounds; }

  [[nodiscard]] const Operation& operation() const { return *operation_; }
  /// Whether an input is in host memory, and its value counts.
  [[nodiscard]] bool is_host_input(int slot) const {
    return slot < 64 && (host_inputs_ >> slot & 1) != 0;
  }

 private:
  std::unique_ptr<Operation> operation_;
  uint64_t host_inputs_;
  bool rounds_to_tf32_ = false;
};

/// Factory of an operation whose constructor takes the node, for a row whose slots `host_inputs`
/// are in host memory.
template <class O, uint64_t kHostInputs = 0>
std::unique_ptr<sdk::Kernel> make(const sdk::NodeView& node) {
  return std::make_unique<PlannedKernel>(std::make_unique<O>(node), kHostInputs);
}

/// Marks of such a row.
constexpr sdk::Marks host_marks(uint64_t host_inputs) {
  sdk::Marks marks;
  marks.host_inputs = host_inputs;
  marks.signature_inputs = host_inputs;
  return marks;
}

}  // namespace gantry::cuda
