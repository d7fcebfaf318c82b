// SPDX-License-Identifier: Apache-2.0
// A set of nodes that the application has compiled here: a program of the core's own over the one
// provider, with its memory plan, its streams and copies, so that a device with memory of its own
// is served as anywhere. Any thread.
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
  /// `graph` is cut down to the nodes. `stop_grace_ms`: as Executor::Options. Errors: what compile
  /// says; UNSUPPORTED: a node is refused; INTERNAL: the request does not fit the graph.
  WorkerFragment(std::unique_ptr<Graph> graph, const WorkerCompile& request,
                 const Candidate& candidate, uint64_t stop_grace_ms);

  /// The slots that a run sends and gets.
  [[nodiscard]] const WorkerKernel& slots() const { return slots_; }
  /// `inputs` and `outputs` are in the order of slots(); an output that is set is filled. `stop`:
  /// ends the run with CANCELLED when it is set. `mark`: takes the number of the step that runs,
  /// from 1. Other outputs lie where `make` puts them, those that are no plain tensors and a few
  /// others elsewhere. Errors: what a kernel says; INVALID_ARGUMENT: an output is not what was set.
  void run(const std::vector<ValueRef>& inputs, std::vector<ValueRef>& outputs,
           const std::atomic<bool>& stop, std::atomic<uint64_t>& mark, const MakeOutput& make);

 private:
  void build(const Candidate& candidate, uint32_t threads, uint64_t stop_grace_ms);

  std::unique_ptr<Graph> graph_;  // the program borrows from it
  WorkerKernel slots_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace gantry
