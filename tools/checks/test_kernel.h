// SPDX-License-Identifier: Apache-2.0
// One operator of a provider, compiled and run by the checks' host: in host memory, or on the
// device's own with copies and a stream. run() may be called from several threads.
#pragma once

#include <gantry/provider.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "claims.h"
#include "open_provider.h"
#include "probe_operator.h"
#include "test_graph.h"

namespace gantry::checks {

class TestKernel {
 public:
  /// The first probe operator that the provider claims on the device, compiled. A device with
  /// memory of its own is opened unless it is given. Skip: none is claimed.
  TestKernel(const OpenProvider& provider, const Subject& subject, const TestDevice& device,
             std::shared_ptr<OpenDevice> opened = nullptr)
      : TestKernel(provider, subject, device, std::move(opened), {}) {}
  /// What varies for checks of blobs.
  struct Variant {
    std::string blob = {};  ///< given to compile; empty: none
    bool is_other = false;  ///< the constants are others, and the node has another name
    size_t skipped = 0;     ///< probe operators that are not tried
  };
  TestKernel(const OpenProvider& provider, const Subject& subject, const TestDevice& device,
             std::shared_ptr<OpenDevice> opened, const Variant& variant);
  ~TestKernel();
  TestKernel(const TestKernel&) = delete;
  TestKernel& operator=(const TestKernel&) = delete;

  [[nodiscard]] const std::string& op_type() const { return op_type_; }

  /// Which of the probe operators it is.
  [[nodiscard]] size_t probe() const { return probe_; }
  /// What the kernel hands out for a later start; empty: nothing. Failure: an error.
  [[nodiscard]] std::string blob() const;

  struct Result {
    uint32_t code = GANTRY_OK;  ///< of the kernel, or of the stream afterwards
    std::string error;          ///< "CODE: message"
    std::vector<float> elements;
    std::vector<int64_t> shape;
  };
  /// Runs it on elements that are the same in every run; `prepare` may change what the host does.
  /// Failure: what the host itself needs (memory, copies) fails.
  [[nodiscard]] Result run(const std::function<void(HostRun&)>& prepare = {}) const;

  /// A run, and what became of its inputs.
  struct Lent {
    Result result;
    uint64_t changed_bytes = 0;  ///< of all inputs
  };
  /// As run(); looks at the inputs afterwards, where they lay.
  [[nodiscard]] Lent run_and_look_at_inputs() const;
  /// As run(), with inputs, output and scratch memory in pages that are closed a moment long when
  /// the call has returned: whoever touches them then ends the process. Requires: host memory.
  [[nodiscard]] Result run_and_close_memory() const;

  /// What came of a kernel that was recorded between capture_begin and capture_end.
  struct Captured {
    bool ran_while_recorded = false;
    std::vector<Result> launches;
  };
  /// Records it and launches the recording `launches` times, its output overwritten before each.
  /// `known`: what run() gave. Skip: the kernel or its slots are not for captures.
  [[nodiscard]] Captured run_captured(const Result& known, int launches) const;

 private:
  class Execution;
  const OpenProvider& provider_;
  std::string op_type_;
  size_t probe_ = 0;
  TestGraph graph_;
  TestClaim claim_;
  std::vector<std::shared_ptr<HostValue>> inputs_;
  std::shared_ptr<OpenDevice> device_;  // null: host memory
  gantry_kernel kernel_ = {};
};

/// Compiles node 0 of a graph as `claim` has it; an empty blob is none. The error, or null with a
/// kernel.
gantry_error* compile_node(const OpenProvider& provider, const Subject& subject, uint32_t device,
                           const gantry_graph* graph, const TestClaim& claim,
                           gantry_kernel* out_kernel, const std::string& blob = {});

}  // namespace gantry::checks
