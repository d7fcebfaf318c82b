// SPDX-License-Identifier: Apache-2.0
// Bitwise and logical operators.
#include "attributes.h"
#include "elementwise/elementwise.h"
#include "families.h"

namespace gantry::cpu {
namespace {

using BitwiseAnd = std::bit_and<>;
using BitwiseOr = std::bit_or<>;
using BitwiseXor = std::bit_xor<>;
using BitwiseNot = std::bit_not<>;

/// BitShift. Shifting by a negative amount or by the width or more leaves 0, or copies of the sign
/// bit in a right shift.
struct BitShift {
  explicit BitShift(const sdk::NodeView& node)
      : is_left(read_choice(node, "direction", "", {"LEFT", "RIGHT"}) == 0) {}

  template <class T>
  T operator()(T x, T amount) const {
    constexpr auto kBits = static_cast<uint64_t>(8 * sizeof(T));
    const bool is_far =
        static_cast<uint64_t>(amount) >= kBits;  // a negative amount is a large one here
    if (is_left) return is_far ? T{0} : static_cast<T>(static_cast<uint64_t>(x) << amount);
    if (is_far) return x < 0 ? static_cast<T>(-1) : T{0};
    return static_cast<T>(x >> amount);
  }
  bool is_left;
};

// Bitwise functors have no branches, unlike && and ||, so loops vectorize.
using And = std::bit_and<>;
using Or = std::bit_or<>;
using Xor = std::not_equal_to<>;
using Not = std::logical_not<>;

using Truth = TypeList<Boolean>;
template <class Op>
constexpr sdk::Factory kOfIntegers = sdk::make<Binary<Op, IntegerTypes>>;
template <class Op>
constexpr sdk::Factory kOfTruth = sdk::make<Binary<Op, Truth>>;
template <class Op>
constexpr sdk::Factory kOfTruthWithAxis = make_with_axis<Binary<Op, Truth>>;

constexpr sdk::KernelRow kBitwiseRows[] = {
    {"BitwiseAnd", 18, sdk::kLatest, sdk::kIntegers, kOfIntegers<BitwiseAnd>, kOverEither},
    {"BitwiseOr", 18, sdk::kLatest, sdk::kIntegers, kOfIntegers<BitwiseOr>, kOverEither},
    {"BitwiseXor", 18, sdk::kLatest, sdk::kIntegers, kOfIntegers<BitwiseXor>, kOverEither},
    {"BitwiseNot", 18, sdk::kLatest, sdk::kIntegers, sdk::make<Unary<BitwiseNot, IntegerTypes>>,
     kOverFirst},
    {"BitShift", 11, sdk::kLatest, sdk::kIntegers, kOfIntegers<BitShift>, kOverEither},
    {"And", 1, 6, sdk::kBool, kOfTruthWithAxis<And>, kOverEither},
    {"And", 7, sdk::kLatest, sdk::kBool, kOfTruth<And>, kOverEither},
    {"Or", 1, 6, sdk::kBool, kOfTruthWithAxis<Or>, kOverEither},
    {"Or", 7, sdk::kLatest, sdk::kBool, kOfTruth<Or>, kOverEither},
    {"Xor", 1, 6, sdk::kBool, kOfTruthWithAxis<Xor>, kOverEither},
    {"Xor", 7, sdk::kLatest, sdk::kBool, kOfTruth<Xor>, kOverEither},
    {"Not", 1, sdk::kLatest, sdk::kBool, sdk::make<Unary<Not, Truth>>, kOverFirst},
};

}  // namespace

sdk::KernelTable bitwise_kernels() { return sdk::table(kBitwiseRows); }

}  // namespace gantry::cpu
