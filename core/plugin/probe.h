// SPDX-License-Identifier: Apache-2.0
// Probes a provider in a child process before it is opened in this one: the program gantry-probe
// opens the library, negotiates, enumerates and exits. A crash there ends only the child.
#pragma once

#include <gantry/error.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gantry {

struct ProbeRequest {
  std::string helper;  ///< path of gantry-probe
  std::string name;    ///< of the provider
  std::string manifest_file;
  std::string manifest;  ///< text
  std::string library;
  std::string options;
  int64_t timeout_ms = 0;
};

/// The result of a probe. `cause`: as ProviderReport::probe.
struct ProbeVerdict {
  std::string cause;
  Code code = Code::kOk;
  std::string message;
  [[nodiscard]] bool has_passed() const { return code == Code::kOk; }
  /// A crash or a hang is expensive to probe again, so it is cached; other failures may be repaired
  /// at any time.
  [[nodiscard]] bool is_sticky() const { return cause == "crashed" || cause == "timed out"; }
};

/// Runs the child and waits for it. UNAVAILABLE: there is no helper, or it cannot be started.
ProbeVerdict probe_in_child(const ProbeRequest& request);

/// The main function of gantry-probe: reads the request from standard input, writes the verdict to
/// descriptor 3, and returns the exit status.
int run_probe_child();

/// A cache of verdicts in a folder: of providers that passed, crashed or hung. A verdict is valid
/// for the same library, manifest, options and core; that of a crash or a hang for an hour.
class ProbeCache {
 public:
  /// `folder` empty: no cache.
  explicit ProbeCache(const std::string& folder) : folder_(folder) {}
  [[nodiscard]] std::optional<ProbeVerdict> find(const ProbeRequest& request) const;
  /// Stores a verdict; has no effect if the folder cannot be written.
  void store(const ProbeRequest& request, const ProbeVerdict& verdict) const noexcept;
  /// The file of the verdict, for a hint.
  [[nodiscard]] std::string file_of(const ProbeRequest& request) const;

 private:
  std::string folder_;
};

}  // namespace gantry
