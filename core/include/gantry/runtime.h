// SPDX-License-Identifier: Apache-2.0
// The runtime: finds providers and keeps the opened ones. Make one per process; sessions share it.
// Any thread.
#pragma once

#include <gantry/device.h>
#include <gantry/error.h>
#include <gantry/tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace gantry {

/// How far a provider candidate came, and why no further. A row of Runtime::report().
struct ProviderReport {
  std::string name;      ///< of the manifest; its file name if it could not be read
  std::string manifest;  ///< path, or "<code>" for providers added from code
  std::string library;   ///< resolved path; empty if not known yet
  std::string version;
  /// collected, parsed, policy, file checks, requirements, probe, load, negotiate, enumerate, ready
  std::string stage;
  std::string state;  ///< "ready", "not opened", "rejected" or "shadowed"
  Code code = Code::kOk;
  std::string message;  ///< one sentence; empty if all is well
  std::string hint;     ///< what to do; may be empty
  /// What is odd and does no harm yet: unknown members, clashes of libraries or of priorities.
  std::vector<std::string> warnings;
  std::string origin;  ///< who named the manifest: "user", "site", "bundled", "GANTRY_..." ...
  std::string sha256;  ///< of the library, where manifest or policy ask for it
  /// Of the try in a child process: empty (none was needed), "passed", "refused", "missing
  /// dependency", "crashed", "timed out"; of those the last two and "passed" may be remembered.
  std::string probe;
  std::string isolation;  ///< "process": it runs, or is to run, in one of its own; else empty
  double check_ms = 0;    ///< time of all checks before opening
  double open_ms = 0;     ///< time of probing, opening and enumerating
};

/// An environment variable that finding and loading providers depends on, and what became of it.
struct EnvironmentVariable {
  std::string name;
  std::string value;
  std::string state;   ///< "used", "ignored" or "not set"
  std::string reason;  ///< why it is ignored
};

struct RuntimeOptions {
  /// Configuration, JSON (docs/configuration.md), or empty. Checked before anything is opened.
  std::string config_json = {};
  /// The file that config_json was read from: messages then have its lines; empty: given in code.
  std::string config_file = {};
};

/// Finds manifests on construction, opens no library. A library is opened when a device of its type
/// is first wanted.
class Runtime {
 public:
  /// INVALID_ARGUMENT: the configuration is wrong; all that is wrong, a line for each (file, line,
  /// column, JSON pointer, expected, found). UNSUPPORTED: it wants what this version cannot do.
  explicit Runtime(const RuntimeOptions& options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Every device of every provider; opens all of them. Absent ones are listed with the reason.
  [[nodiscard]] std::vector<DeviceInfo> devices();
  /// True if the device string names a device that is ready; false for any other string, also a
  /// malformed one.
  [[nodiscard]] bool supports_device(std::string_view device);
  /// A row for every candidate, in search order; `open` tries those that were not needed yet.
  [[nodiscard]] std::vector<ProviderReport> report(bool open = false);

  /// The variables that were looked at when this runtime was made.
  [[nodiscard]] std::vector<EnvironmentVariable> environment() const;
  /// report() and environment() as one JSON object (docs/command-line.md, doctor).
  [[nodiscard]] std::string report_json(bool open = false);

  /// As Session::allocate_on, of any device that is ready, for whichever sessions come to use it;
  /// opens its provider. No session's limit counts it. NOT_FOUND, UNAVAILABLE: no such device;
  /// INVALID_ARGUMENT: it works in host memory, or a shape or type that no tensor has.
  /// OUT_OF_MEMORY.
  [[nodiscard]] Tensor allocate_on(const std::string& device, DType dtype,
                                   std::vector<int64_t> shape);

  /// Adds a provider from code, before the others: `entry` is a gantry_provider_entry
  /// (gantry/provider.h), `manifest` the text of its manifest, whose "library" member may be left
  /// out. Throws what the report would say.
  void add_provider(void* entry, const std::string& manifest);

  class Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry
