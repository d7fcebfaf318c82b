// SPDX-License-Identifier: Apache-2.0
#include "base/elements.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gantry {
namespace {

void store_packed(void* data, size_t index, uint32_t bits, uint8_t code) {
  const size_t offset = index % 8 * bits;
  uint8_t* byte = static_cast<uint8_t*>(data) + index / 8 * bits + offset / 8;
  const uint32_t place = ((1U << bits) - 1) << offset % 8;
  byte[0] = static_cast<uint8_t>(byte[0] & ~place);
  if (place > 0xff) byte[1] = static_cast<uint8_t>(byte[1] & ~(place >> 8));
  fill_packed(data, index, bits, code);
}

// Eight packed elements fill whole bytes; the rest of a segment is copied element by element.
void copy_packed(const void* from, size_t source, void* to, size_t target, size_t length,
                 uint32_t bits) {
  size_t done = 0;
  if (source % 8 == 0 && target % 8 == 0) {
    done = length / 8 * 8;
    std::memcpy(static_cast<std::byte*>(to) + target / 8 * bits,
                static_cast<const std::byte*>(from) + source / 8 * bits, done / 8 * bits);
  }
  for (; done < length; ++done)
    store_packed(to, target + done, bits, load_packed(from, source + done, bits));
}

}  // namespace

void copy_elements(const gantry_value& from, StridedSegments source, gantry_value& to,
                   StridedSegments target, int64_t count, int64_t length) {
  if (length == 0) return;
  const uint32_t bits = bits_of(from.dtype);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = source.first + i * source.pitch;
    const int64_t place = target.first + i * target.pitch;
    if (from.dtype == DType::kString) {
      std::copy_n(from.strings.begin() + first, length, to.strings.begin() + place);
    } else if (bits < 8) {
      copy_packed(from.view.data, static_cast<size_t>(first), to.view.data,
                  static_cast<size_t>(place), static_cast<size_t>(length), bits);
    } else {
      const uint64_t size = bits / 8;
      std::memcpy(
          static_cast<std::byte*>(to.view.data) + static_cast<uint64_t>(place) * size,
          static_cast<const std::byte*>(from.view.data) + static_cast<uint64_t>(first) * size,
          static_cast<uint64_t>(length) * size);
    }
  }
}

bool are_plain_bools(const void* data, uint64_t size_bytes) noexcept {
  const auto* bytes = static_cast<const uint8_t*>(data);
  uint8_t bits = 0;
  for (uint64_t i = 0; i < size_bytes; ++i) bits = static_cast<uint8_t>(bits | bytes[i]);
  return bits <= 1;
}

void make_plain_bools(void* data, uint64_t size_bytes) noexcept {
  auto* bytes = static_cast<uint8_t*>(data);
  for (uint64_t i = 0; i < size_bytes; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

ValueRef with_plain_bools(ValueRef value) {
  if (!value) return value;
  if (value->kind == GANTRY_KIND_TENSOR) {
    const bool is_plain = value->dtype != DType::kBool || value->device ||
                          are_plain_bools(value->view.data, value->view.size_bytes);
    if (is_plain) return value;
    ValueRef copy = copy_tensor(*value);
    make_plain_bools(copy->view.data, copy->view.size_bytes);
    return copy;
  }
  // Maps of rows have no bools.
  if (value->rows || (value->dtype != DType::kBool && value->dtype != DType::kUndefined))
    return value;
  std::shared_ptr<gantry_value> changed;
  for (size_t i = 0; i < value->items.size(); ++i) {
    ValueRef item = with_plain_bools(value->items[i]);
    if (item == value->items[i]) continue;
    if (!changed) {
      changed = std::make_shared<gantry_value>();
      changed->kind = value->kind;
      changed->dtype = value->dtype;
      changed->items = value->items;
    }
    changed->items[i] = std::move(item);
  }
  return changed ? changed : value;
}

}  // namespace gantry
