// SPDX-License-Identifier: Apache-2.0
#include "libraries/cudnn_graph.h"

#include <gantry/provider.h>

#include <bit>

namespace gantry::cuda {
namespace {

constexpr size_t kMostParts = 32;
constexpr int64_t kAlignment = 16;  // bytes, of every address

int data_type(uint32_t dtype) {
  return dtype == GANTRY_FLOAT16 ? kDnnHalf : dtype == GANTRY_BFLOAT16 ? kDnnBfloat : kDnnFloat;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& extents, bool is_channels_last) {
  std::vector<int64_t> strides(extents.size(), 1);
  int64_t count = is_channels_last ? extents[1] : 1;
  for (size_t axis = extents.size(); axis-- > (is_channels_last ? 2 : 1);) {
    strides[axis] = count;
    count *= extents[axis];
  }
  strides[0] = count;
  return strides;
}

}  // namespace

std::string ConvShape::text() const {
  std::string text = std::to_string(dtype) + (is_channels_last ? "L" : "F") +
                     (is_transposed ? "T" : "") + (has_bias ? "b" : "") + (has_addend ? "a" : "") +
                     (has_relu ? "r" + std::to_string(std::bit_cast<uint32_t>(most)) : "") +
                     (rounds_to_tf32 ? "t" : "");
  for (const auto* list : {&x, &w, &strides, &dilations, &before, &after}) {
    text += "|";
    for (const int64_t number : *list) text.append(std::to_string(number)).append(",");
  }
  // The shape of a transposed convolution's result is not determined by the other fields.
  if (is_transposed) {
    text += "|";
    for (const int64_t number : y) text.append(std::to_string(number)).append(",");
  }
  return text;
}

std::string ConvShape::family() const {
  ConvShape open = *this;
  open.x = {0, x[1]};
  open.y = {0, y[1]};
  return open.text();
}

ConvGraph::ConvGraph(const DnnFunctions& functions, const ConvShape& shape, void* handle)
    : functions_(functions),
      shape_(shape),
      left_((shape.has_addend ? 1 : 0) + (shape.has_bias ? 1 : 0) + (shape.has_relu ? 1 : 0)),
      graph_(functions, kDnnGraph) {
  parts_.reserve(kMostParts);
  convolve();
  // In the order that most of the library's engines support: addend, bias, activation.
  if (shape.has_addend) add(kIdAddend, shape.y);
  if (shape.has_bias) {
    std::vector<int64_t> extents(shape.y.size(), 1);
    extents[1] = shape.y[1];
    add(kIdBias, extents);
  }
  if (shape.has_relu) rectify();
  if (status_ != 0 || !handle) return;
  graph_.set(kGraphHandle, kDnnHandleType, handle);
  graph_.set(kGraphOperations, kDnnDescriptorType, operations_);
  status_ = graph_.finalize();
}

void ConvGraph::finish(DnnDescriptor& made) {
  const int status = made.finalize();
  if (status_ == 0) status_ = status;
}

const DnnDescriptor& ConvGraph::tensor(int64_t id, const std::vector<int64_t>& extents) {
  const bool is_virtual = id >= kIdFirstVirtual;
  DnnDescriptor& made = parts_.emplace_back(functions_, kDnnTensor);
  // Intermediate tensors are f32, so nothing is rounded between the operations.
  made.set(kTensorType, kDnnDataType, is_virtual ? int{kDnnFloat} : data_type(shape_.dtype));
  made.set(kTensorExtents, kDnnInt64, extents);
  made.set(kTensorStrides, kDnnInt64, strides_of(extents, shape_.is_channels_last));
  made.set(kTensorId, kDnnInt64, id);
  made.set(kTensorAlignment, kDnnInt64, kAlignment);
  if (is_virtual) made.set(kTensorIsVirtual, kDnnBoolean, true);
  finish(made);
  if (!is_virtual) ids_.push_back(id);
  return made;
}

// The output tensor of the next operation: y if it is the last.
const DnnDescriptor& ConvGraph::result() {
  return tensor(left_ == 0 ? int64_t{kIdY} : kIdFirstVirtual + left_, shape_.y);
}

void ConvGraph::convolve() {
  DnnDescriptor& how = parts_.emplace_back(functions_, kDnnConvolution);
  how.set(kConvolutionType, kDnnDataType, int{kDnnFloat});
  how.set(kConvolutionMode, kDnnConvolutionModeType, int{kDnnCrossCorrelation});
  how.set(kConvolutionSpatialCount, kDnnInt64, static_cast<int64_t>(shape_.strides.size()));
  how.set(kConvolutionStrides, kDnnInt64, shape_.strides);
  how.set(kConvolutionDilations, kDnnInt64, shape_.dilations);
  how.set(kConvolutionPaddingsBefore, kDnnInt64, shape_.before);
  how.set(kConvolutionPaddingsAfter, kDnnInt64, shape_.after);
  finish(how);
  const DnnDescriptor& x = tensor(kIdX, shape_.x);
  const DnnDescriptor& w = tensor(kIdW, shape_.w);
  const DnnDescriptor& y = result();
  const bool is_back =
      shape_.is_transposed;  // the gradient of a convolution with respect to its input
  DnnDescriptor& made = parts_.emplace_back(
      functions_, is_back ? kDnnConvolutionBackwardData : kDnnConvolutionForward);
  made.set(is_back ? kBackwardConvolution : kForwardConvolution, how);
  made.set(is_back ? kBackwardDy : kForwardX, x);
  made.set(is_back ? kBackwardW : kForwardW, w);
  made.set(is_back ? kBackwardDx : kForwardY, y);
  made.set(is_back ? kBackwardAlpha : kForwardAlpha, kDnnFloatType, 1.0F);
  made.set(is_back ? kBackwardBeta : kForwardBeta, kDnnFloatType, 0.0F);
  finish(made);
  operations_.push_back(made.handle());
  now_ = &y;
}

void ConvGraph::add(int64_t id, const std::vector<int64_t>& extents) {
  --left_;
  DnnDescriptor& how = parts_.emplace_back(functions_, kDnnPointwise);
  how.set(kPointwiseMode, kDnnPointwiseModeType, int{kDnnAdd});
  how.set(kPointwisePrecision, kDnnDataType, int{kDnnFloat});
  finish(how);
  const DnnDescriptor& added = tensor(id, extents);
  const DnnDescriptor& y = result();
  DnnDescriptor& made = parts_.emplace_back(functions_, kDnnPointwiseOperation);
  made.set(kOperationPointwise, how);
  made.set(kOperationX, *now_);
  made.set(kOperationB, added);
  made.set(kOperationY, y);
  finish(made);
  operations_.push_back(made.handle());
  now_ = &y;
}

void ConvGraph::rectify() {
  --left_;
  DnnDescriptor& how = parts_.emplace_back(functions_, kDnnPointwise);
  how.set(kPointwiseMode, kDnnPointwiseModeType, int{kDnnRelu});
  how.set(kPointwisePrecision, kDnnDataType, int{kDnnFloat});
  if (shape_.most > 0) {
    how.set(kReluLowerClip, kDnnDouble, 0.0);
    how.set(kReluUpperClip, kDnnDouble, static_cast<double>(shape_.most));
  }
  finish(how);
  const DnnDescriptor& y = result();
  DnnDescriptor& made = parts_.emplace_back(functions_, kDnnPointwiseOperation);
  made.set(kOperationPointwise, how);
  made.set(kOperationX, *now_);
  made.set(kOperationY, y);
  finish(made);
  operations_.push_back(made.handle());
  now_ = &y;
}

}  // namespace gantry::cuda
