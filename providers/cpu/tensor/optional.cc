// SPDX-License-Identifier: Apache-2.0
// Optional values: Optional, OptionalGetElement, OptionalHasElement. From opset 18 on a tensor or
// sequence is accepted as an optional that has a value.
#include <gantry/sdk/rows.h>

#include <cstdint>

#include "families.h"
#include "float6.h"
#include "node_kernel.h"
#include "values.h"

namespace gantry::cpu {

namespace {

bool is_optional(sdk::Call& call) {
  return call.host()->value_kind(call.value(0)) == GANTRY_KIND_OPTIONAL;
}

class Optional final : public NodeKernel {
 public:
  explicit Optional(const sdk::NodeView& node)
      : NodeKernel(node),
        dtype_(node.input(0).dtype() != GANTRY_UNDEFINED ? node.input(0).dtype()
                                                         : node.output(0).dtype()) {}
  void run(sdk::Call& call) const override {
    const gantry_host* host = call.host();
    const OwnedValue optional = create_value(host, GANTRY_KIND_OPTIONAL, dtype_);
    if (call.has_input(0)) sdk::check(host, host->value_append(optional.get(), call.value(0)));
    call.output_value(0, optional.get());
  }

 private:
  uint32_t dtype_;
};

class OptionalGetElement final : public NodeKernel {
 public:
  explicit OptionalGetElement(const sdk::NodeView& node) : NodeKernel(node) {}
  void run(sdk::Call& call) const override {
    if (!is_optional(call)) return call.output_value(0, call.value(0));
    if (call.host()->value_length(call.value(0)) == 0) fail("the optional is empty");
    call.output_value(0, call.host()->value_at(call.value(0), 0));
  }
};

class OptionalHasElement final : public NodeKernel {
 public:
  explicit OptionalHasElement(const sdk::NodeView& node) : NodeKernel(node) {}
  void run(sdk::Call& call) const override {
    const bool has =
        call.has_input(0) && (!is_optional(call) || call.host()->value_length(call.value(0)) != 0);
    *static_cast<bool*>(call.output(0, GANTRY_BOOL, {}).data) = has;
  }
};

constexpr sdk::KernelRow kOptionalRows[] = {
    {"Optional", 15, sdk::kLatest, sdk::kAllTypes | kFloat6s, sdk::make<Optional>},
    {"OptionalGetElement", 15, sdk::kLatest, sdk::kAllTypes | kFloat6s,
     sdk::make<OptionalGetElement>},
    {"OptionalHasElement", 15, sdk::kLatest, sdk::kAllTypes | kFloat6s,
     sdk::make<OptionalHasElement>},
};

}  // namespace

sdk::KernelTable optional_kernels() { return sdk::table(kOptionalRows); }

}  // namespace gantry::cpu
