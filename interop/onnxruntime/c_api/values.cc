// SPDX-License-Identifier: Apache-2.0
#include "c_api/values.h"

#include <cstring>
#include <utility>

#include "c_api/borrow.h"
#include "c_api/guard.h"
#include "objects/memory.h"

namespace gantry::ort {
namespace {

[[noreturn]] void fail(const std::string& message) {
  throw ApiError(ErrorCode::kInvalidArgument, message);
}

Tensor to_tensor(const Value& value) {
  const auto dtype = static_cast<DType>(value.type.dtype);
  if (dtype == DType::kString) return {value.type.shape, value.texts};
  return borrow_or_copy(dtype, value.type.shape, value.data, value.memory);
}

std::unique_ptr<Value> of_tensor(Tensor tensor) {
  auto value = std::make_unique<Value>();
  value->type = {static_cast<uint32_t>(tensor.dtype()), tensor.shape(), {}};
  if (tensor.dtype() == DType::kString) {
    value->texts = tensor.strings();
    return value;
  }
  if (!tensor.is_on_host()) {
    Tensor copy(tensor.dtype(), tensor.shape());
    Session::copy(tensor, copy);
    tensor = std::move(copy);
  }
  auto kept = std::make_shared<Tensor>(std::move(tensor));
  value->data = kept->data();
  value->memory = std::move(kept);
  return value;
}

Status* get_item(const Value* value, int index, Allocator*, Value** out) {
  return guarded_call([&] {
    if (index < 0 || static_cast<size_t>(index) >= value->items.size()) {
      fail("element " + std::to_string(index) + " of a value of " +
           std::to_string(value->items.size()) + " elements");
    }
    *out = new Value(*value->items[static_cast<size_t>(index)]);
  });
}
Status* get_item_count(const Value* value, size_t* out) {
  return guarded_call([&] {
    if (value->kind != ValueKind::kSequence && value->kind != ValueKind::kMap)
      fail("expected a sequence or a map, found a value of another kind");
    *out = value->items.size();
  });
}
Status* create_container(const Value* const* items, size_t count, ValueKind kind, Value** out) {
  return guarded_call([&] {
    const bool is_map = kind == ValueKind::kMap;
    if (!is_map && kind != ValueKind::kSequence) fail("expected a sequence or a map to be made");
    if (is_map && count != 2) fail("a map is made of its keys and its values, two tensors");
    auto made = std::make_unique<Value>();
    made->kind = kind;
    for (size_t i = 0; i < count; ++i) {
      if (is_map && items[i]->kind != ValueKind::kTensor)
        fail("a map is made of its keys and its values, two tensors");
      made->items.push_back(std::make_shared<Value>(*items[i]));
    }
    *out = made.release();
  });
}

}  // namespace

gantry::Value to_gantry(const Value& value) {
  switch (value.kind) {
    case ValueKind::kTensor:
      return to_tensor(value);
    case ValueKind::kMap:
      return gantry::Value::map(to_tensor(*value.items[0]), to_tensor(*value.items[1]));
    case ValueKind::kSequence: {
      std::vector<gantry::Value> items;
      for (const auto& item : value.items) items.push_back(to_gantry(*item));
      const bool has_tensors = !value.items.empty() && value.items[0]->kind == ValueKind::kTensor;
      const uint32_t dtype = has_tensors ? value.items[0]->type.dtype : 0;
      return gantry::Value::sequence(static_cast<DType>(dtype), items);
    }
    default:
      fail("expected a tensor, a sequence or a map, found a value of another kind");
  }
}

std::unique_ptr<Value> from_gantry(const gantry::Value& value) {
  auto made = std::make_unique<Value>();
  switch (value.kind()) {
    case Kind::kTensor:
      return of_tensor(value.tensor());
    case Kind::kOptional:
      if (value.size() > 0) return from_gantry(value.at(0));
      made->kind = ValueKind::kUnknown;
      return made;
    case Kind::kMap:
    case Kind::kSequence:
      made->kind = value.kind() == Kind::kMap ? ValueKind::kMap : ValueKind::kSequence;
      for (size_t i = 0; i < value.size(); ++i) made->items.push_back(from_gantry(value.at(i)));
      return made;
    default:
      made->kind = ValueKind::kUnknown;
      return made;
  }
}

void copy_elements(const Value& from, Value& to, const std::string& name) {
  if (from.kind != ValueKind::kTensor || to.kind != ValueKind::kTensor ||
      from.type.dtype != to.type.dtype || from.type.shape != to.type.shape)
    fail("output \"" + name + "\": the value that was given for it has another type or shape");
  if (from.type.dtype == static_cast<uint32_t>(DType::kString)) {
    to.texts = from.texts;
  } else {
    std::memcpy(to.data, from.data, from.size_bytes());
  }
}

TypeInfo type_of(const ValueInfo& info) {
  TypeInfo tensor;
  tensor.tensor = {static_cast<uint32_t>(info.dtype), info.shape, info.symbols, info.has_rank};
  if (info.kind == Kind::kTensor) return tensor;
  TypeInfo type;
  type.kind = info.kind == Kind::kSequence   ? ValueKind::kSequence
              : info.kind == Kind::kMap      ? ValueKind::kMap
              : info.kind == Kind::kOptional ? ValueKind::kOptional
                                             : ValueKind::kUnknown;
  type.inner = std::make_shared<TypeInfo>(tensor);
  return type;
}

void add_container_functions(ApiTable& table) {
  table.set(Slot::kGetValue, get_item);
  table.set(Slot::kGetValueCount, get_item_count);
  table.set(Slot::kCreateValue, create_container);
}

}  // namespace gantry::ort
