// SPDX-License-Identifier: Apache-2.0
#include "objects/value.h"

#include <gantry/sdk/bits.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "objects/api_table.h"
#include "objects/memory.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw ApiError(ErrorCode::kInvalidArgument, message);
}

std::string& text_at(Value& value, size_t index) {
  if (index >= value.texts.size()) {
    fail("element " + std::to_string(index) + " of a tensor of " +
         std::to_string(value.texts.size()) + " strings");
  }
  return value.texts[index];
}
const std::string& text_at(const Value& value, size_t index) {
  return text_at(const_cast<Value&>(value), index);
}

Status* create_tensor(Allocator*, const int64_t* shape, size_t rank, int api_type, Value** out) {
  return guarded([&] {
    *out = Value::make({dtype_of(api_type), {shape, shape + rank}}).release();
  });
}

Status* create_tensor_with_data(const MemoryInfo*, void* data, size_t bytes, const int64_t* shape,
                                size_t rank, int api_type, Value** out) {
  return guarded([&] {
    auto value = std::make_unique<Value>();
    value->type = {dtype_of(api_type), {shape, shape + rank}};
    value->data = data;
    if (value->type.dtype == GANTRY_STRING)
      fail("a tensor of strings has no memory of the caller's");
    if (value->size_bytes() > bytes) {
      fail("a tensor of " + std::to_string(value->size_bytes()) + " bytes in memory of " +
           std::to_string(bytes));
    }
    *out = value.release();
  });
}

// The allocator gives the memory back when the last value of it is released.
Status* create_tensor_with_deleter(Allocator* deleter, void* data, size_t bytes,
                                   const int64_t* shape, size_t rank, int api_type, Value** out) {
  Status* status = create_tensor_with_data(nullptr, data, bytes, shape, rank, api_type, out);
  if (status) return status;
  return guarded([&] {
    (*out)->memory = {data, [deleter](void* memory) { deleter->release(deleter, memory); }};
  });
}

Status* is_tensor(const Value* value, int* out) {
  *out = value->kind == ValueKind::kTensor ? 1 : 0;
  return nullptr;
}
Status* is_sparse_tensor(const Value*, int* out) {
  *out = 0;
  return nullptr;
}
Status* has_value(const Value* value, int* out) {
  *out = value->kind == ValueKind::kUnknown ? 0 : 1;
  return nullptr;
}
Status* get_value_type(const Value* value, ValueKind* out) {
  *out = value->kind;
  return nullptr;
}

void expect_tensor(const Value& value) {
  if (value.kind != ValueKind::kTensor) fail("expected a tensor, found a value of another kind");
}

Status* get_data(Value* value, void** out) {
  return guarded([&] {
    expect_tensor(*value);
    if (value->type.dtype == GANTRY_STRING)
      fail("the elements of a tensor of strings are read by GetStringTensorContent");
    *out = value->data;
  });
}
Status* get_size_bytes(const Value* value, size_t* out) {
  return guarded([&] { *out = value->size_bytes(); });
}
Status* get_memory_info(const Value*, const MemoryInfo** out) {
  *out = &host_memory();
  return nullptr;
}

Status* get_tensor_type(const Value* value, TensorType** out) {
  return guarded([&] {
    expect_tensor(*value);
    *out = new TensorType(value->type);
  });
}
Status* get_type(const Value* value, TypeInfo** out) {
  return guarded([&] { *out = new TypeInfo(type_of(*value)); });
}

/// The element at a position, by its index on each axis.
Status* get_element(Value* value, const int64_t* position, size_t rank, void** out) {
  constexpr size_t kByteBits = 8;
  return guarded([&] {
    expect_tensor(*value);
    const std::vector<int64_t>& shape = value->type.shape;
    const size_t bits = sdk::bits_of(value->type.dtype);
    if (bits < kByteBits) fail("elements of text or of less than a byte have no address");
    if (rank != shape.size()) fail("a position on another number of axes than the tensor has");
    int64_t offset = 0;
    for (size_t i = 0; i < rank; ++i) {
      if (position[i] < 0 || position[i] >= shape[i]) fail("a position outside of the tensor");
      offset = offset * shape[i] + position[i];
    }
    *out = static_cast<std::byte*>(value->data) + static_cast<size_t>(offset) * bits / kByteBits;
  });
}

Status* fill_strings(Value* value, const char* const* texts, size_t count) {
  return guarded([&] {
    if (count != value->texts.size()) {
      fail(std::to_string(count) + " strings for a tensor of " +
           std::to_string(value->texts.size()));
    }
    std::copy_n(texts, count, value->texts.begin());
  });
}
Status* fill_string(Value* value, const char* text, size_t index) {
  return guarded([&] { text_at(*value, index) = text; });
}
Status* resize_string(Value* value, size_t index, size_t bytes, char** out) {
  return guarded([&] {
    std::string& text = text_at(*value, index);
    text.resize(bytes);
    *out = text.data();
  });
}

