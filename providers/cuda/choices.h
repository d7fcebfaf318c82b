// SPDX-License-Identifier: Apache-2.0
// Which of several ways of doing the same was the fastest on a device, kept on disk too.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "code_cache.h"
#include "variants.h"

namespace gantry::cuda {

/// Of one device. Any thread.
class Choices {
 public:
  /// `device`: its name, as devices of one name choose alike; `folder`: of the cache.
  Choices(std::string device, std::string folder)
      : device_(std::move(device)), cache_(std::move(folder)) {}

  /// Number of the way that was chosen for what `text` names, of `count`, or the first where
  /// nothing was and there have been many variants of one of its `families`; -1: they are to be
  /// timed.
  int find(const std::string& text, const std::vector<std::string>& families, int count);
  void keep(const std::string& text, int chosen);

 private:
  [[nodiscard]] std::string key_of(const std::string& text) const;

  const std::string device_;
  const CodeCache cache_;
  std::mutex mutex_;
  std::map<std::string, int> known_;  // by text
  Variants variants_{kMostProductVariants};
};

}  // namespace gantry::cuda
