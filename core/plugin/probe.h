// SPDX-License-Identifier: Apache-2.0
// Trying a provider in a child process before it is opened here: the program gantry-probe opens it,
// negotiates, enumerates and ends. Whatever it does wrong there ends the child and not us.
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

/// What came of it. `cause` is as ProviderReport::probe says.
struct ProbeVerdict {
  std::string cause;
  Code code = Code::kOk;
  std::string message;
  [[nodiscard]] bool has_passed() const { return code == Code::kOk; }
  /// A crash or a hang costs something to see again; anything else may be mended at any time.
  [[nodiscard]] bool is_sticky() const { return cause == "crashed" || cause == "timed out"; }
};

/// Runs the child and waits for it. UNAVAILABLE: there is no helper, or it cannot be started.
ProbeVerdict probe_in_child(const ProbeRequest& request);

/// The child's part, all of gantry-probe: the request on standard input, the verdict to descriptor
/// 3. The exit status of the process.
int run_probe_child();

/// Verdicts kept in a folder: of providers that passed, crashed or hung. A verdict holds for the
/// same library, manifest, options and core; crashes and hangs for an hour.
class ProbeCache {
 public:
  /// An empty folder keeps nothing.
  explicit ProbeCache(const std::string& folder) : folder_(folder) {}
  [[nodiscard]] std::optional<ProbeVerdict> find(const ProbeRequest& request) const;
  /// A folder that cannot be written keeps nothing either.
  void store(const ProbeRequest& request, const ProbeVerdict& verdict) const noexcept;
  /// Where the verdict lies, for a hint.
  [[nodiscard]] std::string file_of(const ProbeRequest& request) const;

 private:
  std::string folder_;
};

}  // namespace gantry
