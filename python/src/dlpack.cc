// SPDX-License-Identifier: Apache-2.0
#include "dlpack.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.h"
#include "errors.h"
#include "interpreter_lock.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro>;
using Target = nb::ndarray<>;

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
template <class A>
class Hold {
 public:
  explicit Hold(A array) : array_(std::make_unique<A>(std::move(array))) {}
  ~Hold() {
    if (!Py_IsInitialized()) {
      (void)array_.release();  // the interpreter that would free it is gone
      return;
    }
    const Locked lock;
    array_.reset();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  std::unique_ptr<A> array_;
};

template <class A>
bool is_dense(const A& array) {
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

[[noreturn]] void fail(const std::string& subject, const std::string& what) {
  throw Error(Code::kInvalidArgument, subject + ": " + what);
}

constexpr int kHostDevices[] = {nb::device::cpu::value, nb::device::cuda_host::value,
                                nb::device::rocm_host::value, nb::device::cuda_managed::value};

bool is_host(int32_t device_type) {
  return std::find(std::begin(kHostDevices), std::end(kHostDevices), device_type) !=
         std::end(kHostDevices);
}

/// Nothing: the object does not say; it hands out host memory, or tells when it is asked for it.
std::optional<DlpackDevice> device_of(nb::handle object, const std::string& subject) {
  if (!nb::hasattr(object, "__dlpack_device__")) return {};
  try {
    const auto [type, id] =
        nb::cast<std::pair<int32_t, int32_t>>(object.attr("__dlpack_device__")());
    return DlpackDevice{type, id};
  } catch (const nb::python_error& error) {
    fail(subject, described(object) + " does not say where its memory is (" +
                      class_name(error.value()) + ": " +
                      nb::cast<std::string>(nb::str(error.value())) + ")");
  } catch (const nb::cast_error&) {
    fail(subject, described(object) + " does not say where its memory is: its __dlpack_device__ " +
                      "answers no pair of numbers");
  }
}

template <class A>
DType checked_dtype(const A& array, nb::handle object, const std::string& subject) {
  const DType dtype = dtype_of(array.dtype());
  if (dtype == DType::kUndefined) {
    fail(subject, "ONNX has no element type for " + described(object) + " of DLPack type code " +
                      std::to_string(array.dtype().code) + " with " +
                      std::to_string(array.dtype().bits) + " bits");
  }
  return dtype;
}

template <class A>
std::vector<int64_t> shape_of(const A& array) {
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < array.ndim(); ++axis)
    shape.push_back(static_cast<int64_t>(array.shape(axis)));
  return shape;
}

/// The object's memory, with its work on it before that of `stream`.
template <class A>
ForeignMemory hand_over(nb::handle object, const std::string& subject, uintptr_t stream) {
  A array;
  nb::object capsule;
  try {
    const nb::object give = object.attr("__dlpack__");
    try {
      capsule = give(nb::arg("stream") = stream, nb::arg("max_version") = nb::make_tuple(1, 0));
    } catch (const nb::python_error& error) {
      // From before there were versions.
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = give(nb::arg("stream") = stream);
    }
  } catch (const nb::python_error& error) {
    fail(subject, described(object) + " does not hand out its memory (" +
                      class_name(error.value()) + ": " +
                      nb::cast<std::string>(nb::str(error.value())) + ")");
  }
  if (!nb::try_cast(capsule, array)) {
    fail(subject, described(object) + " does not hand out its memory (its __dlpack__ gives a " +
                      class_name(capsule) + " that is no tensor" +
                      (std::is_same_v<A, Target> ? ", or a read-only one)" : ")"));
  }
  if (!is_dense(array)) {
    fail(subject, described(object) +
                      " has gaps between its elements, or another order of axes, which is not "
                      "read on a device; make it contiguous first");
  }
  ForeignMemory memory{checked_dtype(array, object, subject), shape_of(array),
                       const_cast<void*>(static_cast<const void*>(array.data())), nullptr};
  memory.owner = std::make_shared<Hold<A>>(std::move(array));
  return memory;
}

template <class A>
Tensor adopted(nb::handle object, const std::string& subject, const Session& session,
               DlpackDevice device, const void*& address) {
  const auto ask = [&](uintptr_t stream) {
    const Locked lock;
    ForeignMemory memory = hand_over<A>(object, subject, stream);
    address = memory.data;
    return memory;
  };
  try {
    const Unlocked unlocked;
    return session.adopt(device, ask);
  } catch (const Error& error) {
    throw error.message().rfind(subject, 0) == 0 ? error : error.in(subject);
  }
}

/// Multiples of it are addresses that the host's kernels take.
size_t host_alignment(DType dtype) { return std::min<size_t>(bits_of(dtype) / 8, alignof(double)); }

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % host_alignment(dtype) == 0;
}

template <class A>
Tensor view_of(A array, DType dtype) {
  const uint64_t size_bytes = array.size() * (bits_of(dtype) / 8);
  void* shared = const_cast<void*>(static_cast<const void*>(array.data()));
  std::vector<int64_t> shape = shape_of(array);
  return Tensor::borrow(dtype, std::move(shape), shared, size_bytes,
                        std::make_shared<Hold<A>>(std::move(array)));
}

