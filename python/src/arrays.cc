// SPDX-License-Identifier: Apache-2.0
#include "arrays.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "buffer_protocol.h"
#include "dlpack_import.h"
#include "dtypes.h"
#include "errors.h"
#include "gil.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

/// numpy and its array type, looked up once.
struct Numpy {
  nb::object module = nb::module_::import_("numpy");
  nb::object array_type = module.attr("ndarray");
};

const Numpy& numpy() {
  static const Numpy* kept = new Numpy;
  return *kept;
}

bool is_array(nb::handle object) {
  return PyObject_TypeCheck(object.ptr(),
                            reinterpret_cast<PyTypeObject*>(numpy().array_type.ptr())) != 0;
}

[[noreturn]] void fail(const ValueInfo& info, const std::string& what) {
  throw Error(Code::kInvalidArgument, "input \"" + info.name + "\": " + what);
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Owns an array's buffer until the last value that views it is destroyed, on any thread.
class BufferHold {
 public:
  explicit BufferHold(const Py_buffer& buffer) : buffer_(buffer) {}
  ~BufferHold() {
    if (!Py_IsInitialized()) return;
    const GilAcquire lock;
    PyBuffer_Release(&buffer_);
  }
  BufferHold(const BufferHold&) = delete;
  BufferHold& operator=(const BufferHold&) = delete;

 private:
  Py_buffer buffer_;
};

std::vector<int64_t> shape_of(nb::handle array) {
  const nb::object extents = array.attr("shape");
  std::vector<int64_t> shape;
  for (const nb::handle extent : extents) shape.push_back(nb::cast<int64_t>(extent));
  return shape;
}

bool is_aligned(const Py_buffer& buffer, uint32_t element_bits) {
  const size_t alignment = std::min<size_t>(element_bits / 8, alignof(double));
  return reinterpret_cast<uintptr_t>(buffer.buf) % alignment == 0;
}

/// Views an array of a whole-byte type. Requests no format, since the buffer protocol has none for
/// ml_dtypes' types.
Tensor view_array(nb::object array, DType dtype) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS) == 0) {
    if (is_aligned(buffer, bits_of(dtype))) {
      auto hold = std::make_shared<BufferHold>(buffer);
      return Tensor::borrow(dtype, shape_of(array), buffer.buf, static_cast<uint64_t>(buffer.len),
                            std::move(hold));
    }
    PyBuffer_Release(&buffer);
  } else {
    PyErr_Clear();
  }
  array = array.attr("copy")("C");
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  auto hold = std::make_shared<BufferHold>(buffer);
  return Tensor::borrow(dtype, shape_of(array), buffer.buf, static_cast<uint64_t>(buffer.len),
                        std::move(hold));
}

/// Packs an array of a sub-byte type, which stores each element in a byte.
Tensor pack_array(const nb::object& array, DType dtype) {
  const nb::object bytes = array.attr("view")(numpy_dtype_of(DType::kUint8));
  const Tensor unpacked = view_array(bytes, DType::kUint8);
  Tensor packed(dtype, unpacked.shape());
  const std::span<const uint8_t> elements = unpacked.elements<uint8_t>();
  const uint32_t bits = bits_of(dtype);
  for (size_t i = 0; i < elements.size(); ++i) fill_packed(packed.data(), i, bits, elements[i]);
  return packed;
}

nb::object unpack(const Tensor& tensor) {
  const nb::object array =
      numpy().module.attr("empty")(tensor.element_count(), numpy_dtype_of(DType::kUint8));
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0)
    throw nb::python_error();
  auto* target = static_cast<uint8_t*>(buffer.buf);
  const uint32_t bits = bits_of(tensor.dtype());
  const bool is_signed = tensor.dtype() == DType::kInt4 || tensor.dtype() == DType::kInt2;
  const auto sign = static_cast<uint8_t>(is_signed ? 1U << (bits - 1) : 0);
  for (size_t i = 0; i < static_cast<size_t>(buffer.len); ++i) {
    const uint8_t element = load_packed(tensor.data(), i, bits);
    target[i] = static_cast<uint8_t>((element ^ sign) - sign);  // ml_dtypes sign-extends elements
  }
  PyBuffer_Release(&buffer);
  return array.attr("view")(numpy_dtype_of(tensor.dtype()));
}

/// The elements of a contiguous array of Python objects, valid as long as this object, which owns
/// the array.
class ObjectElements {
 public:
  explicit ObjectElements(const nb::object& array) {
    if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_C_CONTIGUOUS) != 0)
      throw nb::python_error();
  }
  ~ObjectElements() { PyBuffer_Release(&buffer_); }
  ObjectElements(const ObjectElements&) = delete;
  ObjectElements& operator=(const ObjectElements&) = delete;

  [[nodiscard]] std::span<PyObject*> get() const {
    return {static_cast<PyObject**>(buffer_.buf),
            static_cast<size_t>(buffer_.len) / sizeof(PyObject*)};
  }

 private:
  Py_buffer buffer_;
};

