// SPDX-License-Identifier: Apache-2.0
// Counts crashes of a provider's worker processes, and puts the provider in quarantine after too
// many. The counts last as long as this process, also if the provider is opened again. Any thread.
#pragma once

#include <chrono>
#include <string>

namespace gantry {

class CrashCounter {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostCrashes = 3;
  static constexpr std::chrono::minutes kWithin{10};

  /// `library`: identifies the provider.
  explicit CrashCounter(std::string library) : library_(std::move(library)) {}
  /// Counts a crash. `how`: its cause, one sentence without a final stop. kMostCrashes within
  /// kWithin put the provider in quarantine.
  void note(const std::string& how, Clock::time_point now = Clock::now()) const;
  /// Why the provider is in quarantine; empty: it is not.
  [[nodiscard]] std::string quarantine() const;

 private:
  std::string library_;
};

}  // namespace gantry
