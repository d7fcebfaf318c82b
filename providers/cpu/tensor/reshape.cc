// SPDX-License-Identifier: Apache-2.0
// Operators that only change the shape: Reshape, Flatten, Squeeze, Unsqueeze.
#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "families.h"
#include "node_kernel.h"
#include "tensor/strided_copy.h"
#include "types.h"
#include "values.h"

namespace gantry::cpu {

namespace {

/// Gives output 0 the elements of input 0 under `shape`, which has as many elements.
void repeat_elements(sdk::Call& call, sdk::Shape shape) {
  const gantry_tensor& data = call.input(0);
  if (data.dtype != GANTRY_STRING) {
    const gantry_tensor& output = call.output(0, data.dtype, shape);
    copy_bytes(call, output.data, data.data, bytes_of(data.dtype, shape.element_count()));
    return;
  }
  const OwnedValue output = create_string_tensor(call.host(), shape, [&](int64_t i) {
    return sdk::to_view(string_at(call.host(), call.value(0), i));
  });
  call.output_value(0, output.get());
}

class ReshapeKernel : public NodeKernel {
 protected:
  using NodeKernel::NodeKernel;

  void reshape(sdk::Call& call, Dims shape, bool allow_zero) const {
    const sdk::Shape input = call.shape(0);
    int inferred = -1;
    int64_t known = 1;
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] == 0 && !allow_zero) {
        if (i >= input.rank)
          fail_shape(input, shape, "0 copies an extent that the input does not have");
        shape[i] = input[i];
      }
      if (shape[i] == -1) {
        if (inferred >= 0) fail_shape(input, shape, "only one extent may be -1");
        inferred = i;
      } else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
        fail_shape(input, shape, "an extent is below -1 or the product does not fit");
      }
    }
    const int64_t count = input.element_count();
    if (inferred >= 0) {
      if (known == 0) fail_shape(input, shape, "-1 beside an extent of 0 can stand for any extent");
      shape[inferred] = count / known;
      known *= shape[inferred];
    }
    if (known != count) fail_shape(input, shape, "the numbers of elements differ");
    repeat_elements(call, shape.shape());
  }

 private:
  [[noreturn]] void fail_shape(sdk::Shape input, const Dims& shape, const char* why) const {
    fail("cannot give an input of shape " + to_string(input) + " the shape " +
         to_string(shape.shape()) + ": " + why);
  }
};

class ReshapeByAttribute final : public ReshapeKernel {
 public:
  explicit ReshapeByAttribute(const sdk::NodeView& node)
      : ReshapeKernel(node), shape_(node.get_ints("shape")) {}
  void run(sdk::Call& call) const override {
    reshape(call, Dims(sdk::Shape(shape_.data(), static_cast<int>(shape_.size()))), false);
  }

 private:
  std::vector<int64_t> shape_;
};

class ReshapeByInput final : public ReshapeKernel {
 public:
  explicit ReshapeByInput(const sdk::NodeView& node)
      : ReshapeKernel(node), allow_zero_(node.get_int("allowzero", 0) != 0) {}
  void run(sdk::Call& call) const override { reshape(call, read_ints(call, 1), allow_zero_); }

 private:
  bool allow_zero_;
};

class Flatten final : public NodeKernel {
 public:
  explicit Flatten(const sdk::NodeView& node) : NodeKernel(node), axis_(node.get_int("axis", 1)) {}
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    // The axis may be the rank: all axes are outer then.
    const int axis = axis_ == input.rank ? input.rank : checked_axis(axis_, input.rank);
    const int64_t shape[2] = {input.count(0, axis), input.count(axis, input.rank)};
    repeat_elements(call, {shape, 2});
  }

 private:
  int64_t axis_;
};

