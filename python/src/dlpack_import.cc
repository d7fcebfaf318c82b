// SPDX-License-Identifier: Apache-2.0
#include "dlpack_import.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <utility>
#include <vector>

#include "dlpack_check.h"
#include "dlpack_types.h"
#include "errors.h"
#include "gil.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro>;
using Target = nb::ndarray<>;

/// Owns a DLPack array until the last value that views it is destroyed, on any thread.
template <class A>
class Hold {
 public:
  /// `source`: the object whose memory it is.
  Hold(A array, nb::handle source)
      : held_(std::make_unique<Held>(Held{std::move(array), nb::borrow(source)})) {}
  ~Hold() {
    if (!Py_IsInitialized()) {
      (void)held_.release();  // the interpreter has ended and cannot free it
      return;
    }
    const GilAcquire lock;
    held_.reset();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  struct Held {
    A array;
    nb::object source;
  };
  std::unique_ptr<Held> held_;
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

/// Copies the elements of the axes from `axis` on densely; returns the end of the copy.
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

/// The exception message of the object's __dlpack__.
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

/// Throws if the tensor of a capsule is invalid; nanobind does not validate it.
void check_capsule(nb::handle capsule, nb::handle object, const std::string& subject) {
  if (!PyCapsule_CheckExact(capsule.ptr())) return;
  std::string fault;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    fault = fault_of(
        *static_cast<const DlpackTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor")));
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    const auto& versioned = *static_cast<const DlpackVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    fault = versioned.major_version == 1
                ? fault_of(versioned.tensor)
                : "DLPack's version " + std::to_string(versioned.major_version) +
                      ", where version 1 is taken";
  }
  if (!fault.empty()) fail(subject, described(object) + " hands out a tensor with " + fault);
}

constexpr int kHostDevices[] = {nb::device::cpu::value, nb::device::cuda_host::value,
                                nb::device::rocm_host::value, nb::device::cuda_managed::value};

bool is_host(int32_t device_type) {
  return std::find(std::begin(kHostDevices), std::end(kHostDevices), device_type) !=
         std::end(kHostDevices);
}

/// The device of an object. std::nullopt if it has no __dlpack_device__; it then exports host
/// memory, or refuses later.
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

/// The object's memory. Work that the object has queued on it precedes later work of `stream`.
template <class A>
ForeignMemory hand_over(nb::handle object, const std::string& subject, uintptr_t stream) {
  A array;
  nb::object capsule;
  try {
    const nb::object give = object.attr("__dlpack__");
    try {
      capsule = give(nb::arg("stream") = stream, nb::arg("max_version") = nb::make_tuple(1, 0));
    } catch (const nb::python_error& error) {
      // An object from before versioned DLPack, without max_version.
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = give(nb::arg("stream") = stream);
    }
  } catch (const nb::python_error& error) {
    fail(subject, described(object) + " does not hand out its memory (" +
                      class_name(error.value()) + ": " +
                      nb::cast<std::string>(nb::str(error.value())) + ")");
  }
  check_capsule(capsule, object, subject);
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
  memory.owner = std::make_shared<Hold<A>>(std::move(array), object);
  return memory;
}

template <class A>
Tensor adopted(nb::handle object, const std::string& subject, const Session& session,
               DlpackDevice device, const void*& address) {
  const auto ask = [&](uintptr_t stream) {
    const GilAcquire lock;
    ForeignMemory memory = hand_over<A>(object, subject, stream);
    address = memory.data;
    return memory;
  };
  try {
    const GilRelease unlocked;
    return session.adopt(device, ask);
  } catch (const Error& error) {
    throw error.message().rfind(subject, 0) == 0 ? error : error.in(subject);
  }
}

/// Alignment that kernels in host memory require.
size_t host_alignment(DType dtype) { return std::min<size_t>(bits_of(dtype) / 8, alignof(double)); }

bool is_aligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % host_alignment(dtype) == 0;
}

template <class A>
Tensor view_of(A array, DType dtype, nb::handle source) {
  const uint64_t size_bytes = array.size() * (bits_of(dtype) / 8);
  void* shared = const_cast<void*>(static_cast<const void*>(array.data()));
  std::vector<int64_t> shape = shape_of(array);
  return Tensor::borrow(dtype, std::move(shape), shared, size_bytes,
                        std::make_shared<Hold<A>>(std::move(array), source));
}

/// The capsule of the object's __dlpack__; null if it has none or refuses. Called here and not by
/// nanobind, which does not mark capsules that it requests itself as used: an object that returns
/// one capsule twice would have its memory freed twice.
nb::object capsule_of(nb::handle object, bool is_writable) {
  if (!nb::hasattr(object, "__dlpack__")) return {};
  const nb::object give = object.attr("__dlpack__");
  for (const bool is_versioned :
       {is_writable, !is_writable}) {  // versioned capsules state whether memory is read-only
    try {
      return is_versioned ? give(nb::arg("max_version") = nb::make_tuple(1, 0)) : give();
    } catch (const nb::python_error& error) {
      if (!error.matches(PyExc_TypeError) && !error.matches(PyExc_BufferError)) return {};
    }
  }
  return {};
}

template <class A>
A host_array(nb::handle object, const std::string& subject) {
  A array;
  const nb::object capsule = capsule_of(object, std::is_same_v<A, Target>);
  const nb::handle given = capsule.is_valid() ? nb::handle(capsule) : object;
  check_capsule(given, object, subject);
  if (!nb::try_cast(given, array)) {
    fail(subject, described(object) + " does not hand out its memory (" + refusal_of(object) +
                      (std::is_same_v<A, Target> ? "), or only to be read" : ")"));
  }
  if (!is_host(array.device_type())) {
    fail(subject, described(object) + " is in the memory of a device (DLPack device type " +
                      std::to_string(array.device_type()) + "); copy it to the host first");
  }
  return array;
}

}  // namespace

Tensor tensor_from_dlpack(nb::handle object, const std::string& subject, const Session* session) {
  const std::optional<DlpackDevice> device = device_of(object, subject);
  const void* address = nullptr;
  if (session && device && !is_host(device->type))
    return adopted<Array>(object, subject, *session, *device, address);
  Array array = host_array<Array>(object, subject);
  const DType dtype = checked_dtype(array, object, subject);
  if (is_dense(array) && is_aligned(array.data(), dtype))
    return view_of(std::move(array), dtype, object);
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
  return view_of(std::move(array), dtype, object);
}

}  // namespace gantry::python
