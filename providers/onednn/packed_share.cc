// SPDX-License-Identifier: Apache-2.0
#include "packed_share.h"

#include <mutex>
#include <set>

namespace gantry::onednn {
namespace {

using Key = std::array<Digest, 2>;

struct Spoilt {
  std::mutex mutex;
  std::set<Key> keys;
};

// Never destroyed: sessions may end after it would be.
Spoilt& spoilt() {
  static auto& instance = *new Spoilt;
  return instance;
}

}  // namespace

void note_filled(const Key& key, bool is_filled) {
  const std::lock_guard lock(spoilt().mutex);
  if (is_filled) {
    spoilt().keys.erase(key);
  } else {
    spoilt().keys.insert(key);
  }
}

void require_filled(const Key& key) {
  const std::lock_guard lock(spoilt().mutex);
  if (spoilt().keys.count(key) == 0) return;
  throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                   "onednn: another session, which was to pack these weights, could not");
}

}  // namespace gantry::onednn
