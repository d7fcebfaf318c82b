// SPDX-License-Identifier: Apache-2.0
#include "elements.h"

#include "broadcast.h"
#include "float6.h"

namespace gantry::cpu {

namespace {

void unpack(const uint8_t* packed, int bits, int64_t count, std::byte* units) {
  for (int64_t i = 0; i < count; ++i) units[i] = static_cast<std::byte>(load_code(packed, i, bits));
}

void pack(const std::byte* units, int bits, int64_t count, uint8_t* packed) {
  store_codes(packed, bits, 0, count, [&](int64_t i) { return units[i]; });
}

}  // namespace

const std::byte* read_units(sdk::Call& call, const gantry_value* value,
                            const gantry_tensor& tensor) {
  const int64_t count = sdk::Shape(tensor).element_count();
  if (tensor.dtype == GANTRY_STRING) {
    auto* views = call.scratch<gantry_str>(count);
    read_strings(call.host(), value, count, views);
    return reinterpret_cast<const std::byte*>(views);
  }
  if (!is_sub_byte(tensor.dtype)) return static_cast<const std::byte*>(tensor.data);
  auto* units = call.scratch<std::byte>(count);
  unpack(static_cast<const uint8_t*>(tensor.data), bits_of(tensor.dtype), count, units);
  return units;
}

UnitWriter::UnitWriter(sdk::Call& call, int slot, uint32_t dtype, sdk::Shape shape)
    : call_(call),
      slot_(slot),
      dtype_(dtype),
      count_(checked_count(shape.data, shape.rank, "an output")) {
  if (count_ > INT64_MAX / 16)
    throw sdk::Error(GANTRY_OUT_OF_MEMORY, "an output of more than 2^63 bytes was asked for");
  gantry_tensor* tensor = nullptr;
  if (dtype == GANTRY_STRING) {
    value_.emplace(create_string_tensor(call.host(), shape));
    units_ = reinterpret_cast<std::byte*>(call.scratch<gantry_str>(count_));
    return;
  }
  if (slot != kNoSlot) {
    tensor = &call.output(slot, dtype, shape);
  } else {
    value_.emplace(create_tensor(call.host(), dtype, shape, tensor));
  }
  if (is_sub_byte(dtype)) {
    packed_ = static_cast<uint8_t*>(tensor->data);
    units_ = call.scratch<std::byte>(count_);
  } else {
    units_ = static_cast<std::byte*>(tensor->data);
  }
}

void UnitWriter::finish() {
  if (packed_) pack(units_, bits_of(dtype_), count_, packed_);
  if (dtype_ != GANTRY_STRING) return;
  const auto* views = reinterpret_cast<const gantry_str*>(units_);
  for (int64_t i = 0; i < count_; ++i) set_string(call_.host(), value_->get(), i, views[i]);
  if (slot_ != kNoSlot) call_.output_value(slot_, value_->get());
}

}  // namespace gantry::cpu
