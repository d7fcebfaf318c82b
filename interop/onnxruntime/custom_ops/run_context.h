// SPDX-License-Identifier: Apache-2.0
// OrtKernelContext: one run of a kernel of a library. One thread at a time, but for the bodies of
// ParallelFor.
#pragma once

#include <gantry/sdk/kernel.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "objects/logger.h"
#include "objects/status.h"
#include "objects/value.h"

namespace gantry::ort {

class ApiTable;

/// The inputs and outputs of a kernel of a library, and where gantry has them.
struct KernelPorts {
  std::string label;         ///< of the node, for messages
  std::vector<int> inputs;   ///< slots of the call
  std::vector<int> outputs;  ///< likewise; negative: an optional output that the node does not have
  std::vector<uint32_t> output_types;  ///< element types
  Logger logger;
};

class RunContext {
 public:
  RunContext(sdk::Call& call, const KernelPorts& ports);

  [[nodiscard]] sdk::Call& call() const { return call_; }
  [[nodiscard]] const KernelPorts& ports() const { return ports_; }
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
  const KernelPorts& ports_;
  std::vector<std::optional<Value>> inputs_;
  std::vector<std::unique_ptr<Value>> outputs_;  // null: not made so far
  std::exception_ptr error_;                     // the first of the host's
};

void add_run_context_functions(ApiTable& table);

}  // namespace gantry::ort
