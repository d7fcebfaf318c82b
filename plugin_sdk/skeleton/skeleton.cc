// SPDX-License-Identifier: Apache-2.0
// The provider "skeleton": one device in host memory, one operator.
#include <gantry/sdk/provider.h>

#include <algorithm>

namespace {

namespace sdk = gantry::sdk;

// Relu, y = max(x, 0), of float tensors of any shape.
class Relu : public sdk::Kernel {
 public:
  explicit Relu(const sdk::NodeView&) {}  // attributes are read here, once

  void run(sdk::Call& call) const override {
    const float* x = call.data<float>(0);
    auto* y = static_cast<float*>(call.output(0, GANTRY_FLOAT, call.shape(0)).data);
    call.parallel_for(call.shape(0).element_count(), 16384, [&](int64_t begin, int64_t end) {
      // std::max(x, 0) in this order returns x if x is NaN.
      for (int64_t i = begin; i < end; ++i) y[i] = std::max(x[i], 0.0F);
    });
  }
};

// Operator, first and last schema version, element types, factory, marks: y may be written over x.
constexpr sdk::KernelRow kRows[] = {
    {"Relu", 6, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT), sdk::make<Relu>, {.overwrites = 1}},
};

class SkeletonProvider : public sdk::Provider {
 public:
  explicit SkeletonProvider(const gantry_offer& offer)
      : Provider(offer, "skeleton", {sdk::table(kRows)}) {}

  void devices(const gantry_device_sink& sink) override {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("SKELETON");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str("skeleton device");
    sink.device(sink.self, &info);
  }
};

}  // namespace

GANTRY_DEFINE_PROVIDER(SkeletonProvider)
