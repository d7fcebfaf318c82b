// SPDX-License-Identifier: Apache-2.0
// What finding and loading say while they work: to the log of the process, and as GANTRY_LOADER_LOG
// wishes to standard error or a file. docs/MANIFEST.md has the words. Any thread.
#pragma once

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/mutex.h"

namespace gantry {

class LoaderLog {
 public:
  /// `wish` is the variable's value: a level, subjects, file=PATH, with commas between; empty:
  /// nothing beyond the log of the process. INVALID_ARGUMENT: a word that is not known, or a file
  /// that cannot be written.
  explicit LoaderLog(const std::string& wish);

  /// A line about a candidate. `subject` is a stage of ProviderReport. Never throws.
  void write(LogLevel level, const std::string& subject, std::string_view message) noexcept;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  Mutex mutex_;
  bool is_wished_ = false;
  LogLevel level_ = LogLevel::kInfo;
  std::set<std::string> subjects_;  // empty: all
  std::unique_ptr<std::FILE, Close> file_ GANTRY_PT_GUARDED_BY(mutex_);
};

}  // namespace gantry
