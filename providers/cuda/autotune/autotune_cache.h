// SPDX-License-Identifier: Apache-2.0
// Results of autotuning: which of several candidate implementations was fastest on a device. Cached
// in memory and on disk.
#pragma once

#include <gantry/sdk/mutex.h>

#include <map>
#include <string>
#include <vector>

#include "autotune/variants.h"
#include "compile/code_cache.h"

namespace gantry::cuda {

/// The cache of one device. Any thread.
class AutotuneCache {
 public:
  /// `device`: the device's name; devices of the same name share choices. `folder`: of the disk
  /// cache.
  AutotuneCache(std::string device, std::string folder)
      : device_(std::move(device)), cache_(std::move(folder)) {}

  /// Index of the candidate, of `count`, that was chosen for tuning key `text`. -1: the caller must
  /// time the candidates and store() the fastest. 0 without timing if too many variants of one of
  /// the `families` were tuned already.
  int find(const std::string& text, const std::vector<std::string>& families, int count);
  void store(const std::string& text, int chosen);

 private:
  [[nodiscard]] std::string key_of(const std::string& text) const;

  const std::string device_;
  const CodeCache cache_;
  sdk::Mutex mutex_;
  std::map<std::string, int> known_ GANTRY_GUARDED_BY(mutex_);  // by text
  Variants variants_ GANTRY_GUARDED_BY(mutex_){kMostMatmulVariants};
};

}  // namespace gantry::cuda
