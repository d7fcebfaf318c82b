// SPDX-License-Identifier: Apache-2.0
// Captures: the work that is enqueued on a stream between the beginning and the end of a capture
// becomes a CUDA graph, which is launched as one. One thread at a time.
#pragma once

#include "driver/stream.h"

namespace gantry::cuda {

/// An instantiated CUDA graph.
class CudaGraph {
 public:
  /// Starts the capture of a stream. DEVICE_LOST, DEVICE_ERROR.
  static void begin_capture(Stream& stream);
  /// Ends the capture and instantiates the graph. A failure after dependent launches turns those
  /// off on the device, so that the next capture succeeds. DEVICE_LOST, DEVICE_ERROR.
  explicit CudaGraph(Stream& captured);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  /// Enqueues the graph on a stream of the same device. DEVICE_LOST, DEVICE_ERROR.
  void launch(Stream& stream) const;

 private:
  Device& device_;
  GraphExecHandle graph_ = nullptr;
};

}  // namespace gantry::cuda
