// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/value_message.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "base/elements.h"

namespace gantry {
namespace {

constexpr uint32_t kMostAxes = 64;
constexpr int kMostNested = 16;

[[noreturn]] void fail_value(const std::string& what) {
  throw Error(Code::kInternal, "a value between gantry and a worker process " + what);
}

ValueRef read_tensor(MessageReader& from, const FindData& find) {
  const auto dtype = static_cast<DType>(from.get<uint32_t>());
  std::vector<int64_t> shape = from.list<int64_t>();
  if (shape.size() > kMostAxes) fail_value("has " + std::to_string(shape.size()) + " axes");
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }))
    fail_value("has an extent below 0");
  if (dtype == DType::kString) {
    const uint64_t count = from.count(sizeof(uint64_t));
    if (count != static_cast<uint64_t>(element_count(shape))) fail_value("has too few strings");
    ValueRef value = make_tensor(dtype, std::move(shape));
    for (std::string& text : value->strings) text = from.text();
    return value;
  }
  if (bits_of(dtype) == 0)
    fail_value("has the element type " + std::to_string(static_cast<int>(dtype)));
  const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
  DataPlace place;
  place.where = from.get<uint64_t>();
  place.offset = from.get<uint64_t>();
  if (place.where != DataPlace::kInline) {
    std::shared_ptr<const void> data = find(place, size_bytes);
    const void* at = data.get();
    return view_tensor(dtype, std::move(shape), at, size_bytes, std::move(data));
  }
  const std::span<const std::byte> bytes = from.take(size_bytes);
  ValueRef value = make_tensor(dtype, std::move(shape));
  if (size_bytes > 0) std::memcpy(value->view.data, bytes.data(), size_bytes);
  return with_plain_bools(std::move(value));
}

ValueRef read_nested(MessageReader& from, const FindData& find, int depth) {
  const auto kind = from.get<uint32_t>();
  if (kind == GANTRY_KIND_TENSOR) return read_tensor(from, find);
  if (kind != GANTRY_KIND_SEQUENCE && kind != GANTRY_KIND_OPTIONAL && kind != GANTRY_KIND_MAP)
    fail_value("has the kind " + std::to_string(kind));
  if (depth >= kMostNested) fail_value("is nested too deeply");
  auto value = std::make_shared<gantry_value>();
  value->kind = static_cast<gantry_kind>(kind);
  value->dtype = static_cast<DType>(from.get<uint32_t>());
  const uint64_t items = from.count(sizeof(uint32_t));
  const bool fits =
      kind == GANTRY_KIND_SEQUENCE || (kind == GANTRY_KIND_MAP ? items == 2 : items < 2);
  if (!fits)
    fail_value("has " + std::to_string(items) + " items, more or fewer than its kind takes");
  for (uint64_t i = 0; i < items; ++i) value->items.push_back(read_nested(from, find, depth + 1));
  return value;
}

}  // namespace

void write_tensor(MessageWriter& to, const gantry_tensor& tensor, const DataPlace& place) {
  to.put<uint32_t>(GANTRY_KIND_TENSOR);
  to.put<uint32_t>(tensor.dtype);
  to.list(tensor.shape, tensor.rank);
  to.put(place.where);
  to.put(place.offset);
  if (place.where == DataPlace::kInline) to.append(tensor.data, tensor.size_bytes);
}

void write_value(MessageWriter& to, const gantry_value& value, const PlaceData& place) {
  if (value.kind == GANTRY_KIND_TENSOR && value.dtype != DType::kString) {
    write_tensor(to, value.view, place(value.view));
    return;
  }
  to.put<uint32_t>(value.kind);
  to.put(static_cast<uint32_t>(value.dtype));
  if (value.kind == GANTRY_KIND_TENSOR) {
    to.list(value.shape);
    to.put<uint64_t>(value.strings.size());
    for (const std::string& text : value.strings) to.text(text);
    return;
  }
  to.put<uint64_t>(item_count(value));
  for (const ValueRef& item : items_of(value)) write_value(to, *item, place);
}

ValueRef read_value(MessageReader& from, const FindData& find) {
  return read_nested(from, find, 0);
}

}  // namespace gantry
