// SPDX-License-Identifier: Apache-2.0
#include "onednn/packed_share.h"

#include <gantry/sdk/mutex.h>

#include <set>

namespace gantry::x86 {
namespace {

using Key = std::array<Digest, 2>;

struct FailedKeys {
  sdk::Mutex mutex;
  std::set<Key> keys GANTRY_GUARDED_BY(mutex);
};

// Never destroyed: sessions may end after it would be.
FailedKeys& failed_keys() {
  static auto& instance = *new FailedKeys;
  return instance;
}

}  // namespace

void note_filled(const Key& key, bool is_filled) {
  const sdk::MutexLock lock(failed_keys().mutex);
  if (is_filled) {
    failed_keys().keys.erase(key);
  } else {
    failed_keys().keys.insert(key);
  }
}

void require_filled(const Key& key) {
  const sdk::MutexLock lock(failed_keys().mutex);
  if (failed_keys().keys.count(key) == 0) return;
  throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                   "x86: another session, which was to pack these weights, could not");
}

}  // namespace gantry::x86
