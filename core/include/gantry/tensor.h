// SPDX-License-Identifier: Apache-2.0
// Values that enter and leave a session: tensors, and sequences, optionals and maps of them. Both
// classes are handles that share what they point to; copying one is cheap. Several threads may read
// at once; the caller orders writes.
#pragma once

#include <gantry/device.h>
#include <gantry/dtype.h>
#include <gantry/error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct gantry_value;  // the representation, opaque here

namespace gantry {

enum class Kind : uint32_t { kUnknown = 0, kTensor = 1, kSequence = 2, kOptional = 3, kMap = 4 };

class Tensor;
struct MapTable;

/// Any ONNX value. A default-constructed one holds nothing (kind kUnknown).
class Value {
 public:
  Value() = default;
  explicit Value(std::shared_ptr<gantry_value> handle) : handle_(std::move(handle)) {}

  /// A sequence of values; `dtype` is the element type of its tensors.
  static Value sequence(DType dtype, const std::vector<Value>& items);
  /// An optional with or without a value.
  static Value optional(DType dtype, Value item);
  /// A map from the elements of `keys` [N] (integers or strings) to those of `values` [N].
  static Value map(const Tensor& keys, const Tensor& values);

  [[nodiscard]] Kind kind() const;
  /// Sequence: elements; optional: 0 or 1; map: 2 (keys, values); else 0.
  [[nodiscard]] size_t size() const;
  /// Element `index`. INVALID_ARGUMENT: out of range.
  [[nodiscard]] Value at(size_t index) const;
  /// The keys and values of a sequence of maps that share their keys, as ZipMap (ai.onnx.ml) makes
  /// it, without making each map as at() does. Nothing for every other value.
  [[nodiscard]] std::optional<MapTable> map_table() const;
  /// This value as a tensor. INVALID_ARGUMENT: it is none.
  [[nodiscard]] Tensor tensor() const;

  [[nodiscard]] const std::shared_ptr<gantry_value>& handle() const { return handle_; }

 protected:
  std::shared_ptr<gantry_value> handle_;
};

/// A device as DLPack names it: the numbers of a DLDevice.
struct DlpackDevice {
  int32_t type = 1;  ///< a DLDeviceType: 1 is host memory, 2 CUDA
  int32_t id = 0;
  friend bool operator==(const DlpackDevice&, const DlpackDevice&) = default;
};

/// A dense tensor, last axis fastest, in host memory or in that of a device (Session::allocate_on).
/// Elements of fewer than 8 bits are packed, the first one in the low bits.
class Tensor : public Value {
 public:
  /// Holds nothing: shape [], dtype kUndefined.
  Tensor() = default;
  /// Allocates zeroed memory, aligned to 64 bytes; strings are empty.
  /// INVALID_ARGUMENT: a negative extent or a size beyond 63 bits. OUT_OF_MEMORY.
  Tensor(DType dtype, std::vector<int64_t> shape);
  /// A copy of `elements`, whose count must match the shape. INVALID_ARGUMENT: it does not.
  template <class T>
  Tensor(std::vector<int64_t> shape, std::span<const T> elements)
      : Tensor(dtype_of<T>(), std::move(shape)) {
    fill(elements.data(), elements.size_bytes());
  }
  template <class T>
  Tensor(std::vector<int64_t> shape, const std::vector<T>& elements)
      : Tensor(std::move(shape), std::span<const T>(elements)) {}
  /// A string tensor. INVALID_ARGUMENT: the count does not match the shape.
  Tensor(std::vector<int64_t> shape, std::vector<std::string> strings);
  /// A view of the caller's host memory, which `owner` keeps alive; without an owner the caller
  /// does. Requires that `data` is aligned to the element size, at most 8 bytes. INVALID_ARGUMENT:
  /// the shape needs more than `size_bytes`, or `data` is null and the shape needs any.
  static Tensor borrow(DType dtype, std::vector<int64_t> shape, void* data, uint64_t size_bytes,
                       std::shared_ptr<const void> owner = nullptr);

  [[nodiscard]] DType dtype() const;
  [[nodiscard]] const std::vector<int64_t>& shape() const;
  [[nodiscard]] int64_t element_count() const;
  [[nodiscard]] uint64_t size_bytes() const;
  /// The device whose memory has the elements; "CPU:0": host memory.
  [[nodiscard]] Device device() const;
  [[nodiscard]] bool is_on_host() const;
  /// Exports the tensor to other libraries of the process: returns the DLPack device of data().
  /// From then on the last handle's destructor waits for all work of the process on the device
  /// before it frees the memory. UNSUPPORTED: the device's provider does not let other libraries
  /// use its memory.
  [[nodiscard]] DlpackDevice lend() const;
  /// Address of the elements, in the memory of device(); null for strings.
  [[nodiscard]] void* data();
  [[nodiscard]] const void* data() const;
  /// The elements as T. INVALID_ARGUMENT: the element type is another, or the tensor is not in host
  /// memory.
  template <class T>
  [[nodiscard]] std::span<const T> elements() const {
    expect(dtype_of<T>());
    return {static_cast<const T*>(data()), static_cast<size_t>(element_count())};
  }
  template <class T>
  [[nodiscard]] std::span<T> elements() {
    expect(dtype_of<T>());
    return {static_cast<T*>(data()), static_cast<size_t>(element_count())};
  }
  /// The strings of a string tensor. INVALID_ARGUMENT: it is none.
  [[nodiscard]] const std::vector<std::string>& strings() const;

 private:
  friend class Value;
  explicit Tensor(std::shared_ptr<gantry_value> handle) : Value(std::move(handle)) {}
  void fill(const void* data, size_t size_bytes);
  void expect(DType dtype) const;
};

/// Maps with the same keys: one for each row of values.
struct MapTable {
  Tensor keys;    ///< [C]
  Tensor values;  ///< [N, C]
};

}  // namespace gantry
