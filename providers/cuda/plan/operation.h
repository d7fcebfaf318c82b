// SPDX-License-Identifier: Apache-2.0
// The provider's kernels: an Operation makes a plan for given shapes, and PlannedKernel caches the
// plans by shape and runs them on the stream of a call.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/rows.h>

#include <memory>
#include <utility>

#include "plan/plan.h"

namespace gantry::cuda {

/// A compiled claim. Immutable; any thread.
class Operation {
 public:
  Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;
  /// Adds outputs and steps to the plan. The result must depend only on types and shapes of inputs
  /// and, for slots in host memory, on what add_host_input appends to the key. INVALID_ARGUMENT:
  /// the inputs do not fit.
  virtual void plan(Planner& planner) const = 0;
  /// Appends to the plan's cache key what `plan` reads of an input in host memory. By default all
  /// of its bytes; an operation may append less, so that one plan serves many values. `tensor` is
  /// input `slot` of the call and is not empty.
  virtual void add_host_input(const gantry_tensor& tensor, int slot, const sdk::Call& call,
                              std::vector<int64_t>& key) const;
};

/// Runs an operation. The first run of each shape makes the plan and loads its kernels; later runs
/// allocate nothing.
class PlannedKernel final : public sdk::Kernel {
 public:
  /// `host_inputs`: bit i: input slot i is in host memory, and the plan may depend on its value.
  PlannedKernel(std::unique_ptr<Operation> operation, uint64_t host_inputs)
      : operation_(std::move(operation)), host_inputs_(host_inputs) {}

  void run(sdk::Call& call) const override;
  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override;

  /// Lets NVIDIA's libraries round f32 operands to TF32. Call it before the first run.
  void set_rounds_to_tf32(bool rounds) { rounds_to_tf32_ = rounds; }

  [[nodiscard]] const Operation& operation() const { return *operation_; }
  /// Whether the plan may depend on the value of an input.
  [[nodiscard]] bool is_host_input(int slot) const {
    return slot < 64 && (host_inputs_ >> slot & 1) != 0;
  }

 private:
  std::unique_ptr<Operation> operation_;
  uint64_t host_inputs_;
  bool rounds_to_tf32_ = false;
};

/// Factory for a kernel row: an operation whose constructor takes the node. kHostInputs: slots in
/// host memory.
template <class O, uint64_t kHostInputs = 0>
std::unique_ptr<sdk::Kernel> make(const sdk::NodeView& node) {
  return std::make_unique<PlannedKernel>(std::make_unique<O>(node), kHostInputs);
}

/// The marks of a row with inputs in host memory.
constexpr sdk::Marks host_marks(uint64_t host_inputs) {
  sdk::Marks marks;
  marks.host_inputs = host_inputs;
  marks.signature_inputs = host_inputs;
  return marks;
}

}  // namespace gantry::cuda
