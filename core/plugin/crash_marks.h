// SPDX-License-Identifier: Apache-2.0
// Which provider's code runs now, in a small mapped file: it outlives the process, so that after a
// crash the next one can say whose code it was. A mark is a store to memory that nobody else
// writes; without a file the stores go nowhere. Any thread.
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

/// A provider as the file knows it; 0: not at all.
using MarkNumber = uint32_t;

/// What is stored while `call` of that provider runs; 0 for none.
constexpr uint64_t mark_of(MarkNumber provider, MarkedCall call) {
  return provider == 0 ? 0 : (uint64_t{provider} << 8) | static_cast<uint8_t>(call);
}

/// Begins to keep marks of this process in `folder` (an empty one: none; the first call counts) and
/// gives the provider its number. 0: there are no marks, or too many providers.
MarkNumber mark_provider(const std::string& folder, const std::string& name,
                         const std::string& library) noexcept;

/// A cell for the marks of one execution context. Never null, valid as long as the process.
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
  /// Others, or this one, were killed for want of memory while it ran.
  bool lacked_memory = false;
};

/// Looks for files of processes that are gone, and gives the records of the last day; of each
/// provider the newest, and none whose library has changed since. What a restart of the machine
/// ended is nobody's fault. Never throws.
std::vector<CrashRecord> read_crashes(const std::string& folder) noexcept;

/// "Process 7 ended 5 minutes ago while ...: by a crash in it, or ..."
std::string describe_end(const CrashRecord& record);

}  // namespace gantry
