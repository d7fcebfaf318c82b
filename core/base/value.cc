// SPDX-License-Identifier: Apache-2.0
#include "base/value.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "base/alignment.h"
#include "base/block_cache.h"

namespace gantry {
namespace {

constexpr uint64_t kSmallBlock = 64;
constexpr uint64_t kHugePage = 2u << 20;
constexpr uint64_t kHugePagesFrom = 2 * kHugePage;
constexpr uint64_t kPopulatedFrom = uint64_t{128} << 10;

// Sets the tensor view of a value from its shape.
void show(gantry_value& value, DType dtype, void* data, uint64_t size_bytes) {
  value.kind = GANTRY_KIND_TENSOR;
  value.dtype = dtype;
  value.view = {};
  value.view.size = sizeof(gantry_tensor);
  value.view.dtype = static_cast<uint32_t>(dtype);
  value.view.rank = static_cast<uint32_t>(value.shape.size());
  value.view.shape = value.shape.data();
  value.view.data = data;
  value.view.size_bytes = size_bytes;
}

// True if the value borrows no memory and is owned by a ValueRef.
bool is_shared(const gantry_value& value) {
  if (!value.self && value.weak_from_this().expired()) return false;
  if (value.kind == GANTRY_KIND_TENSOR) {
    return value.owner || value.dtype == DType::kString || value.view.size_bytes == 0;
  }
  if (value.rows) return true;
  return std::all_of(value.items.begin(), value.items.end(),
                     [](const ValueRef& item) { return item && is_shared(*item); });
}

// A small block in one allocation with its reference count, for scalars and values of maps, of
// which there may be thousands.
std::shared_ptr<void> allocate_small() {
  constexpr uint64_t kRoom = kSmallBlock + kTensorAlignment - alignof(std::max_align_t);
  struct Room {
    alignas(std::max_align_t) std::array<std::byte, kRoom> bytes;
  };
  const std::shared_ptr<Room> room(std::make_shared_for_overwrite<Room>());
  const auto begin = reinterpret_cast<uintptr_t>(room->bytes.data());
  return {room, room->bytes.data() + (round_up(begin, kTensorAlignment) - begin)};
}

// Maps the pages of a block at once, which takes 0.6 of the time of page faults one by one. Best
// effort: Linux before 5.14 refuses it.
void populate(void* memory, uint64_t size_bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const uint64_t first = round_up(begin, page);
  const uint64_t end = (begin + size_bytes) / page * page;
  const int error = errno;  // restored, so that a refusal does not look like a failed allocation
  if (first < end)
    madvise(static_cast<std::byte*>(memory) + (first - begin), end - first, MADV_POPULATE_WRITE);
  errno = error;
#else
  static_cast<void>(memory);
  static_cast<void>(size_bytes);
#endif
}

}  // namespace

void* allocate_host_block(uint64_t size_bytes) {
  const bool huge = size_bytes >= kHugePagesFrom;
  const uint64_t alignment = huge ? kHugePage : kTensorAlignment;
  const uint64_t rounded = round_up(std::max<uint64_t>(size_bytes, 1), alignment);
  const auto allocate = [&] {
    return rounded < size_bytes ? nullptr : std::aligned_alloc(alignment, rounded);
  };
  void* memory = allocate();
  if (!memory) {
    free_kept_blocks();
    memory = allocate();
  }
  if (!memory) {
    throw Error(Code::kOutOfMemory,
                "no memory for a block of " + std::to_string(size_bytes) + " bytes");
  }
  if (huge) {
    madvise(memory, rounded, MADV_HUGEPAGE);  // best effort: failure costs speed only
  } else if (size_bytes >= kPopulatedFrom) {
    populate(memory, size_bytes);
  }
  return memory;
}

std::shared_ptr<void> allocate_host(uint64_t size_bytes) {
  if (size_bytes <= kSmallBlock) return allocate_small();
  if (size_bytes < kCachedFrom)
    return {allocate_host_block(size_bytes), [](void* block) { std::free(block); }};
  void* block = take_cached_block(size_bytes);
  return {block ? block : allocate_host_block(size_bytes),
          [size_bytes](void* used) { cache_block(used, size_bytes); }};
}

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::kUnknown:
      return "unknown";
    case Kind::kTensor:
      return "tensor";
    case Kind::kSequence:
      return "sequence";
    case Kind::kOptional:
      return "optional";
    case Kind::kMap:
      return "map";
  }
  return "unknown";
}

size_t item_count(const gantry_value& value) noexcept {
  return value.rows ? value.rows->count() : value.items.size();
}

const std::vector<ValueRef>& items_of(const gantry_value& value) {
  return value.rows ? value.rows->maps() : value.items;
}

