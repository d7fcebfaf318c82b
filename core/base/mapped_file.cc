// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gantry/error.h>

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/descriptor.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "base/process_state.h"

namespace gantry {
namespace {

// All mappings of the process, by their first byte.
struct Mappings {
  static constexpr ProcessState kState = ProcessState::kMappedFiles;

  Mutex mutex;
  std::map<const std::byte*, const MappedFile*, std::less<>> all GANTRY_GUARDED_BY(mutex);
};

Mappings& mappings() { return process_state<Mappings>(); }

int64_t nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

FileState state_of(const struct stat& status) {
  FileState state{{}, nanoseconds(status.st_ctim)};
  for (const int64_t part :
       {static_cast<int64_t>(status.st_dev), static_cast<int64_t>(status.st_ino),
        static_cast<int64_t>(status.st_size), nanoseconds(status.st_mtim), state.changed_ns})
    state.text += std::to_string(part) + " ";
  return state;
}

std::string problem() { return std::generic_category().message(errno); }

// A sealed file in memory with the current content of the file. None: an error, in errno; errno 0:
// the file has been truncated.
Descriptor copy_of(int file, size_t size) {
  Descriptor copy(memfd_create("gantry-model", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (copy.get() < 0 || ftruncate(copy.get(), static_cast<off_t>(size)) != 0) return {};
  for (size_t done = 0; done < size;) {
    const ssize_t part = sendfile(copy.get(), file, nullptr, size - done);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return {};
    if (part == 0) {
      copy.reset();
      errno = 0;
      return {};
    }
    done += static_cast<size_t>(part);
  }
  if (fcntl(copy.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return {};
  return copy;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path,
                                                   FileAccess access,
                                                   const std::filesystem::path& name) {
  // O_NONBLOCK: opening a pipe would wait for its writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.get() < 0) {
    throw Error(Code::kNotFound, "the file cannot be opened: " + problem()).in(path.string());
  }
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidModel,
                std::string("a regular file was expected, found ") +
                    (S_ISDIR(status.st_mode) ? "a folder" : "a device, a pipe or the like"))
        .in(path.string());
  }
  if (status.st_size == 0) throw Error(Code::kInvalidModel, "the file is empty").in(path.string());
  const auto size = static_cast<size_t>(status.st_size);
  std::error_code error;
  const std::filesystem::path resolved =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file.get()), error);
  if (access == FileAccess::kCopy) {
    Descriptor copy = copy_of(file.get(), size);
    if (copy.get() < 0 && errno == 0) {
      throw Error(Code::kInvalidModel, "the file became shorter while it was read")
          .in(path.string());
    }
    if (copy.get() < 0) {
      throw Error(Code::kOutOfMemory, "the file cannot be read into memory: " + problem())
          .in(path.string());
    }
    file = std::move(copy);
  }
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) {
    throw Error(Code::kOutOfMemory, "the file cannot be mapped: " + problem()).in(path.string());
  }
  // If there is no working folder, the path stays relative.
  const std::filesystem::path& named = name.empty() ? path : name;
  std::filesystem::path place = std::filesystem::absolute(named, error);
  if (error) place = named;
  const std::shared_ptr<MappedFile> opened(
      new MappedFile(std::move(place), {static_cast<const std::byte*>(memory), size},
                     std::move(file), state_of(status)));
  opened->resolved_path_ = resolved;
  if (access == FileAccess::kMap) {
    opened->watch_ = std::make_unique<const FileWatch>(path.string(), opened->descriptor_.get(),
                                                       status, opened->bytes_);
  }
  return opened;
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes,
                       Descriptor descriptor, FileState state)
    : path_(std::move(path)),
      bytes_(bytes),
      descriptor_(std::move(descriptor)),
      state_(std::move(state)) {
  Mappings& known = mappings();
  const MutexLock lock(known.mutex);
  known.all.emplace(bytes_.data(), this);
}

MappedFile::~MappedFile() {
  if (is_forked()) return;  // the list may be locked; the system unmaps the file at exit
  {
    Mappings& known = mappings();
    const MutexLock lock(known.mutex);
    known.all.erase(bytes_.data());
  }
  watch_.reset();
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

std::shared_ptr<const MappedFile> MappedFile::find(const void* data, uint64_t size_bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  Mappings& known = mappings();
  const MutexLock lock(known.mutex);
  auto after = known.all.upper_bound(begin);
  if (after == known.all.begin()) return nullptr;
  const MappedFile& file = *std::prev(after)->second;
  const auto offset = static_cast<uint64_t>(begin - file.bytes_.data());
  const uint64_t there = file.bytes_.size();
  if (offset > there || size_bytes > there - offset) return nullptr;
  return file.weak_from_this().lock();  // null: it is being destroyed
}

}  // namespace gantry
