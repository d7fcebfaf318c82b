// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <gantry/dtype.h>
#include <gantry/error.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace gantry::checks {
namespace {

struct HostError {
  uint32_t code;
  std::string message;
};

std::atomic<int64_t> live_errors{0};
std::atomic<int64_t> live_values{0};
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> live_packed{0};
std::atomic<int64_t> allocations_left{-1};

const HostError* of(const gantry_error* error) { return reinterpret_cast<const HostError*>(error); }
const HostValue* of(const gantry_value* value) { return reinterpret_cast<const HostValue*>(value); }
HostValue* of(gantry_value* value) { return reinterpret_cast<HostValue*>(value); }

bool may_allocate() {
  for (int64_t left = allocations_left.load();;) {
    if (left < 0) return true;
    if (left == 0) return false;
    if (allocations_left.compare_exchange_weak(left, left - 1)) return true;
  }
}

// Precedes each block of `allocate`.
struct Header {
  void* block;
  uint64_t size_bytes;
};

void* allocate(uint64_t size_bytes, uint64_t alignment) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  const bool is_power = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (!is_power || size_bytes > kMost || alignment > kMost || !may_allocate()) return nullptr;
  const uint64_t step = alignment < 64 ? 64 : alignment;
  auto* block =
      static_cast<char*>(std::aligned_alloc(step, step + (size_bytes + step - 1) / step * step));
  if (!block) return nullptr;
  const Header header = {block, size_bytes};
  std::memcpy(block + step - sizeof(header), &header, sizeof(header));
  live_bytes += static_cast<int64_t>(size_bytes);
  return block + step;
}

void release(void* memory) {
  if (!memory) return;
  Header header = {};
  std::memcpy(&header, static_cast<char*>(memory) - sizeof(header), sizeof(header));
  live_bytes -= static_cast<int64_t>(header.size_bytes);
  std::free(header.block);
}

struct Packed {
  std::mutex mutex;
  std::map<std::string, std::pair<std::shared_ptr<void>, int64_t>> blocks;
};
Packed& packed() {
  static auto* const instance = new Packed;
  return *instance;
}

gantry_error* packed_acquire(const uint8_t key[32], uint64_t size_bytes,
                             void (*fill)(void* arg, void* target), void* arg,
                             const void** out_data) {
  if (!may_allocate())
    return make_error(GANTRY_OUT_OF_MEMORY, "packed_acquire: refused by the test");
  const std::lock_guard<std::mutex> lock(packed().mutex);
  auto& [block, users] = packed().blocks[std::string(reinterpret_cast<const char*>(key), 32)];
  if (!block) {
    block = aligned_memory(size_bytes);
    fill(arg, block.get());
  }
  ++users;
  ++live_packed;
  *out_data = block.get();
  return nullptr;
}

void packed_release(const void* data) {
  const std::lock_guard<std::mutex> lock(packed().mutex);
  for (auto at = packed().blocks.begin(); at != packed().blocks.end(); ++at) {
    if (at->second.first.get() != data) continue;
    --live_packed;
    if (--at->second.second == 0) packed().blocks.erase(at);
    return;
  }
}

gantry_error* value_string(const gantry_value* value, uint64_t index, gantry_str* out_string) {
  if (!value || index >= of(value)->strings.size()) {
    return make_error(GANTRY_INVALID_ARGUMENT,
                      "value_string: expected an element of a string tensor");
  }
  *out_string = to_str(of(value)->strings[index]);
  return nullptr;
}

gantry_error* give(std::shared_ptr<HostValue> value, gantry_value** out_value) {
  HostValue* raw = value.get();
  raw->own = std::move(value);
  ++live_values;
  *out_value = reinterpret_cast<gantry_value*>(raw);
  return nullptr;
}

gantry_error* value_create_tensor(uint32_t dtype, uint32_t rank, const int64_t* shape,
                                  gantry_value** out_value, gantry_tensor** out_tensor) {
  const std::vector<int64_t> extents(shape, shape + rank);
  for (const int64_t extent : extents) {
    if (extent < 0)
      return make_error(GANTRY_INVALID_ARGUMENT, "value_create_tensor: an extent below 0");
  }
  auto value = make_value(dtype, extents);
  if (out_tensor) *out_tensor = &value->tensor;
  return give(std::move(value), out_value);
}

gantry_error* value_create(uint32_t kind, uint32_t dtype, gantry_value** out_value) {
  auto value = std::make_shared<HostValue>();
  value->kind = kind;
  value->dtype = dtype;
  return give(std::move(value), out_value);
}

// Appends the N maps that a map with values [N, C] represents.
gantry_error* append_rows(HostValue& sequence, const HostValue& map) {
  const HostValue& values = *map.items[1];
  const uint64_t row_bytes = bytes_of(values.dtype, {values.shape[1]});
  if (map.items[0]->shape != std::vector<int64_t>{values.shape[1]} ||
      bytes_of(values.dtype, {8}) < 8) {
    return make_error(GANTRY_INVALID_ARGUMENT,
                      "value_append: maps in rows need keys [C] and values [N, C] of whole bytes");
  }
  for (int64_t i = 0; i < values.shape[0]; ++i) {
    auto row = make_value(values.dtype, {values.shape[1]});
    const auto* from = static_cast<const char*>(values.tensor.data) + row_bytes * uint64_t(i);
    if (row_bytes > 0) std::memcpy(row->tensor.data, from, row_bytes);
    auto item = std::make_shared<HostValue>();
    item->kind = GANTRY_KIND_MAP;
    item->dtype = values.dtype;
    item->items = {map.items[0], std::move(row)};
    sequence.items.push_back(std::move(item));
  }
  return nullptr;
}

