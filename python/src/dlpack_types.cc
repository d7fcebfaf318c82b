// SPDX-License-Identifier: Apache-2.0
#include "dlpack_types.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

struct TypeRow {
  nb::dlpack::dtype_code code;
  uint8_t bits;
  DType dtype;
};

using Kind = nb::dlpack::dtype_code;

constexpr TypeRow kTypes[] = {
    {Kind::Float, 32, DType::kFloat},
    {Kind::Float, 64, DType::kDouble},
    {Kind::Float, 16, DType::kFloat16},
    {Kind::Int, 8, DType::kInt8},
    {Kind::Int, 16, DType::kInt16},
    {Kind::Int, 32, DType::kInt32},
    {Kind::Int, 64, DType::kInt64},
    {Kind::UInt, 8, DType::kUint8},
    {Kind::UInt, 16, DType::kUint16},
    {Kind::UInt, 32, DType::kUint32},
    {Kind::UInt, 64, DType::kUint64},
    {Kind::Bool, 8, DType::kBool},
    {Kind::Complex, 64, DType::kComplex64},
    {Kind::Complex, 128, DType::kComplex128},
    {Kind::Bfloat, 16, DType::kBfloat16},
    {Kind::Float8_E4M3FN, 8, DType::kFloat8E4M3Fn},
    {Kind::Float8_E4M3FNUZ, 8, DType::kFloat8E4M3Fnuz},
    {Kind::Float8_E5M2, 8, DType::kFloat8E5M2},
    {Kind::Float8_E5M2FNUZ, 8, DType::kFloat8E5M2Fnuz},
    {Kind::Float8_E8M0FNU, 8, DType::kFloat8E8M0},
};

}  // namespace

DType dtype_of(nb::dlpack::dtype type) {
  for (const TypeRow& row : kTypes) {
    if (static_cast<uint8_t>(row.code) == type.code && row.bits == type.bits && type.lanes == 1)
      return row.dtype;
  }
  return DType::kUndefined;
}

std::optional<nb::dlpack::dtype> dlpack_dtype(DType dtype) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == dtype) return nb::dlpack::dtype{static_cast<uint8_t>(row.code), row.bits, 1};
  }
  return std::nullopt;
}

}  // namespace gantry::python
