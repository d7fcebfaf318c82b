// SPDX-License-Identifier: Apache-2.0
// The representation behind gantry::Value and the boundary's gantry_value: a tensor view with the
// owner of its memory, or a list of other values. A value is written by one thread until it is
// shared, then it is immutable.
#pragma once

#include <gantry/device.h>
#include <gantry/dtype.h>
#include <gantry/provider.h>
#include <gantry/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gantry {
class MapRows;

/// The device whose memory has a tensor of the caller. Made by run/resident, whose derived type
/// keeps the device open.
struct TensorDevice {
  Device name;
  const gantry_device* handle = nullptr;  ///< as its provider opened it
  std::optional<DlpackDevice> dlpack;     ///< nothing: other libraries cannot use its memory
  /// The memory was lent to another library (Tensor::lend), which may have unknown work on it.
  mutable std::atomic<bool> was_lent{false};
};

}  // namespace gantry

struct gantry_value : std::enable_shared_from_this<gantry_value> {
  gantry_kind kind = GANTRY_KIND_UNKNOWN;
  gantry::DType dtype = gantry::DType::kUndefined;  // of the tensor, or of the elements
  gantry_tensor view = {};                          // kind tensor; its shape points to `shape`
  std::vector<int64_t> shape;
  std::shared_ptr<const void> owner;                   // keeps view.data alive; null: borrowed
  std::shared_ptr<const gantry::TensorDevice> device;  // null: view.data is host memory
  bool is_mapped = false;                              // the data are in a file mapped read-only
  std::vector<std::string> strings;                    // of a string tensor, one for each element
  std::vector<std::shared_ptr<gantry_value>> items;    // sequence, optional, map (keys, values)
  std::shared_ptr<const gantry::MapRows> rows;  // all items of a sequence, in place of `items`
  std::shared_ptr<gantry_value> self;           // ownership held by a provider, see value_release

  /// Makes this a tensor view of `data`, dense. Allocates only if the rank exceeds what `shape` has
  /// room for.
  void set_tensor(gantry::DType type, const int64_t* extents, size_t rank, void* data,
                  uint64_t size_bytes);
};

namespace gantry {

using ValueRef = std::shared_ptr<gantry_value>;

/// Number of items of a sequence, an optional or a map.
size_t item_count(const gantry_value& value) noexcept;
/// The items of a sequence, an optional or a map. Makes the maps of MapRows on first use.
const std::vector<ValueRef>& items_of(const gantry_value& value);

/// Names like "tensor", "sequence".
std::string_view to_string(Kind kind) noexcept;

/// A new uninitialised tensor with memory of its own, 64-byte aligned. Errors as Tensor's
/// constructor.
ValueRef make_tensor(DType dtype, std::vector<int64_t> shape);
/// Tensor over memory that `owner` keeps alive.
ValueRef view_tensor(DType dtype, std::vector<int64_t> shape, const void* data, uint64_t size_bytes,
                     std::shared_ptr<const void> owner);
/// A value that outlives the run: the value itself if it owns all its memory and is owned by a
/// ValueRef, else a deep copy. Requires a dense value in host memory.
ValueRef share(const gantry_value& value);
/// Throws INVALID_ARGUMENT if the tensor is in the memory of a device; `what`: the function that
/// reads it.
void require_on_host(const gantry_value& tensor, const char* what);
/// True if the address of a tensor's elements is a multiple of the element size, or of 8 if that is
/// larger.
bool is_aligned(const gantry_value& tensor) noexcept;
/// Deep copy of a tensor in host memory, dense.
ValueRef copy_tensor(const gantry_value& value);
/// Releases the resident pages of a constant in a mapped file that will not be read soon; a later
/// read loads them from the file again. No effect on other values.
void drop_pages(const gantry_value& value) noexcept;
/// "float32[2,3]", "sequence(int64)": for messages.
std::string describe(const gantry_value& value);
std::string describe(DType dtype, const std::vector<int64_t>& shape);

/// A sequence of maps with the same keys, stored as a table with a row of values for each map. The
/// maps themselves are made on first use. Immutable, any thread.
class MapRows {
 public:
  /// keys: [C]; values: [N, C], of a type of whole bytes. Requires both to be shared already (see
  /// share()). INVALID_ARGUMENT: other shapes, or another element type.
  MapRows(ValueRef keys, ValueRef values);

  [[nodiscard]] size_t count() const { return static_cast<size_t>(values_->shape[0]); }
  [[nodiscard]] const ValueRef& keys() const { return keys_; }
  [[nodiscard]] const ValueRef& values() const { return values_; }
  /// The maps, as views of the table; made on first use.
  [[nodiscard]] const std::vector<ValueRef>& maps() const;

 private:
  ValueRef keys_;
  ValueRef values_;
  mutable std::once_flag are_made_;
  mutable std::vector<ValueRef> maps_;
};

/// Allocates host memory aligned to 64 bytes, to be freed with std::free. Large blocks request huge
/// pages, and the pages of medium ones are mapped at once, so the caller should write to all of it.
/// OUT_OF_MEMORY.
void* allocate_host_block(uint64_t size_bytes);
/// The same, freed by its owner.
std::shared_ptr<void> allocate_host(uint64_t size_bytes);

}  // namespace gantry