gantry_error* value_append(gantry_value* value, const gantry_value* item) {
  if (!value || !item || !of(item)->own)
    return make_error(GANTRY_INVALID_ARGUMENT, "value_append: expected two values");
  const HostValue& added = *of(item);
  if (of(value)->kind == GANTRY_KIND_SEQUENCE && added.kind == GANTRY_KIND_MAP &&
      added.items.size() == 2 && added.items[1]->shape.size() == 2)
    return append_rows(*of(value), added);
  of(value)->items.push_back(of(item)->own);
  return nullptr;
}

gantry_error* value_set_string(gantry_value* value, uint64_t index, gantry_str text) {
  if (!value || index >= of(value)->strings.size()) {
    return make_error(GANTRY_INVALID_ARGUMENT,
                      "value_set_string: expected an element of a string tensor");
  }
  of(value)->strings[index] = to_string(text);
  return nullptr;
}

void value_release(gantry_value* value) {
  if (!value) return;
  const std::shared_ptr<HostValue> last = std::move(of(value)->own);
  if (last) --live_values;
}

void release_error(gantry_error* error) {
  if (error) --live_errors;
  delete reinterpret_cast<HostError*>(error);
}

}  // namespace

void add_host_services(gantry_host& table) {
  table.error_create = [](uint32_t code, gantry_str message) {
    return make_error(code, to_string(message));
  };
  table.error_code = [](const gantry_error* error) { return error ? of(error)->code : 0U; };
  table.error_message = [](const gantry_error* error) {
    return error ? to_str(of(error)->message) : gantry_str{};
  };
  table.error_release = release_error;
  table.log = [](uint32_t, gantry_str) {};
  table.allocate = allocate;
  table.release = release;
  table.packed_acquire = packed_acquire;
  table.packed_release = packed_release;
  table.value_kind = [](const gantry_value* value) {
    return value ? of(value)->kind : static_cast<uint32_t>(GANTRY_KIND_UNKNOWN);
  };
  table.value_tensor = [](const gantry_value* value) -> const gantry_tensor* {
    return value && of(value)->kind == GANTRY_KIND_TENSOR ? &of(value)->tensor : nullptr;
  };
  table.value_string = value_string;
  table.value_length = [](const gantry_value* value) -> uint64_t {
    return value ? of(value)->items.size() : 0;
  };
  table.value_at = [](const gantry_value* value, uint64_t index) -> const gantry_value* {
    return value && index < of(value)->items.size() ? to_boundary(*of(value)->items[index])
                                                    : nullptr;
  };
  table.value_create_tensor = value_create_tensor;
  table.value_create = value_create;
  table.value_append = value_append;
  table.value_set_string = value_set_string;
  table.value_release = value_release;
}

gantry_error* make_error(uint32_t code, const std::string& message) {
  ++live_errors;
  return reinterpret_cast<gantry_error*>(new HostError{code, message});
}

std::shared_ptr<void> aligned_memory(uint64_t size_bytes) {
  constexpr uint64_t kStep = 64;
  void* memory = std::aligned_alloc(kStep, (size_bytes / kStep + 1) * kStep);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, size_bytes);
  return {memory, [](void* block) { std::free(block); }};
}

uint64_t bytes_of(uint32_t dtype, const std::vector<int64_t>& shape) {
  return gantry::bytes_of(static_cast<DType>(dtype), element_count(shape));
}

std::shared_ptr<HostValue> make_value(uint32_t dtype, const std::vector<int64_t>& shape) {
  auto value = std::make_shared<HostValue>();
  value->dtype = dtype;
  value->shape = shape;
  value->tensor.size = sizeof(gantry_tensor);
  value->tensor.dtype = dtype;
  value->tensor.rank = static_cast<uint32_t>(shape.size());
  value->tensor.shape = value->shape.data();
  if (dtype == GANTRY_STRING) {
    value->strings.resize(static_cast<size_t>(element_count(shape)));
  } else {
    value->tensor.size_bytes = bytes_of(dtype, shape);
    value->memory = aligned_memory(value->tensor.size_bytes);
    value->tensor.data = value->memory.get();
  }
  return value;
}

HostCounts host_counts() { return {live_errors, live_values, live_bytes, live_packed}; }

void fail_allocations_after(int64_t count) { allocations_left = count; }

std::string take_error(gantry_error* error) {
  if (!error) return {};
  std::string text = std::string(gantry::to_string(static_cast<Code>(of(error)->code))) + ": " +
                     of(error)->message;
  release_error(error);
  return text;
}

uint32_t take_code(gantry_error* error) {
  const uint32_t code = error ? of(error)->code : static_cast<uint32_t>(GANTRY_OK);
  release_error(error);
  return code;
}

}  // namespace gantry::checks
