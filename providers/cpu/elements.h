// SPDX-License-Identifier: Apache-2.0
// Type-independent access to elements, for kernels that only move them. Such a kernel sees every
// tensor as an array of trivially copyable units of 1, 2, 4, 8 or 16 bytes. Whole-byte types are
// used in place. Types of 2, 4 and 6 bits are unpacked to a byte each and packed again. Strings
// become views (gantry_str), from which the output is built. All-zero bytes are the neutral element
// of every type: 0, false, "". Used by the thread that runs the kernel.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dispatch.h"
#include "values.h"

namespace gantry::cpu {

static_assert(sizeof(gantry_str) == 16, "strings are moved as units of 16 bytes");

/// Bytes of one unit of type `dtype`.
constexpr int64_t unit_bytes(uint32_t dtype) {
  return dtype == GANTRY_STRING ? 16 : bits_of(dtype) < 8 ? 1 : bits_of(dtype) / 8;
}

/// The unit of 16-byte types: complex128 and strings.
struct Bytes16 {
  uint64_t low;
  uint64_t high;
};

/// Calls f(Type<U>{}) with the unit type of `dtype`: an unsigned integer, or Bytes16.
template <class F>
void dispatch_unit(uint32_t dtype, F&& f) {
  switch (unit_bytes(dtype)) {
    case 1:
      return f(Type<uint8_t>{});
    case 2:
      return f(Type<uint16_t>{});
    case 4:
      return f(Type<uint32_t>{});
    case 8:
      return f(Type<uint64_t>{});
    default:
      return f(Type<Bytes16>{});
  }
}

/// The units of a tensor value, in the tensor itself or in scratch memory; valid until run()
/// returns.
const std::byte* read_units(sdk::Call& call, const gantry_value* value,
                            const gantry_tensor& tensor);
inline const std::byte* read_units(sdk::Call& call, int slot) {
  const gantry_tensor& tensor = call.input(slot);
  // The common case stays inline: nothing to convert.
  if (bits_of(tensor.dtype) >= 8) return static_cast<const std::byte*>(tensor.data);
  return read_units(call, call.value(slot), tensor);
}

/// A new tensor that a kernel writes as units: the output `slot`, or with kNoSlot a value that
/// belongs to no output, such as an item of a sequence. The kernel writes data(), then must call
/// finish().
class UnitWriter {
 public:
  static constexpr int kNoSlot = -1;

  UnitWriter(sdk::Call& call, int slot, uint32_t dtype, sdk::Shape shape);

  [[nodiscard]] std::byte* data() const { return units_; }
  template <class U>
  [[nodiscard]] U* as() const {
    return reinterpret_cast<U*>(units_);
  }
  /// Packs sub-byte types and builds strings; also sets a string output. Nothing to do for other
  /// types.
  void finish();
  /// With kNoSlot the new value, owned by this object. Otherwise null, except for strings.
  [[nodiscard]] const gantry_value* value() const { return value_ ? value_->get() : nullptr; }

 private:
  sdk::Call& call_;
  int slot_;
  uint32_t dtype_;
  int64_t count_;
  std::byte* units_ = nullptr;
  uint8_t* packed_ = nullptr;
  std::optional<OwnedValue> value_;
};

}  // namespace gantry::cpu
