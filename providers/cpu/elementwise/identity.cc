// SPDX-License-Identifier: Apache-2.0
// Identity: dense tensors share the input's memory if the host grants that, otherwise they are
// copied; other values are shared. BitCast: the same bytes as another element type.
#include <cstring>
#include <string>

#include "elementwise/elementwise.h"
#include "families.h"
#include "tensor/strided_copy.h"

namespace gantry::cpu {
namespace {

class Identity final : public NodeKernel {
 public:
  explicit Identity(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const gantry_value* value = call.value(0);
    const gantry_tensor* tensor = call.host()->value_tensor(value);
    if (!tensor || tensor->dtype == GANTRY_STRING) {
      call.output_value(0, value);
      return;
    }
    const gantry_tensor& target = call.output(0, tensor->dtype, sdk::Shape(*tensor));
    copy_bytes(call, target.data, tensor->data, static_cast<int64_t>(tensor->size_bytes));
  }
};

class BitCast final : public NodeKernel {
 public:
  explicit BitCast(const sdk::NodeView& node)
      : NodeKernel(node), to_(static_cast<uint32_t>(node.get_int("to", 0))) {
    if (bits_of(to_) == 0) {
      node.fail(GANTRY_INVALID_MODEL,
                "attribute to is " + std::to_string(to_) + ", which is no type of a fixed size");
    }
  }

  void run(sdk::Call& call) const override {
    const gantry_tensor& x = call.input(0);
    if (bits_of(x.dtype) != bits_of(to_)) {
      fail("elements of " + std::to_string(bits_of(x.dtype)) + " bits cannot be seen as ones of " +
           std::to_string(bits_of(to_)));
    }
    const gantry_tensor& y = call.output(0, to_, sdk::Shape(x));
    copy_bytes(call, y.data, x.data, static_cast<int64_t>(x.size_bytes));
  }

 private:
  uint32_t to_;
};

constexpr sdk::KernelRow kIdentityRows[] = {
    {"Identity", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<Identity>, {.repeats = 0}},
    {"BitCast",
     26,
     sdk::kLatest,
     sdk::kFixedSize | sdk::kPacked,
     sdk::make<BitCast>,
     {.repeats = 0}},
};

}  // namespace

sdk::KernelTable identity_kernels() { return sdk::table(kIdentityRows); }

}  // namespace gantry::cpu
