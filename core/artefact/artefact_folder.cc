// SPDX-License-Identifier: Apache-2.0
#include "artefact/artefact_folder.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "artefact/content_sum.h"
#include "base/folder.h"
#include "plugin/discovery/trusted_path.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArtefactSuffix = ".artefact";
constexpr const char* kNotesSuffix = ".artefact.digests";
constexpr int64_t kDraftSeconds = 3600;  // a temporary file of this age has no writer any more

int64_t now_s() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

bool is_regular(const fs::path& path, struct stat& status) {
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

void remove_with_notes(const fs::path& file) {
  std::error_code ignored;  // another process may have removed it
  fs::remove(file, ignored);
  fs::remove(fs::path(file).replace_extension(kNotesSuffix), ignored);
}

// The name of a model's file, with the characters that a cache file's name may have.
std::string cleaned(const std::string& stem) {
  constexpr size_t kMost = 64;
  std::string name = stem.substr(0, kMost);
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) == 0 && c != '-' && c != '_') c = '_';
  }
  return name.empty() ? "model" : name;
}

}  // namespace

fs::path ArtefactFolder::file_of(const std::string& stem, const std::string& identity) const {
  return folder_ / (cleaned(stem) + "-" + digest_text(identity).substr(0, 16) + kArtefactSuffix);
}

void ArtefactFolder::require_trusted(bool is_elevated) const {
  std::error_code error;
  const fs::path real = fs::canonical(folder_, error);
  if (error) throw Error(Code::kUnavailable, folder_.string() + ": " + error.message());
  check_trusted_folder(real.string(), TrustedWriters::of_process(is_elevated));
}

void ArtefactFolder::make() const {
  std::error_code error;
  if (fs::is_directory(folder_, error)) return;
  fs::create_directories(folder_.parent_path(), error);
  if (mkdir(folder_.c_str(), S_IRWXU) == 0) return;
  const int reason = errno;  // not an error if another process made the folder
  if (fs::is_directory(folder_, error)) return;
  throw Error(Code::kUnavailable, folder_.string() + ": the folder cannot be made: " +
                                      std::generic_category().message(reason));
}

void ArtefactFolder::touch(const fs::path& file) noexcept {
  // Sets the access time only: sessions detect writes by the modification time. If it fails, the
  // file is evicted earlier.
  const std::array<timespec, 2> times = {timespec{0, UTIME_NOW}, timespec{0, UTIME_OMIT}};
  (void)utimensat(AT_FDCWD, file.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
}

std::vector<ArtefactEntry> ArtefactFolder::list() const {
  std::vector<ArtefactEntry> entries;
  std::error_code error;
  for (const fs::path& file : list_folder(folder_, error)) {
    struct stat status = {};
    if (file.extension() != kArtefactSuffix || !is_regular(file, status)) continue;
    entries.push_back({file, static_cast<uint64_t>(status.st_size),
                       static_cast<int64_t>(std::max(status.st_atime, status.st_mtime))});
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.used_s > b.used_s; });
  return entries;
}

void ArtefactFolder::make_room(uint64_t limit_bytes, uint64_t coming_bytes,
                               const fs::path& replaced) const {
  if (coming_bytes > limit_bytes) {
    throw Error(Code::kUnavailable,
                "it takes " + std::to_string(coming_bytes) + " bytes, and the cache may have " +
                    std::to_string(limit_bytes) + "; raise session.artefact_cache_limit_bytes");
  }
  std::error_code error;
  for (const fs::path& file : list_folder(folder_, error)) {
    struct stat status = {};
    const bool is_draft = file.stem().extension() == kArtefactSuffix && is_regular(file, status);
    const bool is_notes = file.filename().string().ends_with(kNotesSuffix);
    if (is_draft && !is_notes && now_s() - status.st_mtime > kDraftSeconds) remove_with_notes(file);
  }
  uint64_t total = coming_bytes;
  for (const ArtefactEntry& entry : list()) {
    if (entry.file == replaced) continue;
    total += entry.size_bytes;
    if (total > limit_bytes) remove_with_notes(entry.file);
  }
}

uint64_t ArtefactFolder::clear() const {
  uint64_t bytes = 0;
  for (const ArtefactEntry& entry : list()) {
    bytes += entry.size_bytes;
    remove_with_notes(entry.file);
  }
  return bytes;
}

}  // namespace gantry
