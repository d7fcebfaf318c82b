// SPDX-License-Identifier: Apache-2.0
// Marks, in a small mapped file, which provider's code is running. The file outlives the process,
// so that after a crash the next process can name the provider. A mark is one store to memory that
// no other thread writes; without a file it has no effect. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace gantry {

enum class MarkedCall : uint8_t {
  kNone,
  kLoad,
  kNegotiate,
  kEnumerate,
  kOpenDevice,
  kClaim,
  kCompile,
  kRun,
  kDestroy
};

/// The number of a provider in the file; 0: the provider is not in the file.
using MarkNumber = uint32_t;

/// The mark that is stored while `call` of that provider runs; 0: none.
constexpr uint64_t mark_of(MarkNumber provider, MarkedCall call) {
  return provider == 0 ? 0 : (uint64_t{provider} << 8) | static_cast<uint8_t>(call);
}

/// Opens the mark file of this process in `folder` (empty: no marks; only the first call opens it),
/// and returns a number for the provider. 0: there is no file, or too many providers.
MarkNumber mark_provider(const std::string& folder, const std::string& name,
                         const std::string& library) noexcept;

/// A cell for the marks of one execution context. Never null; valid until the process ends.
std::atomic<uint64_t>* mark_cell() noexcept;

/// Marks a call from construction to destruction, in the cell of the calling thread.
class CallMark {
 public:
  CallMark(MarkNumber provider, MarkedCall call) noexcept;
  ~CallMark();
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

 private:
  std::atomic<uint64_t>* cell_;
  uint64_t before_;
};

/// A process that ended in a provider's code: by a crash, or because it was killed.
struct CrashRecord {
  std::string provider;
  std::string library;
  std::string call;  ///< "run", "compile" ...
  int64_t process = 0;
  int64_t time = 0;  ///< seconds since 1970
  /// The system's out-of-memory killer ended processes while it ran.
  bool lacked_memory = false;
};

/// Reads the mark files of processes that are gone. Returns the records of the last day: the newest
/// of each provider, and none whose library has changed since. Processes ended by a restart of the
/// machine are ignored. Never throws.
std::vector<CrashRecord> read_crashes(const std::string& folder) noexcept;

/// "Process 7 ended 5 minutes ago while ...: by a crash in it, or ..."
std::string describe_end(const CrashRecord& record);

}  // namespace gantry