std::string encoded(nb::handle text) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size))
    return {bytes, static_cast<size_t>(size)};
  PyErr_Clear();
  // As os.fsencode(): text decoded from invalid UTF-8 is encoded to the original bytes.
  const auto as_bytes =
      nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!as_bytes.is_valid()) throw nb::python_error();
  return {as_bytes.c_str(), as_bytes.size()};
}

Tensor string_tensor(const nb::object& array, const ValueInfo& info) {
  const nb::object objects = numpy().module.attr("ascontiguousarray")(
      array.attr("ravel")(), numpy_dtype_of(DType::kString));
  const ObjectElements elements(objects);
  std::vector<std::string> strings;
  strings.reserve(elements.get().size());
  for (PyObject* object : elements.get()) {
    const nb::handle element(object);
    if (PyUnicode_Check(element.ptr())) {
      strings.push_back(encoded(element));
    } else if (nb::isinstance<nb::bytes>(element)) {
      const auto bytes = nb::borrow<nb::bytes>(element);
      strings.emplace_back(bytes.c_str(), bytes.size());
    } else {
      fail(info, "expected an array of a numeric type or of str; found an array of objects with " +
                     described(element));
    }
  }
  return {shape_of(array), std::move(strings)};
}

Tensor array_tensor(nb::object array, const ValueInfo& info) {
  nb::object numpy_dtype = array.attr("dtype");
  DType dtype = dtype_of_numpy(numpy_dtype);
  if (dtype == DType::kUndefined) {
    const nb::object native = numpy_dtype.attr("newbyteorder")("=");
    dtype = dtype_of_numpy(native);
    if (dtype == DType::kUndefined)
      fail(info, "ONNX has no element type for an array of " + text_of(numpy_dtype));
    array = array.attr("astype")(native);
  }
  if (dtype == DType::kString) return string_tensor(array, info);
  if (bits_of(dtype) < 8) return pack_array(array, dtype);
  return view_array(std::move(array), dtype);
}

/// Converts an object that is not an array: a number, a list of numbers, a tensor of another
/// library.
nb::object make_array(nb::handle object, const ValueInfo& info) {
  nb::object array;
  try {
    array = numpy().module.attr("asarray")(object);
  } catch (nb::python_error& error) {
    fail(info, "expected an array; " + described(object) +
                   " cannot be made one: " + text_of(error.value()));
  }
  if (nb::hasattr(object, "dtype") || info.dtype == DType::kUndefined ||
      info.dtype == DType::kString)
    return array;
  const nb::object wanted = numpy_dtype_of(info.dtype);
  const auto is_integer = [](const nb::object& dtype) {
    const auto kind = nb::cast<std::string>(dtype.attr("kind"));
    return kind == "i" || kind == "u";
  };
  if (is_integer(array.attr("dtype")) && is_integer(wanted)) {
    try {
      return numpy().module.attr("asarray")(object, wanted);  // refuses numbers out of its range
    } catch (nb::python_error& error) {
      fail(info, "expected " + std::string(to_string(info.dtype)) + ", found " + described(object) +
                     ": " + text_of(error.value()));
    }
  }
  if (!nb::cast<bool>(numpy().module.attr("can_cast")(array.attr("dtype"), wanted, "same_kind"))) {
    fail(info, "expected " + std::string(to_string(info.dtype)) + ", found " + described(object) +
                   " of " + text_of(array.attr("dtype")));
  }
  return array.attr("astype")(wanted);
}

/// `session`: may be null; device memory is then refused.
Tensor to_tensor(nb::handle object, const ValueInfo& info, const Session* session) {
  if (is_array(object)) return array_tensor(nb::borrow(object), info);
  if (nb::isinstance<Tensor>(object)) return nb::cast<const Tensor&>(object);
  if (nb::hasattr(object, "__dlpack__"))
    return tensor_from_dlpack(object, "input \"" + info.name + "\"", session);
  if (object.is_none() || PyDict_Check(object.ptr()))
    fail(info, "expected an array, found " + described(object));
  return array_tensor(make_array(object, info), info);
}

Value value_of(nb::handle object, const ValueInfo& expected, const Session* session);

