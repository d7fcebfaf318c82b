// SPDX-License-Identifier: Apache-2.0
// The log of finding and loading providers: to the log of the process, and to standard error or a
// file as GANTRY_LOADER_LOG says (docs/MANIFEST.md). Any thread.
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
  /// `wish`: the variable's value: a level, subjects, file=PATH, separated by commas; empty: only
  /// the log of the process. INVALID_ARGUMENT: an unknown word, or a file that cannot be written.
  explicit LoaderLog(const std::string& wish);

  /// Writes a line about a candidate. `subject`: a stage of ProviderReport. Never throws.
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
