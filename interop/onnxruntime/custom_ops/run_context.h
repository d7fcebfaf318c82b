// SPDX-License-Identifier: Apache-2.0
// OrtKernelContext: one run of a kernel of a library. One thread at a time, but for the bodies of
// ParallelFor.
#pragma once

#include <gantry/sdk/kernel.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "custom_ops/kernel_info.h"
#include "objects/status.h"

namespace gantry::ort {

class RunContext {
 public:
  /// Element types of outputs, one for each of the node's.
  RunContext(sdk::Call& call, const KernelInfo& info, const std::vector<uint32_t>& output_types);

  [[nodiscard]] sdk::Call& call() const { return call_; }
  [[nodiscard]] const KernelInfo& info() const { return info_; }
  /// Null: an optional input that is absent.
  [[nodiscard]] const Value* input(size_t index) const;
  /// The output, made with this shape when it is first asked for; null: an optional output that the
  /// node does not have.
  Value* output(size_t index, const int64_t* shape, size_t rank);
  /// Memory until the run ends.
  void* scratch(size_t bytes);

  /// Runs a function of the API, and keeps an error of the host's for rethrow().
  Status* keep_errors(const std::function<void()>& function) noexcept;
  /// Throws the host's error that a function of the API returned, if there was one.
  void rethrow() const;
  /// Hands the strings of outputs to the host. Throws if the kernel has not made an output that is
  /// wanted.
  void finish();

 private:
  sdk::Call& call_;
  const KernelInfo& info_;
  const std::vector<uint32_t>& output_types_;
  std::vector<std::optional<Value>> inputs_;
  std::vector<std::unique_ptr<Value>> outputs_;  // null: not made so far
  std::exception_ptr error_;                     // the first of the host's
};

void add_run_context_functions(ApiTable& table);

}  // namespace gantry::ort