/// Base of Squeeze and Unsqueeze: axes are an attribute up to opset 12 and input 1 from opset 13
/// on.
class AxesKernel : public NodeKernel {
 public:
  explicit AxesKernel(const sdk::NodeView& node)
      : NodeKernel(node), in_attribute_(node.since_version() < 13), axes_(node.get_ints("axes")) {
    has_axes_ = in_attribute_ ? node.has("axes") : node.input(1).present();
    check_rank(static_cast<int>(std::min<size_t>(axes_.size(), kMaxRank + 1)), label());
  }

 protected:
  [[nodiscard]] bool has_axes() const { return has_axes_; }
  [[nodiscard]] Dims axes(sdk::Call& call) const {
    return in_attribute_ ? Dims(sdk::Shape(axes_.data(), static_cast<int>(axes_.size())))
                         : read_ints(call, 1);
  }
  /// Sets marked[axis] for every axis. `rank` is that of the tensor that the axes refer to.
  void mark(const Dims& axes, int rank, bool* marked) const {
    std::fill_n(marked, rank, false);
    for (int i = 0; i < axes.rank(); ++i) {
      const int axis = checked_axis(axes[i], rank);
      if (marked[axis]) fail("axis " + std::to_string(axis) + " is named twice");
      marked[axis] = true;
    }
  }

 private:
  bool in_attribute_;
  bool has_axes_ = false;
  std::vector<int64_t> axes_;
};

class Squeeze final : public AxesKernel {
 public:
  using AxesKernel::AxesKernel;
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    check_rank(input.rank, label());
    bool removed[kMaxRank];
    if (has_axes()) {
      mark(axes(call), input.rank, removed);
    } else {
      for (int i = 0; i < input.rank; ++i) removed[i] = input[i] == 1;
    }
    Dims shape;
    for (int i = 0; i < input.rank; ++i) {
      if (!removed[i]) {
        shape.push(input[i]);
      } else if (input[i] != 1) {
        fail("axis " + std::to_string(i) + " of an input of shape " + to_string(input) +
             " has an extent other than 1");
      }
    }
    repeat_elements(call, shape.shape());
  }
};

class Unsqueeze final : public AxesKernel {
 public:
  explicit Unsqueeze(const sdk::NodeView& node) : AxesKernel(node) {
    if (!has_axes()) node.fail(GANTRY_INVALID_MODEL, "the axes to insert are not given");
  }
  void run(sdk::Call& call) const override {
    const sdk::Shape input = call.shape(0);
    const Dims inserted_axes = axes(call);
    const int rank = input.rank + inserted_axes.rank();
    check_rank(rank, label());
    bool inserted[kMaxRank];
    mark(inserted_axes, rank, inserted);
    Dims shape;
    int next = 0;
    for (int i = 0; i < rank; ++i) shape.push(inserted[i] ? 1 : input[next++]);
    repeat_elements(call, shape.shape());
  }
};

constexpr sdk::Marks kRepeats = {.repeats = 0};
constexpr sdk::Marks kRepeatsByInput = {.signature_inputs = 0b10, .repeats = 0};

constexpr sdk::KernelRow kReshapeRows[] = {
    {"Reshape", 1, 4, sdk::kAllTypes, sdk::make<ReshapeByAttribute>, kRepeats},
    {"Reshape", 5, sdk::kLatest, sdk::kAllTypes, sdk::make<ReshapeByInput>, kRepeatsByInput},
    {"Flatten", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<Flatten>, kRepeats},
    {"Squeeze", 1, 12, sdk::kAllTypes, sdk::make<Squeeze>, kRepeats},
    {"Squeeze", 13, sdk::kLatest, sdk::kAllTypes, sdk::make<Squeeze>, kRepeatsByInput},
    {"Unsqueeze", 1, 12, sdk::kAllTypes, sdk::make<Unsqueeze>, kRepeats},
    {"Unsqueeze", 13, sdk::kLatest, sdk::kAllTypes, sdk::make<Unsqueeze>, kRepeatsByInput},
};

}  // namespace

sdk::KernelTable reshape_kernels() { return sdk::table(kReshapeRows); }

}  // namespace gantry::cpu
