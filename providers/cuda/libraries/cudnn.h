// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN, which is opened at run time: execution plans, their autotuning on the
// device at hand, and calls. Any thread.
#pragma once

#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/variants.h"
#include "compile/code_cache.h"
#include "libraries/cudnn_graph.h"

namespace gantry::cuda {

class Device;
class Stream;

struct ConvOperands {
  const void* x;
  const void* w;
  const void* bias;  ///< bias and addend: null unless the shape has them
  const void* addend;
  void* y;
  void* workspace;
};

class Dnn {
 public:
  /// Opens the library for one device. Requires the device's context to be the thread's.
  Dnn(const Device& device, const LibrarySearch& search, std::string cache_folder);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  [[nodiscard]] bool is_usable() const { return reason_.empty(); }
  /// Why it is not usable; empty: it is.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Whether the library has an execution plan for the shape; the answer is cached.
  /// `out_workspace_bytes`: the largest workspace of its plans.
  bool supports(const ConvShape& shape, uint64_t& out_workspace_bytes);

  /// Enqueues a convolution on the stream. Requires supports(shape). The first run of each shape
  /// times the plans, which waits for the device, and caches the fastest in memory and on disk. Of
  /// shapes that differ only in batch and spatial extents the first few are timed; later ones take
  /// the first plan. DEVICE_ERROR.
  void run(const ConvShape& shape, Stream& stream, const ConvOperands& operands);

 private:
  struct Convolution;

  std::string load(const LibrarySearch& search);
  Convolution& convolution_of(const ConvShape& shape) GANTRY_REQUIRES(mutex_);
  [[nodiscard]] std::string key_of(const ConvShape& shape) const;
  void find_plans(Convolution& convolution, int only) const;
  void add_plans(Convolution& convolution, DnnHeuristicsMode mode, int first, int only) const;
  [[nodiscard]] bool may_use(const ConvShape& shape, const DnnDescriptor& config) const;
  void choose(Convolution& convolution, Stream& stream, const ConvOperands& operands);
  int call(const Convolution& convolution, size_t plan, Stream& stream,
           const ConvOperands& operands) const;
  void require(int status, const char* what) const;

  const Device& device_;
  CodeCache cache_;
  DnnFunctions functions_;
  void* handle_ = nullptr;
  size_t version_ = 0;
  sdk::Mutex mutex_;  // also guards the handle, which has one stream at a time
  std::map<std::string, std::unique_ptr<Convolution>> convolutions_
      GANTRY_GUARDED_BY(mutex_);                 // by tuning key
  Variants variants_ GANTRY_GUARDED_BY(mutex_);  // of convolutions
  std::string reason_;                           // declared after the members that load() fills in
};

}  // namespace gantry::cuda