ValueRef make_tensor(DType dtype, std::vector<int64_t> shape) {
  if (dtype != DType::kString && bits_of(dtype) == 0) {
    throw Error(Code::kInvalidArgument,
                "a tensor needs an element type; found " + std::string(to_string(dtype)));
  }
  const int64_t count = element_count(shape);
  const uint64_t size_bytes = bytes_of(dtype, count);
  auto value = std::make_shared<gantry_value>();
  if (dtype == DType::kString) {
    value->strings.resize(static_cast<size_t>(count));
    value->shape = std::move(shape);
    show(*value, dtype, nullptr, 0);
    return value;
  }
  std::shared_ptr<void> memory = allocate_host(size_bytes);
  value->shape = std::move(shape);
  show(*value, dtype, memory.get(), size_bytes);
  value->owner = std::move(memory);
  return value;
}

ValueRef view_tensor(DType dtype, std::vector<int64_t> shape, const void* data, uint64_t size_bytes,
                     std::shared_ptr<const void> owner) {
  if (bits_of(dtype) == 0) {
    throw Error(Code::kInvalidArgument,
                "memory can be viewed as a tensor of numbers only; found element type " +
                    std::string(to_string(dtype)));
  }
  const uint64_t needed = bytes_of(dtype, element_count(shape));
  if (needed > size_bytes) {
    throw Error(Code::kInvalidArgument,
                describe(dtype, shape) + " needs " + std::to_string(needed) +
                    " bytes; the memory given has " + std::to_string(size_bytes));
  }
  if (!data && needed != 0) {
    throw Error(Code::kInvalidArgument, describe(dtype, shape) + " needs " +
                                            std::to_string(needed) +
                                            " bytes; found a null pointer");
  }
  auto value = std::make_shared<gantry_value>();
  // Views are read-only by contract (provider.h: data is never written through an input).
  value->shape = std::move(shape);
  show(*value, dtype, const_cast<void*>(data), needed);
  value->owner = std::move(owner);
  return value;
}

void require_on_host(const gantry_value& tensor, const char* what) {
  if (!tensor.device) return;
  throw Error(Code::kInvalidArgument, std::string(what) + ": " + describe(tensor) +
                                          " is in the memory of " +
                                          tensor.device->name.to_string() +
                                          ", expected host memory; copy it with Session::copy");
}

bool is_aligned(const gantry_value& tensor) noexcept {
  const uint64_t alignment = std::clamp<uint64_t>(bits_of(tensor.dtype) / 8, 1, 8);
  return reinterpret_cast<uintptr_t>(tensor.view.data) % alignment == 0;
}

void drop_pages(const gantry_value& value) noexcept {
  if (!value.is_mapped) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(value.view.data);
  const uintptr_t first = (begin + page - 1) / page * page;  // of the pages that are its alone
  const uintptr_t end = (begin + value.view.size_bytes) / page * page;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

ValueRef copy_tensor(const gantry_value& value) {
  ValueRef copy = make_tensor(value.dtype, value.shape);
  copy->strings = value.strings;
  if (value.view.size_bytes != 0)
    std::memcpy(copy->view.data, value.view.data, value.view.size_bytes);
  return copy;
}

ValueRef share(const gantry_value& value) {
  if (is_shared(value)) {
    // A value held by a provider has `self`, which is faster than shared_from_this().
    return value.self ? value.self
                      : std::const_pointer_cast<gantry_value>(value.shared_from_this());
  }
  if (value.kind == GANTRY_KIND_TENSOR) return copy_tensor(value);
  auto copy = std::make_shared<gantry_value>();
  copy->kind = value.kind;
  copy->dtype = value.dtype;
  copy->rows = value.rows;
  copy->items.reserve(value.items.size());
  for (const ValueRef& item : value.items) copy->items.push_back(share(*item));
  return copy;
}

std::string describe(DType dtype, const std::vector<int64_t>& shape) {
  std::string text(to_string(dtype));
  text += '[';
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ',';
    text += shape[i] < 0 ? "?" : std::to_string(shape[i]);
  }
  return text + ']';
}

std::string describe(const gantry_value& value) {
  const std::string element(to_string(value.dtype));
  switch (value.kind) {
    case GANTRY_KIND_TENSOR:
      return describe(value.dtype, value.shape);
    case GANTRY_KIND_SEQUENCE:
      return "sequence(" + element + ")";
    case GANTRY_KIND_OPTIONAL:
      return "optional(" + element + ")";
    case GANTRY_KIND_MAP: {
      const std::string key =
          value.items.empty() ? "?" : std::string(to_string(value.items.front()->dtype));
      return "map(" + key + "," + element + ")";
    }
    case GANTRY_KIND_UNKNOWN:
      break;
  }
  return "nothing";
}

}  // namespace gantry

void gantry_value::set_tensor(gantry::DType type, const int64_t* extents, size_t rank, void* data,
                              uint64_t size_bytes) {
  shape.assign(extents, extents + rank);
  gantry::show(*this, type, data, size_bytes);
}