Status* get_strings_length(const Value* value, size_t* out) {
  *out = 0;
  for (const std::string& text : value->texts) *out += text.size();
  return nullptr;
}
Status* get_strings(const Value* value, void* target, size_t bytes, size_t* offsets, size_t count) {
  return guarded([&] {
    size_t needed = 0;
    get_strings_length(value, &needed);
    if (bytes < needed || count < value->texts.size()) {
      fail("room for " + std::to_string(bytes) + " bytes and " + std::to_string(count) +
           " offsets, for " + std::to_string(value->texts.size()) + " strings of " +
           std::to_string(needed) + " bytes");
    }
    auto* to = static_cast<char*>(target);
    size_t offset = 0;
    for (size_t i = 0; i < value->texts.size(); ++i) {
      const std::string& text = value->texts[i];
      std::copy(text.begin(), text.end(), to + offset);
      offsets[i] = offset;
      offset += text.size();
    }
  });
}
Status* get_string_length(const Value* value, size_t index, size_t* out) {
  return guarded([&] { *out = text_at(*value, index).size(); });
}
Status* get_string(const Value* value, size_t bytes, size_t index, void* target) {
  return guarded([&] {
    const std::string& text = text_at(*value, index);
    if (bytes < text.size()) {
      fail("room for " + std::to_string(bytes) + " bytes for a string of " +
           std::to_string(text.size()));
    }
    std::copy(text.begin(), text.end(), static_cast<char*>(target));
  });
}

void release_value(Value* value) { delete value; }

}  // namespace

size_t Value::size_bytes() const {
  constexpr size_t kBits = 8;
  size_t bits = 0;
  if (__builtin_mul_overflow(type.element_count(), static_cast<size_t>(sdk::bits_of(type.dtype)),
                             &bits)) {
    fail("a tensor must have less than 2^61 bytes");
  }
  return bits / kBits + (bits % kBits != 0 ? 1 : 0);
}

std::unique_ptr<Value> Value::make(TensorType type) {
  auto value = std::make_unique<Value>();
  value->type = std::move(type);
  if (value->type.dtype == GANTRY_STRING) {
    value->texts.resize(value->type.element_count());
    return value;
  }
  if (sdk::bits_of(value->type.dtype) == 0)
    fail("element type " + std::to_string(value->type.dtype) + " of a tensor is not known");
  Allocator& allocator = host_allocator();
  value->data = allocator.allocate(&allocator, value->size_bytes());
  if (!value->data) throw std::bad_alloc();
  value->memory = {value->data,
                   [](void* memory) { host_allocator().release(&host_allocator(), memory); }};
  return value;
}

TypeInfo type_of(const Value& value) {
  TypeInfo type{.kind = value.kind, .tensor = value.type};
  if (value.kind == ValueKind::kSequence) {
    if (value.items.empty()) fail("the type of an empty sequence is not known");
    type.inner = std::make_shared<TypeInfo>(type_of(*value.items[0]));
  } else if (value.kind == ValueKind::kMap) {
    type.key = value.items[0]->type.dtype;
    type.inner = std::make_shared<TypeInfo>(type_of(*value.items[1]));
  }
  return type;
}

void add_value_functions(ApiTable& table) {
  table.set(Slot::kCreateTensorAsOrtValue, create_tensor);
  table.set(Slot::kCreateTensorWithDataAsOrtValue, create_tensor_with_data);
  table.set(Slot::kCreateTensorWithDataAndDeleter, create_tensor_with_deleter);
  table.set(Slot::kIsTensor, is_tensor);
  table.set(Slot::kIsSparseTensor, is_sparse_tensor);
  table.set(Slot::kHasValue, has_value);
  table.set(Slot::kGetValueType, get_value_type);
  table.set(Slot::kGetTensorMutableData, get_data);
  table.set(Slot::kGetTensorData, get_data);
  table.set(Slot::kGetTensorSizeInBytes, get_size_bytes);
  table.set(Slot::kGetTensorMemoryInfo, get_memory_info);
  table.set(Slot::kGetTensorTypeAndShape, get_tensor_type);
  table.set(Slot::kTensorAt, get_element);
  table.set(Slot::kGetTypeInfo, get_type);
  table.set(Slot::kFillStringTensor, fill_strings);
  table.set(Slot::kFillStringTensorElement, fill_string);
  table.set(Slot::kGetResizedStringTensorElementBuffer, resize_string);
  table.set(Slot::kGetStringTensorDataLength, get_strings_length);
  table.set(Slot::kGetStringTensorContent, get_strings);
  table.set(Slot::kGetStringTensorElementLength, get_string_length);
  table.set(Slot::kGetStringTensorElement, get_string);
  table.set(Slot::kReleaseValue, release_value);
}

}  // namespace gantry::ort
