// SPDX-License-Identifier: Apache-2.0
// How often the worker processes of a provider have ended before their time. Kept for as long as
// this process lives, whoever opens the provider again. Any thread.
#pragma once

#include <chrono>
#include <string>

namespace gantry {

class CrashLadder {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr int kMostCrashes = 3;
  static constexpr std::chrono::minutes kWithin{10};

  /// `library`: by which the provider is known.
  explicit CrashLadder(std::string library) : library_(std::move(library)) {}
  /// Notes an end; one sentence without a final stop says how it came. With kMostCrashes of them
  /// within kWithin the provider is put in quarantine.
  void note(const std::string& how, Clock::time_point now = Clock::now()) const;
  /// Why the provider is in quarantine; empty: it is not.
  [[nodiscard]] std::string quarantine() const;

 private:
  std::string library_;
};

}  // namespace gantry