Value to_sequence(nb::handle object, const ValueInfo& info, const Session* session) {
  if (!PyList_Check(object.ptr()) && !PyTuple_Check(object.ptr()))
    fail(info, "expected a list of arrays, found " + described(object));
  ValueInfo item_info;
  item_info.dtype = info.dtype;
  std::vector<Value> items;
  for (const nb::handle item : object) {
    item_info.name = info.name + "[" + std::to_string(items.size()) + "]";
    item_info.kind = PyDict_Check(item.ptr()) ? Kind::kMap : Kind::kTensor;
    items.push_back(value_of(item, item_info, session));
  }
  DType dtype = info.dtype;
  if (dtype == DType::kUndefined && !items.empty() && items[0].kind() == Kind::kTensor)
    dtype = items[0].tensor().dtype();
  return Value::sequence(dtype, items);
}

Value to_optional(nb::handle object, const ValueInfo& info, const Session* session) {
  if (object.is_none()) return Value::optional(info.dtype, {});
  ValueInfo item_info = info;
  item_info.kind =
      PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) ? Kind::kSequence : Kind::kTensor;
  return Value::optional(info.dtype, value_of(object, item_info, session));
}

Value to_map(nb::handle object, const ValueInfo& info, const Session* session) {
  if (!PyDict_Check(object.ptr())) fail(info, "expected a dict, found " + described(object));
  const nb::dict dict = nb::borrow<nb::dict>(object);
  ValueInfo keys_info;
  keys_info.name = info.name + ".keys()";
  ValueInfo values_info;
  values_info.name = info.name + ".values()";
  values_info.dtype = info.dtype;
  return Value::map(to_tensor(nb::list(dict.keys()), keys_info, session),
                    to_tensor(nb::list(dict.values()), values_info, session));
}

Kind kind_of(nb::handle object) {
  if (object.is_none()) return Kind::kOptional;
  if (PyDict_Check(object.ptr())) return Kind::kMap;
  return PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()) ? Kind::kSequence
                                                                   : Kind::kTensor;
}

nb::dlpack::dtype memory_dtype(DType dtype) {
  const auto bits = static_cast<uint8_t>(bits_of(dtype));
  switch (dtype) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kFloat16:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), bits, 1};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Int), bits, 1};
    case DType::kBool:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Bool), bits, 1};
    case DType::kComplex64:
    case DType::kComplex128:
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Complex), bits, 1};
    default:  // unsigned integers, and what NumPy knows as such until it is viewed as a type of
              // ml_dtypes
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::UInt), bits, 1};
  }
}

nb::object decoded(const std::string& text) {
  nb::object result = nb::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

nb::object string_array(const Tensor& tensor) {
  nb::object array =
      numpy().module.attr("empty")(tensor.strings().size(), numpy_dtype_of(DType::kString));
  const ObjectElements elements(array);
  size_t place = 0;
  for (const std::string& text : tensor.strings()) {
    nb::object made = decoded(text);
    PyObject*& element = elements.get()[place++];
    Py_XDECREF(element);
    element = made.release().ptr();
  }
  return array;
}

nb::tuple shape_tuple(const Tensor& tensor) {
  nb::list extents;
  for (const int64_t extent : tensor.shape()) extents.append(extent);
  return nb::tuple(extents);
}

nb::object to_array(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype == DType::kString) return string_array(tensor).attr("reshape")(shape_tuple(tensor));
  if (tensor.element_count() == 0)
    return numpy().module.attr("empty")(shape_tuple(tensor), numpy_dtype_of(dtype));
  if (bits_of(dtype) < 8) return unpack(tensor).attr("reshape")(shape_tuple(tensor));
  auto kept = std::make_unique<Tensor>(tensor);
  void* data = kept->data();
  const nb::capsule owner(kept.get(),
                          [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  kept.release();
  const std::vector<size_t> shape(tensor.shape().begin(), tensor.shape().end());
  nb::ndarray<nb::numpy> view(data, shape.size(), shape.data(), owner, nullptr,
                              memory_dtype(dtype));
  nb::object array = view.cast();
  return dtype >= DType::kBfloat16 ? array.attr("view")(numpy_dtype_of(dtype)) : array;
}

/// Calls f(at), where at(i) is element i as a Python number or str, as from ndarray.tolist(). The
/// element types of maps need no array.
template <class F>
void with_items(const Tensor& tensor, F f) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return f([elements = tensor.elements<float>()](size_t i) { return nb::float_(elements[i]); });
    case DType::kInt64:
      return f([elements = tensor.elements<int64_t>()](size_t i) { return nb::int_(elements[i]); });
    case DType::kString:
      return f([&](size_t i) { return decoded(tensor.strings()[i]); });
    default: {
      const nb::object list = to_array(tensor).attr("ravel")().attr("tolist")();
      return f([&](size_t i) { return nb::object(list[i]); });
    }
  }
}

