// SPDX-License-Identifier: Apache-2.0
// Maps an element type known at run time to a C++ type: dispatch<FloatTypes>(dtype, [&](auto type)
// { using T = typename decltype(type)::type; ... }). A type outside the list is an UNSUPPORTED
// error that names it. Stateless, any thread.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/rows.h>

#include <complex>
#include <cstdint>
#include <string>

#include "types.h"

namespace gantry::cpu {

template <class T>
struct Type {
  using type = T;
};
template <class... Ts>
struct TypeList {};

template <class... Lists>
struct ConcatOf;
template <class... A>
struct ConcatOf<TypeList<A...>> {
  using type = TypeList<A...>;
};
template <class... A, class... B, class... Rest>
struct ConcatOf<TypeList<A...>, TypeList<B...>, Rest...> : ConcatOf<TypeList<A..., B...>, Rest...> {
};
template <class... Lists>
using Concat = typename ConcatOf<Lists...>::type;

using FloatTypes = TypeList<float, double, Float16, BFloat16>;
using SignedTypes = TypeList<int64_t, int32_t, int16_t, int8_t>;
using UnsignedTypes = TypeList<uint8_t, uint16_t, uint32_t, uint64_t>;
using IntegerTypes = Concat<SignedTypes, UnsignedTypes>;
using NumberTypes = Concat<FloatTypes, IntegerTypes>;
using Float8Types = TypeList<Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0>;
using ComplexTypes = TypeList<std::complex<float>, std::complex<double>>;
using BoolTypes = TypeList<bool>;
using PackedTypes = TypeList<UInt4, Int4, Float4E2M1, UInt2, Int2>;
/// Every type whose elements have a whole number of bytes.
using FixedSizeTypes = Concat<NumberTypes, BoolTypes, Float8Types, ComplexTypes>;

/// The types of a TypeList as a DTypeSet, for kernel rows.
template <class... Ts>
constexpr sdk::DTypeSet dtype_set(TypeList<Ts...>) {
  return sdk::dtypes(kDType<Ts>...);
}

[[noreturn]] inline void fail_dtype(uint32_t dtype) {
  throw sdk::Error(GANTRY_UNSUPPORTED,
                   "element type " + std::to_string(dtype) +
                       " (ONNX TensorProto number) is not supported by this kernel");
}

template <class F, class... Ts>
void dispatch_in(TypeList<Ts...>, uint32_t dtype, F&& f) {
  const bool found = ((dtype == kDType<Ts> && (f(Type<Ts>{}), true)) || ...);
  if (!found) fail_dtype(dtype);
}
/// Calls f(Type<T>{}) for the T in `List` whose dtype is `dtype`. Throws UNSUPPORTED if there is
/// none.
template <class List, class F>
void dispatch(uint32_t dtype, F&& f) {
  dispatch_in(List{}, dtype, static_cast<F&&>(f));
}

}  // namespace gantry::cpu
