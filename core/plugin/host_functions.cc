// SPDX-License-Identifier: Apache-2.0
#include "plugin/host_functions.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/value.h"
#include "plugin/error.h"
#include "plugin/packed.h"

namespace gantry {
namespace {

std::atomic<uint64_t> allocated_bytes{0};

// Precedes every block of `allocate`.
struct BlockHeader {
  void* block;
  uint64_t size_bytes;
};

// Passes ownership to the provider: the value owns itself until value_release.
gantry_value* give(ValueRef value) {
  gantry_value* raw = value.get();
  raw->self = std::move(value);
  return raw;
}

// Number of items that an optional or a map can hold.
size_t capacity_of(const gantry_value& value) {
  switch (value.kind) {
    case GANTRY_KIND_OPTIONAL:
      return 1;
    case GANTRY_KIND_MAP:
      return 2;
    default:
      return 0;
  }
}

// True for a map whose values [N, C] have a row for each of N maps.
bool is_map_of_rows(const gantry_value& value) {
  return value.kind == GANTRY_KIND_MAP && value.items.size() == 2 &&
         value.items[1]->kind == GANTRY_KIND_TENSOR && value.items[1]->shape.size() == 2;
}

void append_to_sequence(gantry_value& sequence, const gantry_value& item) {
  if (sequence.rows) {
    sequence.items = sequence.rows->maps();
    sequence.rows = nullptr;
  }
  if (!is_map_of_rows(item)) return sequence.items.push_back(share(item));
  auto rows = std::make_shared<MapRows>(share(*item.items[0]), share(*item.items[1]));
  if (sequence.items.empty()) {
    sequence.rows = std::move(rows);
  } else {
    sequence.items.insert(sequence.items.end(), rows->maps().begin(), rows->maps().end());
  }
}

}  // namespace

gantry_error* HostFunctions::error_create(uint32_t code, gantry_str message) {
  return make_error(static_cast<Code>(code), to_view(message));
}

uint32_t HostFunctions::error_code(const gantry_error* error) {
  return static_cast<uint32_t>(code_of(error));
}

gantry_str HostFunctions::error_message(const gantry_error* error) {
  return to_str(message_of(error));
}

void HostFunctions::error_release(gantry_error* error) { release_error(error); }

void HostFunctions::write_log(uint32_t level, gantry_str message) {
  log(static_cast<LogLevel>(level), to_view(message));
}

void* HostFunctions::allocate(uint64_t size_bytes, uint64_t alignment) {
  constexpr uint64_t kLargestAlignment = uint64_t{1} << 30;
  constexpr uint64_t kLargestSize = uint64_t{1} << 62;
  if (!std::has_single_bit(alignment) || alignment > kLargestAlignment || size_bytes > kLargestSize)
    return nullptr;
  const uint64_t step = std::max<uint64_t>(alignment, alignof(std::max_align_t));
  const uint64_t front = (sizeof(BlockHeader) + step - 1) / step * step;
  const uint64_t total = (front + size_bytes + step - 1) / step * step;
  auto* block = static_cast<char*>(std::aligned_alloc(step, total));
  if (!block) return nullptr;
  char* memory = block + front;
  reinterpret_cast<BlockHeader*>(memory)[-1] = {block, size_bytes};
  allocated_bytes += size_bytes;
  return memory;
}

void HostFunctions::release(void* memory) {
  if (!memory) return;
  const BlockHeader header = static_cast<BlockHeader*>(memory)[-1];
  allocated_bytes -= header.size_bytes;
  std::free(header.block);
}

gantry_error* HostFunctions::packed_acquire(const uint8_t key[32], uint64_t size_bytes,
                                            void (*fill)(void* arg, void* target), void* arg,
                                            const void** out_data) {
  return guard([&] { *out_data = acquire_packed(key, size_bytes, fill, arg); });
}

void HostFunctions::packed_release(const void* data) { release_packed(data); }

uint32_t HostFunctions::value_kind(const gantry_value* value) {
  return value ? value->kind : GANTRY_KIND_UNKNOWN;
}

const gantry_tensor* HostFunctions::value_tensor(const gantry_value* value) {
  return value && value->kind == GANTRY_KIND_TENSOR ? &value->view : nullptr;
}

gantry_error* HostFunctions::value_string(const gantry_value* value, uint64_t index,
                                          gantry_str* out_string) {
  return guard([&] {
    if (!value || value->kind != GANTRY_KIND_TENSOR || value->dtype != DType::kString) {
      throw Error(Code::kInvalidArgument, "value_string: expected a string tensor, found " +
                                              (value ? describe(*value) : "null"));
    }
    if (index >= value->strings.size()) {
      throw Error(Code::kInvalidArgument, "value_string: index " + std::to_string(index) +
                                              " is out of range; the tensor has " +
                                              std::to_string(value->strings.size()) + " elements");
    }
    *out_string = to_str(value->strings[index]);
  });
}

uint64_t HostFunctions::value_length(const gantry_value* value) {
  return value && value->kind != GANTRY_KIND_TENSOR ? item_count(*value) : 0;
}

const gantry_value* HostFunctions::value_at(const gantry_value* value, uint64_t index) {
  return index < value_length(value) ? items_of(*value)[index].get() : nullptr;
}

gantry_error* HostFunctions::value_create_tensor(uint32_t dtype, uint32_t rank,
                                                 const int64_t* shape, gantry_value** out_value,
                                                 gantry_tensor** out_tensor) {
  return guard([&] {
    constexpr uint32_t kLargestRank = 64;
    if (rank > kLargestRank) {
      throw Error(Code::kInvalidArgument, "value_create_tensor: rank " + std::to_string(rank) +
                                              " is out of range; at most " +
                                              std::to_string(kLargestRank) + " axes are supported");
    }
    std::vector<int64_t> extents;
    if (rank > 0) extents.assign(shape, shape + rank);
    gantry_value* value = give(make_tensor(static_cast<DType>(dtype), std::move(extents)));
    *out_value = value;
    if (out_tensor) *out_tensor = &value->view;
  });
}

gantry_error* HostFunctions::value_create(uint32_t kind, uint32_t dtype, gantry_value** out_value) {
  return guard([&] {
    if (kind != GANTRY_KIND_SEQUENCE && kind != GANTRY_KIND_OPTIONAL && kind != GANTRY_KIND_MAP) {
      throw Error(Code::kInvalidArgument,
                  "value_create: expected the kind sequence, optional or map, found " +
                      std::string(to_string(static_cast<Kind>(kind))) + " (" +
                      std::to_string(kind) + ")");
    }
    auto value = std::make_shared<gantry_value>();
    value->kind = static_cast<gantry_kind>(kind);
    value->dtype = static_cast<DType>(dtype);
    if (kind == GANTRY_KIND_MAP) value->items.reserve(capacity_of(*value));
    *out_value = give(std::move(value));
  });
}

gantry_error* HostFunctions::value_append(gantry_value* value, const gantry_value* item) {
  return guard([&] {
    if (!value || !item)
      throw Error(Code::kInvalidArgument, "value_append: expected two values, found null");
    if (value->kind == GANTRY_KIND_SEQUENCE) return append_to_sequence(*value, *item);
    if (value->items.size() >= capacity_of(*value)) {
      throw Error(Code::kInvalidArgument, "value_append: " + describe(*value) +
                                              " takes no item number " +
                                              std::to_string(value->items.size()));
    }
    value->items.push_back(share(*item));
  });
}

gantry_error* HostFunctions::value_set_string(gantry_value* value, uint64_t index,
                                              gantry_str text) {
  return guard([&] {
    if (!value || value->dtype != DType::kString || index >= value->strings.size()) {
      throw Error(Code::kInvalidArgument,
                  "value_set_string: expected a string tensor of more than " +
                      std::to_string(index) + " elements, found " +
                      (value ? describe(*value) : "null"));
    }
    value->strings[index] = to_view(text);
  });
}

void HostFunctions::value_release(gantry_value* value) {
  if (!value) return;
  // Moved out first: this may be the last reference, and resetting the member in place would run
  // the value's destructor while the member is being changed.
  const ValueRef last = std::move(value->self);
}

uint64_t provider_bytes() { return allocated_bytes + packed_bytes(); }

}  // namespace gantry
