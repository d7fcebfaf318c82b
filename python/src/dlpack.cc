// SPDX-License-Identifier: Apache-2.0
#include "dlpack.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <utility>
#include <vector>

#include "errors.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro>;

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

/// kUndefined: ONNX has no such type.
DType dtype_of(nb::dlpack::dtype type) {
  for (const TypeRow& row : kTypes) {
    if (static_cast<uint8_t>(row.code) == type.code && row.bits == type.bits && type.lanes == 1)
      return row.dtype;
  }
  return DType::kUndefined;
}

/// Kept until the last value that views it is gone, on whatever thread that is.
class Hold {
 public:
  explicit Hold(Array array) : array_(std::make_unique<Array>(std::move(array))) {}
  ~Hold() {
    if (!Py_IsInitialized()) {
      (void)array_.release();  // the interpreter that would free it is gone
      return;
    }
    const nb::gil_scoped_acquire lock;
    array_.reset();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  std::unique_ptr<Array> array_;
};

bool is_dense(const Array& array) {
  int64_t stride = 1;
  for (size_t axis = array.ndim(); axis-- > 0;) {
    if (array.shape(axis) != 1 && array.stride(axis) != stride) return false;
    stride *= static_cast<int64_t>(array.shape(axis));
  }
  return true;
}

/// Copies the elements of axes from `axis` on, in their order; returns where the next belong.
std::byte* copy_axes(const Array& array, size_t axis, const std::byte* from, std::byte* to,
                     size_t element_bytes) {
  if (axis == array.ndim()) {
    std::memcpy(to, from, element_bytes);
    return to + element_bytes;
  }
  const int64_t step = array.stride(axis) * static_cast<int64_t>(element_bytes);
  for (size_t i = 0; i < array.shape(axis); ++i)
    to = copy_axes(array, axis + 1, from + static_cast<int64_t>(i) * step, to, element_bytes);
  return to;
}

/// What the object says when asked for its memory.
std::string refusal_of(nb::handle object) {
  try {
    const nb::object capsule = object.attr("__dlpack__")();
    return "its __dlpack__ gives a " + class_name(capsule) + ", no tensor";
  } catch (const nb::python_error& error) {
    return class_name(error.value()) + ": " + nb::cast<std::string>(nb::str(error.value()));
  }
}

constexpr int kHostDevices[] = {nb::device::cpu::value, nb::device::cuda_host::value,
                                nb::device::rocm_host::value, nb::device::cuda_managed::value};

}  // namespace

Tensor tensor_from_dlpack(nb::handle object, const std::string& subject) {
  const auto fail = [&](const std::string& what) {
    throw Error(Code::kInvalidArgument, subject + ": " + what);
  };
  Array array;
  if (!nb::try_cast(object, array))
    fail(described(object) + " does not hand out its memory (" + refusal_of(object) + ")");
  if (std::find(std::begin(kHostDevices), std::end(kHostDevices), array.device_type()) ==
      std::end(kHostDevices)) {
    fail(described(object) + " is in the memory of a device (DLPack device type " +
         std::to_string(array.device_type()) + "); copy it to the host first");
  }
  const DType dtype = dtype_of(array.dtype());
  if (dtype == DType::kUndefined) {
    fail("ONNX has no element type for " + described(object) + " of DLPack type code " +
         std::to_string(array.dtype().code) + " with " + std::to_string(array.dtype().bits) +
         " bits");
  }
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < array.ndim(); ++axis)
    shape.push_back(static_cast<int64_t>(array.shape(axis)));
  const size_t element_bytes = bits_of(dtype) / 8;
  const auto* data = static_cast<const std::byte*>(array.data());
  const bool is_aligned =
      reinterpret_cast<uintptr_t>(data) % std::min<size_t>(element_bytes, alignof(double)) == 0;
  if (is_dense(array) && is_aligned) {
    const uint64_t size = array.size() * element_bytes;
    void* shared = const_cast<void*>(static_cast<const void*>(data));  // inputs are only read
    return Tensor::borrow(dtype, std::move(shape), shared, size,
                          std::make_shared<Hold>(std::move(array)));
  }
  Tensor copy(dtype, std::move(shape));
  if (array.size() > 0)
    copy_axes(array, 0, data, static_cast<std::byte*>(copy.data()), element_bytes);
  return copy;
}

}  // namespace gantry::python
