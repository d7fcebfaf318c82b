// SPDX-License-Identifier: Apache-2.0
#include "memory/arena.h"

#include <algorithm>
#include <new>
#include <optional>

#include "base/alignment.h"
#include "base/assert.h"
#include "gantry/dtype.h"

namespace gantry {
namespace {

uint64_t extent_of(uint64_t size_bytes) {
  return round_up(std::max<uint64_t>(size_bytes, 1), kTensorAlignment);
}

}  // namespace

std::byte* Arena::reserve(uint64_t size_bytes) {
  GANTRY_ASSERT(parts_lent_ == 0, "a plan has the arena for itself");
  ranges_ = Ranges(0);
  if (size_bytes > size_bytes_) {
    drop();
    data_ = space_.allocate(size_bytes, give_back_);
    size_bytes_ = size_bytes;
  }
  return data();
}

void Arena::drop() noexcept {
  GANTRY_ASSERT(parts_lent_ == 0, "what is lent is not given back");
  ranges_ = Ranges(0);
  space_.free(std::exchange(data_, nullptr), size_bytes_.exchange(0));
}

void Arena::start_lending() {
  GANTRY_ASSERT(parts_lent_ == 0, "lending begins with all of it");
  ranges_ = Ranges(size_bytes_ / kTensorAlignment * kTensorAlignment);
}

void* Arena::lend(uint64_t size_bytes) {
  if (size_bytes > size_bytes_) return nullptr;
  const std::optional<uint64_t> offset = ranges_.take(extent_of(size_bytes));
  if (!offset) return nullptr;
  ++parts_lent_;
  return data() + *offset;
}

void Arena::take_back(void* part, uint64_t size_bytes) noexcept {
  GANTRY_ASSERT(parts_lent_ > 0, "what comes back was lent");
  --parts_lent_;
  const auto offset = static_cast<uint64_t>(static_cast<std::byte*>(part) - data());
  try {
    ranges_.give(offset, extent_of(size_bytes), ++time_);
  } catch (const std::bad_alloc&) {  // the part stays lent until the next start_lending()
  }
}

}  // namespace gantry
