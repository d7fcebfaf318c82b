// SPDX-License-Identifier: Apache-2.0
#include "onnx/mapped_file.h"

#include <gantry/error.h>

#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace gantry {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

// Every mapping there is, by its first byte. Never destroyed: sessions may end after it would be.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, const MappedFile*, std::less<>> all;
};

Mappings& mappings() {
  static auto* const instance = new Mappings;
  return *instance;
}

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

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Not blocking: opening a pipe would wait for its writer.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) {
    throw Error(Code::kNotFound,
                "the file cannot be opened: " + std::generic_category().message(errno))
        .in(path.string());
  }
  struct stat status = {};
  if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidModel,
                std::string("a regular file was expected, found ") +
                    (S_ISDIR(status.st_mode) ? "a folder" : "a device, a pipe or the like"))
        .in(path.string());
  }
  if (status.st_size == 0) throw Error(Code::kInvalidModel, "the file is empty").in(path.string());
  const auto size = static_cast<size_t>(status.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (memory == MAP_FAILED) {
    throw Error(Code::kOutOfMemory,
                "the file cannot be mapped: " + std::generic_category().message(errno))
        .in(path.string());
  }
  std::error_code error;  // without a working folder the path stays as it was given
  std::filesystem::path place = std::filesystem::absolute(path, error);
  if (error) place = path;
  return std::shared_ptr<const MappedFile>(
      new MappedFile(std::move(place), {static_cast<const std::byte*>(memory), size},
                     std::exchange(file.number, -1), state_of(status)));
}

MappedFile::MappedFile(std::filesystem::path path, std::span<const std::byte> bytes, int descriptor,
                       FileState state)
    : path_(std::move(path)), bytes_(bytes), descriptor_(descriptor), state_(std::move(state)) {
  Mappings& known = mappings();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.all.emplace(bytes_.data(), this);
}

MappedFile::~MappedFile() {
  {
    Mappings& known = mappings();
    const std::lock_guard<std::mutex> lock(known.mutex);
    known.all.erase(bytes_.data());
  }
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  close(descriptor_);
}

std::shared_ptr<const MappedFile> MappedFile::find(const void* data, uint64_t size_bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  Mappings& known = mappings();
  const std::lock_guard<std::mutex> lock(known.mutex);
  auto after = known.all.upper_bound(begin);
  if (after == known.all.begin()) return nullptr;
  const MappedFile& file = *std::prev(after)->second;
  const auto offset = static_cast<uint64_t>(begin - file.bytes_.data());
  const uint64_t there = file.bytes_.size();
  if (offset > there || size_bytes > there - offset) return nullptr;
  return file.weak_from_this().lock();  // null: it is about to go
}

}  // namespace gantry
