// SPDX-License-Identifier: Apache-2.0
// Element-wise nodes from int8 to int8 (int8_lookup_match.h) as a lookup table, which is computed
// when the model is loaded.
#include "eltwise/int8_lookup_match.h"
#include "eltwise/int8_tensor.h"

namespace gantry::x86 {
namespace {

struct Int8LookupFusion : Fusion {
  Int8Lookup lookup;
};

constexpr int64_t kLookupGrain = 1 << 14;  // elements that justify a thread

class Int8LookupKernel final : public sdk::Kernel {
 public:
  Int8LookupKernel(const KernelArgs& args, const Int8Lookup& function)
      : source_(args, function.source),
        target_is_formatted_(args.is_output_formatted(0)),
        target_dtype_(static_cast<gantry_dtype>(args.index.value(function.target).dtype())),
        table_(table_of(args.index, function)) {}

  void run(sdk::Call& call) const override {
    const sdk::Shape shape = call.shape(source_.slot);
    gantry_tensor& target = call.output(0, target_dtype_, shape);
    const int64_t count = shape.element_count();
    if (count == 0) return;
    // Such functions often precede nodes that know only the dense order.
    const uint8_t* from = source_.in_order(call, target_is_formatted_);
    auto* const to = static_cast<uint8_t*>(target.data);
    call.parallel_for(count, kLookupGrain, [&](int64_t begin, int64_t end) {
      map_bytes(table_, from + begin, to + begin, end - begin);
    });
  }

 private:
  Int8Source source_;
  bool target_is_formatted_;
  gantry_dtype target_dtype_;
  LookupTable table_;
};

}  // namespace

std::unique_ptr<Fusion> match_int8_lookup(const MatchScope& scope, uint32_t root) {
  auto lookup = int8_lookup_at(scope.index(), root, scope.predicate());
  if (!lookup) return nullptr;
  auto fusion = std::make_unique<Int8LookupFusion>();
  static_cast<Fusion&>(*fusion) = single_node_fusion(scope.index(), lookup->nodes.front());
  fusion->nodes = lookup->nodes;
  fusion->target.value = lookup->target;
  fusion->lookup = std::move(*lookup);
  return fusion;
}

std::span<const Implementation> int8_lookup_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {
      {"lookup table", [](const KernelArgs& args) {
         return made<Int8LookupKernel>(args,
                                       static_cast<const Int8LookupFusion&>(args.fusion).lookup);
       }}};
  return kAll;
}

}  // namespace gantry::x86
