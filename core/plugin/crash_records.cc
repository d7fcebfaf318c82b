// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/linux_state.h"
#include "base/log.h"
#include "plugin/crash_marks.h"
#include "plugin/discovery/digest.h"
#include "plugin/discovery/library_file.h"
#include "plugin/mark_file.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kRecordFolder = "crashes";
constexpr int64_t kSecondsOfADay = 24 * 3600;
constexpr int64_t kNanosecondsPerSecond = 1000000000;

constexpr std::array<const char*, 9> kCalls = {
    "nothing", "load", "negotiate", "enumerate", "open", "claim", "compile", "run", "destroy"};

// The mark file of a process that is gone, which no longer holds its lock.
std::unique_ptr<MarkFile> read_left(const fs::path& file, int64_t& time) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return nullptr;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  struct stat status = {};
  auto marks = std::make_unique<MarkFile>();
  const bool is_left = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type == F_UNLCK &&
                       fstat(descriptor, &status) == 0 &&
                       pread(descriptor, static_cast<void*>(marks.get()), sizeof(MarkFile), 0) ==
                           static_cast<ssize_t>(sizeof(MarkFile)) &&
                       marks->magic == MarkFile::kMagic;
  close(descriptor);
  time = status.st_mtim.tv_sec;
  return is_left ? std::move(marks) : nullptr;
}

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string age_of(int64_t seconds) {
  const auto count = [](int64_t number, const char* unit) {
    return std::to_string(number) + " " + unit + (number == 1 ? "" : "s") + " ago";
  };
  if (seconds < 60) return "less than a minute ago";
  if (seconds < 3600) return count(seconds / 60, "minute");
  return count(seconds / 3600, "hour");
}

std::string text_of(const char* data, size_t capacity) { return {data, strnlen(data, capacity)}; }

void keep(const fs::path& folder, const CrashRecord& record) {
  fs::create_directories(folder);
  std::ofstream stream(folder / (sha256_of(record.library) + ".json"), std::ios::binary);
  const json document = {{"provider", record.provider}, {"library", record.library},
                         {"call", record.call},         {"process", record.process},
                         {"time", record.time},         {"lacked_memory", record.lacked_memory}};
  stream << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void collect(const fs::path& folder, const fs::path& records) {
  const LinuxState state = linux_state();
  const std::string own = own_mark_file();  // closing another descriptor of it would drop its lock
  std::error_code none;
  for (const fs::path& entry : list_folder(folder, none)) {
    int64_t time = 0;
    if (entry == own) continue;
    const std::unique_ptr<MarkFile> marks = read_left(entry, time);
    if (!marks) continue;
    if (text_of(marks->boot.data(), marks->boot.size()) != state.boot) {
      fs::remove(entry, none);  // the machine was restarted
      continue;
    }
    const bool lacked_memory = state.memory_kills > marks->memory_kills;
    for (const MarkFile::Cell& cell : marks->cells) {
      const uint64_t mark = cell.mark.load();
      const uint64_t number = mark >> 8;
      const uint64_t call = mark & 0xff;
      if (number == 0 || number > marks->providers.size() || call >= kCalls.size()) continue;
      const MarkFile::Provider& provider = marks->providers[number - 1];
      keep(records, {text_of(provider.name.data(), provider.name.size()),
                     text_of(provider.library.data(), provider.library.size()), kCalls[call],
                     marks->process, time, lacked_memory});
    }
    fs::remove(entry, none);
  }
}

}  // namespace

std::vector<CrashRecord> read_crashes(const std::string& folder) noexcept {
  std::vector<CrashRecord> found;
  if (folder.empty()) return found;
  try {
    const fs::path records = fs::path(folder) / kRecordFolder;
    collect(fs::path(folder) / kMarkFolder, records);
    const int64_t now = seconds_now();
    std::error_code none;
    for (const fs::path& entry : list_folder(records, none)) {
      std::ifstream stream(entry, std::ios::binary);
      const json kept = json::parse(stream, nullptr, false);
      if (!kept.is_object()) continue;
      CrashRecord record = {kept.value("provider", ""),     kept.value("library", ""),
                            kept.value("call", ""),         kept.value("process", int64_t{0}),
                            kept.value("time", int64_t{0}), kept.value("lacked_memory", false)};
      const int64_t changed = FileIdentity::of(record.library).modified_ns / kNanosecondsPerSecond;
      if (now - record.time > kSecondsOfADay || changed > record.time) {
        fs::remove(entry, none);
        continue;
      }
      found.push_back(std::move(record));
    }
  } catch (const std::exception& error) {
    log(LogLevel::kInfo,
        std::string("marks of earlier processes could not be read: ") + error.what());
  }
  return found;
}

std::string describe_end(const CrashRecord& record) {
  return "Process " + std::to_string(record.process) + " ended " +
         age_of(seconds_now() - record.time) + " while code of this provider ran (" + record.call +
         "): by a crash in it, or because it was killed from outside" +
         (record.lacked_memory
              ? "; the kernel has killed processes for want of memory since that one began"
              : "");
}

}  // namespace gantry