/// A list of dicts, one for each row of values. All dicts share the key objects.
nb::list dicts_of(const MapTable& table) {
  std::vector<nb::object> keys;
  const auto width = static_cast<size_t>(table.keys.element_count());
  with_items(table.keys, [&](const auto& key) {
    for (size_t i = 0; i < width; ++i) keys.emplace_back(key(i));
  });
  const auto rows = static_cast<size_t>(table.values.shape()[0]);
  nb::list dicts = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(rows)));
  if (!dicts.is_valid()) throw nb::python_error();
  with_items(table.values, [&](const auto& item) {
    for (size_t row = 0; row < rows; ++row) {
      nb::dict dict;
      for (size_t i = 0; i < width; ++i) {
        if (PyDict_SetItem(dict.ptr(), keys[i].ptr(), item(row * width + i).ptr()) != 0)
          throw nb::python_error();
      }
      // Steals the reference even on failure; it cannot fail for an index within the list.
      PyList_SetItem(dicts.ptr(), static_cast<Py_ssize_t>(row), dict.release().ptr());
    }
  });
  return dicts;
}

nb::dict dict_of(const Value& map) {
  nb::dict dict;
  const Tensor keys = map.at(0).tensor();
  with_items(keys, [&](const auto& key) {
    with_items(map.at(1).tensor(), [&](const auto& item) {
      for (size_t i = 0; i < static_cast<size_t>(keys.element_count()); ++i) {
        if (PyDict_SetItem(dict.ptr(), key(i).ptr(), item(i).ptr()) != 0) throw nb::python_error();
      }
    });
  });
  return dict;
}

}  // namespace

namespace {

Value value_of(nb::handle object, const ValueInfo& expected, const Session* session) {
  switch (expected.kind == Kind::kUnknown ? kind_of(object) : expected.kind) {
    case Kind::kSequence:
      return to_sequence(object, expected, session);
    case Kind::kOptional:
      return to_optional(object, expected, session);
    case Kind::kMap:
      return to_map(object, expected, session);
    default:
      return to_tensor(object, expected, session);
  }
}

}  // namespace

Value to_value(nb::handle object, const ValueInfo& expected, const Session& session) {
  return value_of(object, expected, &session);
}

Tensor to_host_tensor(nb::handle object, const ValueInfo& expected) {
  return to_tensor(object, expected, nullptr);
}

Tensor to_target(nb::handle object, const std::string& subject, const Session& session) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<const Tensor&>(object);
  if (!is_array(object) && nb::hasattr(object, "__dlpack__"))
    return target_from_dlpack(object, subject, session);
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kInvalidArgument, subject +
                                            ": expected a contiguous, aligned array of numbers "
                                            "that may be written to, or a gantry.Tensor; found " +
                                            what);
  };
  if (!is_array(object)) refuse(described(object));
  const nb::object array = nb::borrow(object);
  const DType dtype = dtype_of_numpy(array.attr("dtype"));
  if (dtype == DType::kUndefined || dtype == DType::kString || bits_of(dtype) < 8)
    refuse("one of " + text_of(array.attr("dtype")));
  Py_buffer buffer;
  if (PyObject_GetBuffer(array.ptr(), &buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) != 0) {
    PyErr_Clear();
    refuse("one that is not contiguous or is read-only");
  }
  auto hold = std::make_shared<BufferHold>(buffer);
  if (!is_aligned(buffer, bits_of(dtype))) refuse("one that is not aligned");
  return Tensor::borrow(dtype, shape_of(array), buffer.buf, static_cast<uint64_t>(buffer.len),
                        std::move(hold));
}

nb::object array_of(const Tensor& tensor) {
  if (tensor.is_on_host()) return to_array(tensor);
  std::optional<Tensor> host;
  {
    const GilRelease unlocked;
    host.emplace(tensor.dtype(), tensor.shape());
    Session::copy(tensor, *host);
  }
  return to_array(*host);
}

nb::object to_python(const Value& value) {
  switch (value.kind()) {
    case Kind::kTensor:
      return value.tensor().is_on_host() ? to_array(value.tensor()) : nb::cast(value.tensor());
    case Kind::kSequence: {
      if (const std::optional<MapTable> table = value.map_table()) return dicts_of(*table);
      nb::list items;
      for (size_t i = 0; i < value.size(); ++i) items.append(to_python(value.at(i)));
      return items;
    }
    case Kind::kOptional:
      return value.size() == 0 ? nb::none() : to_python(value.at(0));
    case Kind::kMap:
      return dict_of(value);
    case Kind::kUnknown:
      break;
  }
  return nb::none();
}

}  // namespace gantry::python
