// SPDX-License-Identifier: Apache-2.0
// A kernel of one operator, compiled and run by the checks' host, in host memory or in device
// memory with copies and a stream. run() may be called by several threads.
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
  /// Compiles the first probe operator that the provider claims on the device. A device with its
  /// own memory is opened, unless `opened` is given. Throws Skip if none is claimed.
  TestKernel(const OpenProvider& provider, const Subject& subject, const TestDevice& device,
             std::shared_ptr<OpenDevice> opened = nullptr)
      : TestKernel(provider, subject, device, std::move(opened), {}) {}
  /// Variations for the checks of compile blobs.
  struct Variant {
    std::string blob = {};  ///< passed to compile; empty: none
    bool is_other = false;  ///< use other constants and another node name
    size_t skipped = 0;     ///< leading probe operators to skip
  };
  TestKernel(const OpenProvider& provider, const Subject& subject, const TestDevice& device,
             std::shared_ptr<OpenDevice> opened, const Variant& variant);
  ~TestKernel();
  TestKernel(const TestKernel&) = delete;
  TestKernel& operator=(const TestKernel&) = delete;

  [[nodiscard]] const std::string& op_type() const { return op_type_; }

  /// Index of the probe operator.
  [[nodiscard]] size_t probe() const { return probe_; }
  /// The compile blob of the kernel; empty if it has none. Throws Failure on an error.
  [[nodiscard]] std::string blob() const;

  struct Result {
    uint32_t code = GANTRY_OK;  ///< of the kernel, or of the stream afterwards
    std::string error;          ///< "CODE: message"
    std::vector<float> elements;
    std::vector<int64_t> shape;
  };
  /// Runs the kernel, with the same input elements in every run. `prepare` may change the host's
  /// behaviour. Throws Failure if memory or copies of the host fail.
  [[nodiscard]] Result run(const std::function<void(HostRun&)>& prepare = {}) const;

  /// The result of a run, and whether it changed its inputs.
  struct Lent {
    Result result;
    uint64_t changed_bytes = 0;  ///< of all inputs
  };
  /// As run(); compares the inputs with their original elements afterwards.
  [[nodiscard]] Lent run_and_look_at_inputs() const;
  /// As run(), with inputs, output and scratch memory in pages that are inaccessible for a moment
  /// after the call has returned: a later access crashes the process. Requires host memory.
  [[nodiscard]] Result run_and_close_memory() const;

  /// The results of a captured kernel.
  struct Captured {
    bool ran_while_recorded = false;
    std::vector<Result> launches;
  };
  /// Captures the kernel and launches the capture `launches` times, overwriting the output before
  /// each launch. `known` is the result of run(). Throws Skip if the kernel or the provider does
  /// not support captures.
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

/// Compiles node 0 of a graph by `claim`; an empty `blob` means none. Returns an error, or null and
/// sets `out_kernel`.
gantry_error* compile_node(const OpenProvider& provider, const Subject& subject, uint32_t device,
                           const gantry_graph* graph, const TestClaim& claim,
                           gantry_kernel* out_kernel, const std::string& blob = {});

}  // namespace gantry::checks
