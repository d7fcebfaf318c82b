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

/// Maps in both directions, never destroyed, since the interpreter may end before static
/// destructors run. Types of ml_dtypes are added when first needed, as importing it takes some 10
/// ms.
class Tables {
 public:
  Tables() {
    const nb::object make_dtype = nb::module_::import_("numpy").attr("dtype");
    for (const DtypeRow& row : kRows) {
      if (!row.is_extended) add(row, make_dtype(nb::str(row.name)));
    }
  }

  /// Number of a numpy.dtype's element type; null if ONNX has none.
  PyObject* number_of(nb::handle numpy_dtype) { return find(from_numpy_, numpy_dtype); }
  /// The same without importing ml_dtypes; null also for text and for types that are not in the map
  /// yet.
  PyObject* known_number_of(nb::handle numpy_dtype) { return look_up(from_numpy_, numpy_dtype); }
  /// The numpy.dtype of an element type's number; null if there is none.
  PyObject* dtype_of(nb::handle number) { return find(to_numpy_, number); }

 private:
  void add(const DtypeRow& row, const nb::object& numpy_dtype) {
    const nb::int_ number(static_cast<uint32_t>(row.dtype));
    from_numpy_[numpy_dtype] = number;
    to_numpy_[number] = numpy_dtype;
  }

  void add_extended() {
    is_extended_ = true;
    nb::object module;
    try {
      module = nb::module_::import_("ml_dtypes");
    } catch (const nb::python_error&) {
      return;  // optional: numpy_dtype_of() reports that it is missing
    }
    const nb::object make_dtype = nb::module_::import_("numpy").attr("dtype");
    for (const DtypeRow& row : kRows) {
      if (row.is_extended && nb::hasattr(module, row.name))
        add(row, make_dtype(module.attr(row.name)));
    }
  }

  static PyObject* look_up(const nb::dict& table, nb::handle key) {
    PyObject* found = PyDict_GetItemWithError(table.ptr(), key.ptr());
    if (!found && PyErr_Occurred()) throw nb::python_error();
    return found;
  }

  PyObject* find(const nb::dict& table, nb::handle key) {
    PyObject* found = look_up(table, key);
    if (found || is_extended_) return found;
    add_extended();
    return look_up(table, key);
  }

  nb::dict from_numpy_;  // numpy.dtype -> number of the element type
  nb::dict to_numpy_;
  bool is_extended_ = false;
};

Tables& tables() {
  static auto* const kept = new Tables;
  return *kept;
}

bool is_text(nb::handle numpy_dtype) {
  const auto kind = nb::cast<std::string>(numpy_dtype.attr("kind"));
  return kind == "U" || kind == "S" || kind == "T";
}

}  // namespace

DType dtype_of_numpy(nb::handle numpy_dtype) {
  PyObject* number = tables().known_number_of(numpy_dtype);
  if (!number) {
    if (is_text(numpy_dtype)) return DType::kString;
    number = tables().number_of(numpy_dtype);
  }
  return number ? static_cast<DType>(nb::cast<uint32_t>(nb::handle(number))) : DType::kUndefined;
}

DType given_dtype(nb::handle dtype) {
  if (PyUnicode_Check(dtype.ptr())) {
    const auto name = nb::cast<std::string>(dtype);
    for (const DtypeRow& row : kRows) {
      if (name == to_string(row.dtype)) return row.dtype;
    }
  }
  DType found = DType::kUndefined;
  try {
    found = dtype_of_numpy(nb::module_::import_("numpy").attr("dtype")(dtype));
  } catch (const nb::python_error&) {  // reported below
  }
  if (found == DType::kUndefined) {
    throw Error(Code::kInvalidArgument,
                "dtype: expected an element type of ONNX, by numpy's or gantry's name "
                "(\"float32\", \"bfloat16\"), found " +
                    nb::cast<std::string>(nb::repr(dtype)));
  }
  return found;
}

nb::object numpy_dtype_of(DType dtype) {
  const nb::int_ number(static_cast<uint32_t>(dtype));
  if (PyObject* numpy_dtype = tables().dtype_of(number)) return nb::borrow(numpy_dtype);
  throw Error(Code::kUnavailable,
              "NumPy has no element type " + std::string(to_string(dtype)) +
                  "; the Python package ml_dtypes brings it and is not installed, or too old");
}

}  // namespace gantry::python
