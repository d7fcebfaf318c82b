// SPDX-License-Identifier: Apache-2.0
// The runtime: finds providers and holds the opened ones. Make one per process; sessions share it.
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

/// The last check that a provider candidate reached, and why it failed there. A row of
/// Runtime::report().
struct ProviderReport {
  std::string name;      ///< from the manifest; the manifest's file name if it could not be read
  std::string manifest;  ///< path, or "<code>" for providers added from code
  std::string library;   ///< resolved path; empty if not known yet
  std::string version;
  /// collected, parsed, policy, file checks, requirements, probe, load, negotiate, enumerate, ready
  std::string stage;
  std::string state;  ///< "ready", "not opened", "rejected" or "shadowed"
  Code code = Code::kOk;
  std::string message;  ///< one sentence; empty if all is well
  std::string hint;     ///< what to do; may be empty
  /// What does not stop the provider: unknown members, clashes of libraries or of priorities.
  std::vector<std::string> warnings;
  std::string origin;  ///< how the manifest was found: "user", "site", "bundled", "GANTRY_..." ...
  std::string sha256;  ///< of the library, if manifest or policy require it
  /// Result of the probe, which opens the library in a child process: empty (not needed), "passed",
  /// "refused", "missing dependency", "crashed", "timed out". "passed" and the last two may be
  /// cached results.
  std::string probe;
  std::string isolation;  ///< "process": the provider runs in a process of its own; else empty
  double check_ms = 0;    ///< time of all checks before opening
  double open_ms = 0;     ///< time of probing, opening and enumerating
};

/// An environment variable on which finding and loading providers depends, and how it was used.
struct EnvironmentVariable {
  std::string name;
  std::string value;
  std::string state;   ///< "used", "ignored" or "not set"
  std::string reason;  ///< why it is ignored
};

struct RuntimeOptions {
  /// Configuration, JSON (docs/configuration.md), or empty. Checked before anything is opened.
  std::string config_json = {};
  /// The file that config_json was read from, named in messages; empty: given in code.
  std::string config_file = {};
};

/// Finds manifests on construction, opens no library. A library is opened when a device of its type
/// is first wanted.
class Runtime {
 public:
  /// INVALID_ARGUMENT: the configuration is wrong; the message has a line for each error (file,
  /// line, column, JSON pointer, expected, found). UNSUPPORTED: the configuration asks for a
  /// feature that this version does not have.
  explicit Runtime(const RuntimeOptions& options = {});
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Every device of every provider; opens all of them. Absent ones are listed with the reason.
  [[nodiscard]] std::vector<DeviceInfo> devices();
  /// True if the device string names a device that is ready; false for any other string, also a
  /// malformed one.
  [[nodiscard]] bool supports_device(std::string_view device);
  /// A row for every candidate, in search order. `open`: opens the candidates that were not needed
  /// yet.
  [[nodiscard]] std::vector<ProviderReport> report(bool open = false);

  /// The variables that were read when this runtime was made.
  [[nodiscard]] std::vector<EnvironmentVariable> environment() const;
  /// report() and environment() as one JSON object (docs/command-line.md, doctor).
  [[nodiscard]] std::string report_json(bool open = false);

  /// As Session::allocate_on, on any device that is ready, for every session that uses the device;
  /// opens its provider. No session's memory limit counts the tensor. NOT_FOUND, UNAVAILABLE: no
  /// such device. INVALID_ARGUMENT: the device works in host memory, or the type is string or
  /// undefined or an extent negative. OUT_OF_MEMORY.
  [[nodiscard]] Tensor allocate_on(const std::string& device, DType dtype,
                                   std::vector<int64_t> shape);

  /// Adds a provider from code, before the others: `entry` is a gantry_provider_entry
  /// (gantry/provider.h), `manifest` the text of its manifest, whose "library" member may be left
  /// out. If the provider is rejected, throws the code and message of its report.
  void add_provider(void* entry, const std::string& manifest);

  class Impl;
  [[nodiscard]] Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace gantry
