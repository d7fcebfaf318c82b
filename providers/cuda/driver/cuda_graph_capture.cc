// SPDX-License-Identifier: Apache-2.0
#include "driver/cuda_graph_capture.h"

namespace gantry::cuda {

void CudaGraph::begin_capture(Stream& stream) {
  const Device& device = stream.device();
  device.require_alive();
  const ContextScope inside(device);
  stream.set_no_dependent_launch();
  device.require(device.driver.capture_begin(stream.handle(), kCaptureOfThread),
                 "beginning a capture");
}

CudaGraph::CudaGraph(Stream& captured) : device_(captured.device()) {
  const ContextScope inside(device_);
  const Driver& driver = device_.driver;
  GraphHandle graph = nullptr;
  int result = driver.capture_end(captured.handle(), &graph);
  const char* what = "ending a capture";
  if (result == kSuccess) {
    what = "making a graph from a capture";
    result = driver.graph_instantiate(&graph_, graph, 0);
    driver.graph_destroy(graph);
  }
  // Graphs save more time than dependent launches do.
  if (result != kSuccess && captured.has_dependent_launch())
    device_.disable_dependent_launch(result);
  device_.require(result, what);
}

CudaGraph::~CudaGraph() {
  const ContextScope inside(device_, std::nothrow);
  device_.driver.graph_exec_destroy(graph_);
}

void CudaGraph::launch(Stream& stream) const {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.graph_launch(graph_, stream.handle()), "launching a graph");
}

}  // namespace gantry::cuda
