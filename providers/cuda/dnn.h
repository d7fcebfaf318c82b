// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN, opened at run time: what the library is asked for, which of its ways is
// fastest on the device at hand, and the call. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "code_cache.h"
#include "dnn_graph.h"
#include "variants.h"

namespace gantry::cuda {

class Device;
class Stream;

struct ConvOperands {
  const void* x;
  const void* w;
  const void* bias;  ///< null unless the shape says so, as the addend
  const void* addend;
  void* y;
  void* workspace;
};

class Dnn {
 public:
  /// The library for one device; the device's context is the thread's.
  Dnn(const Device& device, const LibrarySearch& search, std::string cache_folder);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  [[nodiscard]] bool is_usable() const { return reason_.empty(); }
  /// Why it is not usable; empty: it is.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Whether the library has a way for it, which is found out once; `out_workspace_bytes`: scratch
  /// memory that any of the ways wants.
  bool supports(const ConvShape& shape, uint64_t& out_workspace_bytes);

  /// Runs it on the stream. Requires supports(shape). The first run of each shape tries the ways,
  /// and waits for the device; the choice is kept, also on disk. Of shapes that differ in the batch
  /// and in spatial extents only the first few are tried so, the others run by the first way that
  /// the library has. DEVICE_ERROR.
  void run(const ConvShape& shape, Stream& stream, const ConvOperands& operands);

 private:
  struct Convolution;

  std::string load(const LibrarySearch& search);
  Convolution& convolution_of(const ConvShape& shape);
  [[nodiscard]] std::string key_of(const ConvShape& shape) const;
  void find_ways(Convolution& convolution, int only) const;
  void add_ways(Convolution& convolution, DnnHeuristicsMode mode, int first, int only) const;
  [[nodiscard]] bool may_use(const ConvShape& shape, const DnnDescriptor& config) const;
  void choose(Convolution& convolution, Stream& stream, const ConvOperands& operands);
  int call(const Convolution& convolution, size_t way, Stream& stream,
           const ConvOperands& operands) const;
  void require(int status, const char* what) const;

  const Device& device_;
  CodeCache cache_;
  DnnFunctions functions_;
  void* handle_ = nullptr;
  size_t version_ = 0;
  std::mutex mutex_;  // also of the handle, which has one stream at a time
  std::map<std::string, std::unique_ptr<Convolution>> convolutions_;  // by the shape's text
  Variants variants_;                                                 // of convolutions
  std::string reason_;                                                // after what load() fills in
};

}  // namespace gantry::cuda
