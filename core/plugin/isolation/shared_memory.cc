// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/shared_memory.h"

#include <gantry/error.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>

namespace gantry {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

[[noreturn]] void fail_shared(uint64_t size_bytes) {
  throw Error(Code::kOutOfMemory, "no shared memory of " + std::to_string(size_bytes) +
                                      " bytes for a worker process: " + std::strerror(errno));
}

}  // namespace

std::shared_ptr<SharedMemory> SharedMemory::create(uint64_t size_bytes) {
  std::shared_ptr<SharedMemory> memory(new SharedMemory);
  memory->size_bytes_ = std::max<uint64_t>(size_bytes, 1);
  memory->file_ = Descriptor(memfd_create("gantry-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory->file_.get() < 0 ||
      ftruncate(memory->file_.get(), static_cast<off_t>(memory->size_bytes_)) != 0 ||
      fcntl(memory->file_.get(), F_ADD_SEALS, kSizeSeals) != 0)
    fail_shared(size_bytes);
  memory->map_pages(true);
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::map(Descriptor file, uint64_t size_bytes,
                                                bool is_writable) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) < size_bytes ||
      (fcntl(file.get(), F_GET_SEALS) & kSizeSeals) != kSizeSeals) {
    throw Error(Code::kInternal, "expected sealed shared memory of " + std::to_string(size_bytes) +
                                     " bytes, found something else");
  }
  std::shared_ptr<SharedMemory> memory(new SharedMemory);
  memory->size_bytes_ = size_bytes == kWhole ? static_cast<uint64_t>(status.st_size) : size_bytes;
  memory->file_ = std::move(file);
  memory->map_pages(is_writable);
  return memory;
}

std::shared_ptr<SharedMemory> SharedMemory::map_file(Descriptor file, uint64_t size_bytes) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) < size_bytes) {
    throw Error(Code::kInternal, "expected a file of " + std::to_string(size_bytes) +
                                     " bytes, found one of " + std::to_string(status.st_size) +
                                     "; a model must not be shortened while a session uses it");
  }
  std::shared_ptr<SharedMemory> memory(new SharedMemory);
  memory->size_bytes_ = size_bytes;
  memory->file_ = std::move(file);
  memory->map_pages(false);
  return memory;
}

void SharedMemory::map_pages(bool is_writable) {
  void* data = mmap(nullptr, size_bytes_, PROT_READ | (is_writable ? PROT_WRITE : 0),
                    MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (data == MAP_FAILED) fail_shared(size_bytes_);
  data_ = static_cast<std::byte*>(data);
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, size_bytes_);
}

void SharedMemory::seal_content() {
  // The seal is refused while there is a writable mapping.
  munmap(data_, size_bytes_);
  data_ = nullptr;
  if (fcntl(file_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) != 0) fail_shared(size_bytes_);
}

void SharedMemory::seal_seals() {
  if (fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SEAL) != 0) fail_shared(size_bytes_);
}

void SharedMemory::drop(uint64_t offset, uint64_t size_bytes) noexcept {
  // A failure only leaves more memory in use.
  fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(size_bytes));
}

}  // namespace gantry