template <class A>
A host_array(nb::handle object, const std::string& subject) {
  A array;
  if (!nb::try_cast(object, array)) {
    fail(subject, described(object) + " does not hand out its memory (" + refusal_of(object) +
                      (std::is_same_v<A, Target> ? "), or only to be read" : ")"));
  }
  if (!is_host(array.device_type())) {
    fail(subject, described(object) + " is in the memory of a device (DLPack device type " +
                      std::to_string(array.device_type()) + "); copy it to the host first");
  }
  return array;
}

nb::dlpack::dtype dlpack_dtype(const Tensor& tensor) {
  for (const TypeRow& row : kTypes) {
    if (row.dtype == tensor.dtype()) return {static_cast<uint8_t>(row.code), row.bits, 1};
  }
  throw nb::buffer_error(("DLPack has no type for packed elements of " +
                          std::string(to_string(tensor.dtype())) + "; numpy() unpacks them")
                             .c_str());
}

std::optional<DlpackDevice> wanted_device(nb::handle dl_device) {
  if (dl_device.is_none()) return {};
  std::pair<int32_t, int32_t> pair;
  if (!nb::try_cast(dl_device, pair))
    throw nb::type_error("dl_device: expected None or a pair of numbers");
  return DlpackDevice{pair.first, pair.second};
}

constexpr int32_t kCuda = 2;  // kDLCUDA

// What CUDA's streams are called; none of them has to wait, as our work has ended.
void check_stream(DlpackDevice device, nb::handle stream) {
  if (stream.is_none()) return;
  int64_t number = 0;
  if (!nb::try_cast(stream, number)) throw nb::type_error("stream: expected None or a number");
  if (device.type == kCuda && (number == 0 || number < -1)) {
    throw nb::value_error(
        "stream: expected -1, 1 (the legacy default stream), 2 (the default stream of each "
        "thread) or the handle of one, found what stands for none of them");
  }
}

}  // namespace

Tensor tensor_from_dlpack(nb::handle object, const std::string& subject, const Session* session) {
  const std::optional<DlpackDevice> device = device_of(object, subject);
  const void* address = nullptr;
  if (session && device && !is_host(device->type))
    return adopted<Array>(object, subject, *session, *device, address);
  Array array = host_array<Array>(object, subject);
  const DType dtype = checked_dtype(array, object, subject);
  if (is_dense(array) && is_aligned(array.data(), dtype)) return view_of(std::move(array), dtype);
  Tensor copy(dtype, shape_of(array));
  if (array.size() > 0) {
    copy_axes(array, 0, static_cast<const std::byte*>(array.data()),
              static_cast<std::byte*>(copy.data()), bits_of(dtype) / 8);
  }
  return copy;
}

Tensor target_from_dlpack(nb::handle object, const std::string& subject, const Session& session) {
  const std::optional<DlpackDevice> device = device_of(object, subject);
  if (device && !is_host(device->type)) {
    const void* address = nullptr;
    Tensor tensor = adopted<Target>(object, subject, session, *device, address);
    if (tensor.data() != address && tensor.element_count() > 0) {
      fail(subject, described(object) + " begins at an address that kernels of " +
                        tensor.device().to_string() + " do not write to; give one of its own");
    }
    return tensor;
  }
  Target array = host_array<Target>(object, subject);
  const DType dtype = checked_dtype(array, object, subject);
  if (!is_dense(array) || !is_aligned(array.data(), dtype)) {
    fail(subject, "expected contiguous, aligned memory to write to, found " + described(object) +
                      " of another layout");
  }
  return view_of(std::move(array), dtype);
}

DlpackDevice dlpack_device(const Tensor& tensor) {
  try {
    return tensor.lend();
  } catch (const Error& error) {
    throw nb::buffer_error(error.what());
  }
}

nb::object dlpack_capsule(const Tensor& tensor, nb::handle stream, nb::handle max_version,
                          nb::handle dl_device, nb::handle copy) {
  const std::optional<DlpackDevice> wanted = wanted_device(dl_device);
  const bool wants_copy = !copy.is_none() && nb::cast<bool>(copy);
  if (wanted && *wanted == DlpackDevice{}) {
    if (!copy.is_none() && !wants_copy)
      throw nb::buffer_error("copy=False: a tensor of a device is copied to get to the host");
    const nb::object array = array_of(tensor);
    return array.attr("__dlpack__")(nb::arg("max_version") = max_version);
  }
  const DlpackDevice device = dlpack_device(tensor);
  if (wanted && *wanted != device)
    throw nb::buffer_error("dl_device: expected the tensor's own device or the host");
  if (wants_copy) throw nb::buffer_error("copy=True: a copy on the device is not made");
  check_stream(device, stream);
  const nb::dlpack::dtype dtype = dlpack_dtype(tensor);
  auto kept = std::make_unique<Tensor>(tensor);
  void* data = kept->data();
  const nb::capsule owner(kept.get(), [](void* held) noexcept {
    const Unlocked unlocked;  // what was lent waits for the device
    delete static_cast<Tensor*>(held);
  });
  kept.release();
  const std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  nb::ndarray<nb::array_api> view(data, shape.size(), shape.data(), owner, nullptr, dtype,
                                  device.type, device.id);
  return view.cast().attr("__dlpack__")(nb::arg("max_version") = max_version);
}

}  // namespace gantry::python
