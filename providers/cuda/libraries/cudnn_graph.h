// SPDX-License-Identifier: Apache-2.0
// Describes a convolution with its epilogue as a cuDNN operation graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libraries/cudnn_api.h"

namespace gantry::cuda {

/// A convolution, y = relu(conv(x, w) + bias + addend), over two or three spatial axes. Extents are
/// in logical order (NCHW). x: [batch, channels, ...], w: [kernels, channels / groups, ...], bias:
/// [kernels], y and addend: [batch, kernels, ...]. Transposed: w is [channels, kernels / groups,
/// ...], and x is the result of a convolution of y by w.
struct ConvShape {
  uint32_t dtype = 0;            ///< of all tensors: f32, f16 or bf16
  std::vector<int64_t> x, w, y;  ///< extents
  std::vector<int64_t> strides, dilations, before,
      after;  ///< of spatial axes; `before`, `after`: padding
  bool is_transposed = false;
  bool is_channels_last = false;  ///< x, w, y and the addend are NHWC
  bool has_bias = false;
  bool has_addend = false;
  bool has_relu = false;
  float most = 0;               ///< upper bound of the Relu; 0: none
  bool rounds_to_tf32 = false;  ///< f32 operands may be rounded to TF32

  /// Tuning key: the shape and everything else that the choice of a plan depends on.
  [[nodiscard]] std::string text() const;
  /// Key of the family of shapes that differ only in batch and spatial extents.
  [[nodiscard]] std::string family() const;
};

/// Unique ids of the graph's tensors, by which a variant pack binds addresses.
enum ConvTensor : int64_t { kIdX = 1, kIdW, kIdY, kIdBias, kIdAddend, kIdFirstVirtual };

/// The operation graph of one convolution. One thread.
class ConvGraph {
 public:
  /// `handle`: of the library; null: only the operations are made, without the graph.
  ConvGraph(const DnnFunctions& functions, const ConvShape& shape, void* handle);

  /// 0, or the library's failure.
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const DnnDescriptor& graph() const { return graph_; }
  /// Ids of the tensors that need addresses.
  [[nodiscard]] const std::vector<int64_t>& ids() const { return ids_; }

 private:
  const DnnDescriptor& tensor(int64_t id, const std::vector<int64_t>& extents);
  const DnnDescriptor& result();
  void convolve();
  void add(int64_t id, const std::vector<int64_t>& extents);
  void rectify();
  void finish(DnnDescriptor& made);

  const DnnFunctions& functions_;
  const ConvShape& shape_;
  std::vector<DnnDescriptor> parts_;  // referenced by later descriptors
  std::vector<void*> operations_;
  std::vector<int64_t> ids_;
  const DnnDescriptor* now_ = nullptr;  // input of the next operation
  int left_;                            // operations after the convolution
  int status_ = 0;
  DnnDescriptor graph_;
};

}  // namespace gantry::cuda
