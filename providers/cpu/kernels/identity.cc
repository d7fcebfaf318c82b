// SPDX-License-Identifier: Apache-2.0
// Identity of values of every kind. Dense tensors are granted the same memory or copied; everything
// else is shared.
#include <cstring>

#include "kernels/all_kernels.h"
#include "kernels/elementwise.h"

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
    if (target.data == tensor->data || tensor->size_bytes == 0) return;
    call.parallel_for(static_cast<int64_t>(tensor->size_bytes), 4 * kPlainGrain,
                      [&](int64_t begin, int64_t end) {
                        std::memcpy(static_cast<char*>(target.data) + begin,
                                    static_cast<const char*>(tensor->data) + begin,
                                    static_cast<size_t>(end - begin));
                      });
  }
};

constexpr sdk::KernelRow kIdentityRows[] = {
    {"Identity", 1, sdk::kLatest, sdk::kAllTypes, sdk::make<Identity>, {.repeats = 0}},
};

}  // namespace

sdk::KernelTable identity_kernels() { return sdk::table(kIdentityRows); }

}  // namespace gantry::cpu
