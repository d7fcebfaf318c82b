// SPDX-License-Identifier: Apache-2.0
#include "tolerance.h"

namespace gantry::checks {
namespace {

struct ToleranceRow {
  DType dtype;
  double relative;
  double absolute;
};

// For floating point some ulp, plus the error of sums of a few thousand terms.
constexpr ToleranceRow kTolerances[] = {
    {DType::kFloat, 1e-3, 1e-5},          {DType::kDouble, 1e-6, 1e-9},
    {DType::kFloat16, 4e-3, 2e-3},        {DType::kBfloat16, 3e-2, 1e-2},
    {DType::kFloat8E4M3Fn, 0.125, 0.002}, {DType::kFloat8E4M3Fnuz, 0.125, 0.002},
    {DType::kFloat8E5M2, 0.25, 0.0001},   {DType::kFloat8E5M2Fnuz, 0.25, 0.0001},
    {DType::kComplex64, 1e-3, 1e-5},      {DType::kComplex128, 1e-6, 1e-9},
};

// A value halfway between two quantization steps may round either way.
constexpr double kStep = 1;

}  // namespace

Tolerance tolerance_of(const Value& expected, bool is_quantized) {
  if (expected.kind() != Kind::kTensor) {
    return expected.size() == 0 ? Tolerance{"a value", 0, 0}
                                : tolerance_of(expected.at(expected.size() - 1), is_quantized);
  }
  const DType dtype = expected.tensor().dtype();
  const std::string type(to_string(dtype));
  for (const ToleranceRow& row : kTolerances)
    if (row.dtype == dtype) return {type, row.relative, row.absolute};
  const bool is_small_integer = dtype == DType::kInt8 || dtype == DType::kUint8;
  return {type, 0, is_quantized && is_small_integer ? kStep : 0};
}

}  // namespace gantry::checks
