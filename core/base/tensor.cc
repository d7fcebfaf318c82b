// SPDX-License-Identifier: Apache-2.0
#include <gantry/tensor.h>

#include <cstring>
#include <utility>

#include "base/value.h"

namespace gantry {
namespace {

std::shared_ptr<gantry_value> make_list(gantry_kind kind, DType dtype,
                                        const std::vector<Value>& items) {
  auto list = std::make_shared<gantry_value>();
  list->kind = kind;
  list->dtype = dtype;
  list->items.reserve(items.size());
  for (const Value& item : items) {
    const std::string subject(to_string(static_cast<Kind>(kind)));
    if (!item.handle()) {
      throw Error(Code::kInvalidArgument, "element " + std::to_string(list->items.size()) +
                                              " of a " + subject +
                                              " holds nothing; it must be a value");
    }
    if (item.kind() == Kind::kTensor) require_on_host(*item.handle(), "a list of values");
    if (item.kind() == Kind::kTensor && item.handle()->dtype != dtype) {
      throw Error(Code::kInvalidArgument,
                  "element " + std::to_string(list->items.size()) + " of a " + subject + " of " +
                      std::string(to_string(dtype)) + " is " + describe(*item.handle()));
    }
    list->items.push_back(item.handle());
  }
  return list;
}

bool is_map_key(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kUint16:
    case DType::kUint32:
    case DType::kUint64:
    case DType::kString:
      return true;
    default:
      return false;
  }
}

}  // namespace

Value Value::sequence(DType dtype, const std::vector<Value>& items) {
  return Value(make_list(GANTRY_KIND_SEQUENCE, dtype, items));
}

Value Value::optional(DType dtype, Value item) {
  if (!item.handle()) return Value(make_list(GANTRY_KIND_OPTIONAL, dtype, {}));
  return Value(make_list(GANTRY_KIND_OPTIONAL, dtype, {std::move(item)}));
}

Value Value::map(const Tensor& keys, const Tensor& values) {
  if (keys.shape().size() != 1 || values.shape().size() != 1 || keys.shape() != values.shape()) {
    throw Error(Code::kInvalidArgument,
                "keys and values of a map must be two tensors of one shape [N]; found " +
                    describe(keys.dtype(), keys.shape()) + " and " +
                    describe(values.dtype(), values.shape()));
  }
  if (!is_map_key(keys.dtype())) {
    throw Error(Code::kInvalidArgument, "keys of a map must be integers or strings; found " +
                                            std::string(to_string(keys.dtype())));
  }
  if (keys.handle()) require_on_host(*keys.handle(), "a map");
  if (values.handle()) require_on_host(*values.handle(), "a map");
  auto map = std::make_shared<gantry_value>();
  map->kind = GANTRY_KIND_MAP;
  map->dtype = values.dtype();
  map->items = {keys.handle(), values.handle()};
  return Value(std::move(map));
}

Kind Value::kind() const { return handle_ ? static_cast<Kind>(handle_->kind) : Kind::kUnknown; }

size_t Value::size() const { return handle_ ? item_count(*handle_) : 0; }

Value Value::at(size_t index) const {
  if (index >= size()) {
    throw Error(Code::kInvalidArgument, "element " + std::to_string(index) +
                                            " was asked of a value with " + std::to_string(size()) +
                                            " elements");
  }
  return Value(items_of(*handle_)[index]);
}

std::optional<MapTable> Value::map_table() const {
  if (!handle_ || !handle_->rows) return {};
  return MapTable{Tensor(handle_->rows->keys()), Tensor(handle_->rows->values())};
}

Tensor Value::tensor() const {
  if (kind() != Kind::kTensor) {
    throw Error(Code::kInvalidArgument, "a tensor was expected; the value is " +
                                            (handle_ ? describe(*handle_) : "nothing"));
  }
  return Tensor(handle_);
}

Tensor::Tensor(DType dtype, std::vector<int64_t> shape)
    : Value(make_tensor(dtype, std::move(shape))) {
  if (handle_->view.size_bytes != 0) std::memset(handle_->view.data, 0, handle_->view.size_bytes);
}

Tensor::Tensor(std::vector<int64_t> shape, std::vector<std::string> strings)
    : Value(make_tensor(DType::kString, std::move(shape))) {
  if (strings.size() != handle_->strings.size()) {
    throw Error(Code::kInvalidArgument, describe(*handle_) + " needs " +
                                            std::to_string(handle_->strings.size()) +
                                            " strings; found " + std::to_string(strings.size()));
  }
  handle_->strings = std::move(strings);
}

Tensor Tensor::borrow(DType dtype, std::vector<int64_t> shape, void* data, uint64_t size_bytes,
                      std::shared_ptr<const void> owner) {
  return Tensor(view_tensor(dtype, std::move(shape), data, size_bytes, std::move(owner)));
}

DType Tensor::dtype() const { return handle_ ? handle_->dtype : DType::kUndefined; }

const std::vector<int64_t>& Tensor::shape() const {
  static const std::vector<int64_t> kNone;
  return handle_ ? handle_->shape : kNone;
}

int64_t Tensor::element_count() const {
  return handle_ ? gantry::element_count(handle_->shape) : 0;
}

uint64_t Tensor::size_bytes() const { return handle_ ? handle_->view.size_bytes : 0; }

Device Tensor::device() const {
  return handle_ && handle_->device ? handle_->device->name : Device{};
}

bool Tensor::is_on_host() const { return !handle_ || !handle_->device; }

DlpackDevice Tensor::lend() const {
  if (is_on_host()) return {};
  const TensorDevice& device = *handle_->device;
  if (!device.dlpack) {
    throw Error(Code::kUnsupported,
                describe(*handle_) + " is in the memory of " + device.name.to_string() +
                    ", which other libraries cannot use; copy it to the host for them");
  }
  device.was_lent = true;
  return *device.dlpack;
}

void* Tensor::data() { return handle_ ? handle_->view.data : nullptr; }

const void* Tensor::data() const { return handle_ ? handle_->view.data : nullptr; }

const std::vector<std::string>& Tensor::strings() const {
  expect(DType::kString);
  return handle_->strings;
}

void Tensor::fill(const void* data, size_t size_bytes) {
  if (size_bytes != handle_->view.size_bytes) {
    throw Error(Code::kInvalidArgument, describe(*handle_) + " needs " +
                                            std::to_string(handle_->view.size_bytes) +
                                            " bytes; found " + std::to_string(size_bytes));
  }
  if (size_bytes != 0) std::memcpy(handle_->view.data, data, size_bytes);
}

void Tensor::expect(DType expected) const {
  if (handle_) require_on_host(*handle_, "elements");
  if (dtype() == expected) return;
  throw Error(Code::kInvalidArgument, "elements of type " + std::string(to_string(expected)) +
                                          " were asked of a tensor of " +
                                          std::string(to_string(dtype())));
}

}  // namespace gantry
