// SPDX-License-Identifier: Apache-2.0
#include "dtypes.h"

#include <gantry/error.h>

#include <nanobind/stl/string.h>
#include <string>

namespace gantry::python {
namespace {

namespace nb = nanobind;

struct DtypeRow {
  DType dtype;
  bool is_extended;  // of ml_dtypes, not of NumPy
  const char* name;
};

constexpr DtypeRow kRows[] = {
    {DType::kFloat, false, "float32"},
    {DType::kDouble, false, "float64"},
    {DType::kFloat16, false, "float16"},
    {DType::kInt8, false, "int8"},
    {DType::kInt16, false, "int16"},
    {DType::kInt32, false, "int32"},
    {DType::kInt64, false, "int64"},
    {DType::kUint8, false, "uint8"},
    {DType::kUint16, false, "uint16"},
    {DType::kUint32, false, "uint32"},
    {DType::kUint64, false, "uint64"},
    {DType::kBool, false, "bool"},
    {DType::kComplex64, false, "complex64"},
    {DType::kComplex128, false, "complex128"},
    {DType::kString, false, "object"},
    {DType::kBfloat16, true, "bfloat16"},
    {DType::kFloat8E4M3Fn, true, "float8_e4m3fn"},
    {DType::kFloat8E4M3Fnuz, true, "float8_e4m3fnuz"},
    {DType::kFloat8E5M2, true, "float8_e5m2"},
    {DType::kFloat8E5M2Fnuz, true, "float8_e5m2fnuz"},
    {DType::kFloat8E8M0, true, "float8_e8m0fnu"},
    {DType::kFloat4E2M1, true, "float4_e2m1fn"},
    {DType::kFloat6E2M3, true, "float6_e2m3fn"},
    {DType::kFloat6E3M2, true, "float6_e3m2fn"},
    {DType::kInt4, true, "int4"},
    {DType::kUint4, true, "uint4"},
    {DType::kInt2, true, "int2"},
    {DType::kUint2, true, "uint2"},
};

/// Both directions, filled once and kept: the interpreter may be gone before the process's last
/// destructors run.
struct Tables {
  nb::dict from_numpy;  // numpy.dtype -> number of the element type
  nb::dict to_numpy;

  Tables() {
    const nb::module_ numpy = nb::module_::import_("numpy");
    nb::object extended;
    try {
      extended = nb::module_::import_("ml_dtypes");
    } catch (const nb::python_error&) {
      // Optional: numpy_dtype_of says what is missing once it is.
    }
    const nb::object make_dtype = numpy.attr("dtype");
    for (const DtypeRow& row : kRows) {
      nb::object name = nb::str(row.name);
      if (row.is_extended) {
        if (!extended.is_valid() || !nb::hasattr(extended, row.name)) continue;
        name = extended.attr(row.name);
      }
      const nb::object numpy_dtype = make_dtype(name);
      const nb::int_ number(static_cast<uint32_t>(row.dtype));
      from_numpy[numpy_dtype] = number;
      to_numpy[number] = numpy_dtype;
    }
  }
};

const Tables& tables() {
  static const Tables* kept = new Tables;
  return *kept;
}

}  // namespace

DType dtype_of_numpy(nb::handle numpy_dtype) {
  PyObject* number = PyDict_GetItemWithError(tables().from_numpy.ptr(), numpy_dtype.ptr());
  if (number) return static_cast<DType>(nb::cast<uint32_t>(nb::handle(number)));
  if (PyErr_Occurred()) throw nb::python_error();
  const auto kind = nb::cast<std::string>(numpy_dtype.attr("kind"));
  return kind == "U" || kind == "S" || kind == "T" ? DType::kString : DType::kUndefined;
}

nb::object numpy_dtype_of(DType dtype) {
  const nb::int_ number(static_cast<uint32_t>(dtype));
  PyObject* numpy_dtype = PyDict_GetItemWithError(tables().to_numpy.ptr(), number.ptr());
  if (numpy_dtype) return nb::borrow(numpy_dtype);
  if (PyErr_Occurred()) throw nb::python_error();
  throw Error(Code::kUnavailable,
              "NumPy has no element type " + std::string(to_string(dtype)) +
                  "; the Python package ml_dtypes brings it and is not installed, or too old");
}

}  // namespace gantry::python
