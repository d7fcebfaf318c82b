// SPDX-License-Identifier: Apache-2.0
// A convolution with what stands behind it, as cuDNN's graph interface wants to be told of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dnn_api.h"

namespace gantry::cuda {

/// y = activation(conv(x, w) + bias + addend). Extents and strides in the order of the axes, two
/// spatial ones or three. x: [batch, channels, ...], w: [kernels, channels / groups, ...], bias:
/// [kernels], y and the addend: [batch, kernels, ...]. Transposed, where y is what a convolution by
/// w makes x of, w is [channels, kernels / groups, ...].
struct ConvShape {
  uint32_t dtype = 0;                                      ///< of all: f32, f16 or bf16
  std::vector<int64_t> x, w, y;                            ///< extents
  std::vector<int64_t> strides, dilations, before, after;  ///< of spatial axes; paddings last
  bool is_transposed = false;
  bool is_channels_last = false;  ///< how x, w, y and the addend lie
  bool has_bias = false;
  bool has_addend = false;
  bool has_relu = false;
  float most = 0;               ///< of the Relu; 0: no bound
  bool rounds_to_tf32 = false;  ///< factors of f32 may be rounded to 10 bits of fraction

  /// Names the shape and all else that a way is chosen by.
  [[nodiscard]] std::string text() const;
  /// Names what it is a variant of, by batch and extents.
  [[nodiscard]] std::string family() const;
};

/// Numbers by which tensors are named when addresses are given.
enum ConvTensor : int64_t { kIdX = 1, kIdW, kIdY, kIdBias, kIdAddend, kIdFirstVirtual };

/// The graph of one convolution. One thread.
class ConvGraph {
 public:
  /// `handle`: the library's; null: the graph is not made, only its operations.
  ConvGraph(const DnnFunctions& functions, const ConvShape& shape, void* handle);

  /// 0, or why the library does not take it.
  [[nodiscard]] int status() const { return status_; }
  [[nodiscard]] const DnnDescriptor& graph() const { return graph_; }
  /// Of the tensors that are given addresses.
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
  std::vector<DnnDescriptor> parts_;  // which others name
  std::vector<void*> operations_;
  std::vector<int64_t> ids_;
  const DnnDescriptor* now_ = nullptr;  // what the next operation reads
  int left_;                            // operations behind the convolution
  int status_ = 0;
  DnnDescriptor graph_;
};

}  // namespace gantry::cuda
