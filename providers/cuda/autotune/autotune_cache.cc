// SPDX-License-Identifier: Apache-2.0
#include "autotune/autotune_cache.h"

namespace gantry::cuda {

std::string AutotuneCache::key_of(const std::string& text) const {
  return CodeCache::key_of("choice-1|" + device_ + "|" + text);
}

int AutotuneCache::find(const std::string& text, const std::vector<std::string>& families,
                        int count) {
  const sdk::MutexLock lock(mutex_);
  const auto found = known_.find(text);
  if (found != known_.end()) return found->second < count ? found->second : -1;
  std::string stored;
  int chosen = -1;
  if (cache_.load(key_of(text), stored) && stored.size() == 1) chosen = stored[0] - '0';
  if (chosen < 0 || chosen >= count) {
    if (variants_.is_one_of_the_first(families)) return -1;
    chosen = 0;
  }
  known_[text] = chosen;
  return chosen;
}

void AutotuneCache::store(const std::string& text, int chosen) {
  const sdk::MutexLock lock(mutex_);
  known_[text] = chosen;
  cache_.store(key_of(text), std::string(1, static_cast<char>('0' + chosen)));
}

}  // namespace gantry::cuda
