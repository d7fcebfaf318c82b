// SPDX-License-Identifier: Apache-2.0
// Comparison operators of two inputs, also of strings.
#include <functional>
#include <string_view>

#include "elementwise/elementwise.h"
#include "families.h"
#include "values.h"

namespace gantry::cpu {
namespace {

using Equal = std::equal_to<>;
using Less = std::less<>;
using LessOrEqual = std::less_equal<>;
using Greater = std::greater<>;
using GreaterOrEqual = std::greater_equal<>;

class EqualStrings final : public NodeKernel {
 public:
  explicit EqualStrings(const sdk::NodeView& node) : NodeKernel(node) {}

  void run(sdk::Call& call) const override {
    const Broadcast<2> plan({call.shape(0), call.shape(1)}, label());
    auto* target = static_cast<bool*>(call.output(0, GANTRY_BOOL, plan.shape()).data);
    plan.for_each_run(0, plan.count(), [&](const auto& run) {
      for (int64_t i = 0; i < run.count; ++i) {
        target[run.output + i] = text(call, 0, run.inputs[0] + i * plan.inner_stride(0)) ==
                                 text(call, 1, run.inputs[1] + i * plan.inner_stride(1));
      }
    });
  }

 private:
  static std::string_view text(sdk::Call& call, int slot, int64_t index) {
    return sdk::to_view(string_at(call.host(), call.value(slot), index));
  }
};

using EqualTypes = Concat<NumberTypes, TypeList<Boolean>>;
constexpr sdk::DTypeSet kEqualTypes = dtype_set(EqualTypes{});
template <class Op>
constexpr sdk::Factory kComparisonOfNumbers = sdk::make<Binary<Op, NumberTypes, bool>>;
template <class Op>
constexpr sdk::Factory kComparisonWithAxis = make_with_axis<Binary<Op, NumberTypes, bool>>;

constexpr sdk::KernelRow kCompareRows[] = {
    {"Equal", 1, 6, kEqualTypes, make_with_axis<Binary<Equal, EqualTypes, bool>>, kOverEither},
    {"Equal", 7, sdk::kLatest, kEqualTypes, sdk::make<Binary<Equal, EqualTypes, bool>>,
     kOverEither},
    {"Equal", 19, sdk::kLatest, sdk::kString, sdk::make<EqualStrings>},
    {"Less", 1, 6, sdk::kFloats, kComparisonWithAxis<Less>, kOverEither},
    {"Less", 7, sdk::kLatest, sdk::kNumbers, kComparisonOfNumbers<Less>, kOverEither},
    {"LessOrEqual", 12, sdk::kLatest, sdk::kNumbers, kComparisonOfNumbers<LessOrEqual>,
     kOverEither},
    {"Greater", 1, 6, sdk::kFloats, kComparisonWithAxis<Greater>, kOverEither},
    {"Greater", 7, sdk::kLatest, sdk::kNumbers, kComparisonOfNumbers<Greater>, kOverEither},
    {"GreaterOrEqual", 12, sdk::kLatest, sdk::kNumbers, kComparisonOfNumbers<GreaterOrEqual>,
     kOverEither},
};

}  // namespace

sdk::KernelTable compare_kernels() { return sdk::table(kCompareRows); }

}  // namespace gantry::cpu
