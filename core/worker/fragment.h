// SPDX-License-Identifier: Apache-2.0
// A set of nodes that the application compiles in the worker: a Program and an Executor for the one
// provider, with memory plans, streams and copies, so that devices with memory of their own work as
// in the application. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "placement/placement.h"
#include "plugin/isolation/worker_messages.h"
#include "run/executor.h"

namespace gantry {

class WorkerFragment {
 public:
  /// `graph` is reduced to the nodes. `stop_grace_ms`: as Executor::Options. Errors: of compile;
  /// UNSUPPORTED: a node is refused; INTERNAL: the request does not match the graph.
  WorkerFragment(std::unique_ptr<Graph> graph, const WorkerCompile& request,
                 const Candidate& candidate, uint64_t stop_grace_ms);

  /// The slots whose values a run receives and returns.
  [[nodiscard]] const WorkerKernel& slots() const { return slots_; }
  /// Runs once. `inputs` and `outputs` are in the order of slots(); an output that is set is
  /// filled. `make`: makes the memory of the other outputs, except values that are no plain tensors
  /// and outputs that are not OutputSource::direct. `stop`: ends the run with CANCELLED when it is
  /// set. `mark`: receives the number of the running step, from 1. Errors: of kernels;
  /// INVALID_ARGUMENT: an output has another type or shape than the tensor that was set.
  void run(const std::vector<ValueRef>& inputs, std::vector<ValueRef>& outputs,
           const std::atomic<bool>& stop, std::atomic<uint64_t>& mark, const MakeOutput& make);

 private:
  void build(const Candidate& candidate, uint32_t threads, uint64_t stop_grace_ms);

  std::unique_ptr<Graph> graph_;  // the program borrows from it
  WorkerKernel slots_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace gantry
