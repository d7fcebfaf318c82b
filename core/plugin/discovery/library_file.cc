// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/library_file.h"

#include <gantry/error.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "plugin/discovery/digest.h"

namespace gantry {
namespace {

FileIdentity to_identity(const struct stat& status) {
  constexpr int64_t kNanosecondsPerSecond = 1000000000;
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          status.st_mtim.tv_sec * kNanosecondsPerSecond + status.st_mtim.tv_nsec};
}

}  // namespace

FileIdentity FileIdentity::of(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 ? to_identity(status) : FileIdentity();
}

LibraryFile::LibraryFile(std::string path) : path_(std::move(path)) {
  // O_NOFOLLOW: links were resolved before, so a link here was made since. O_NONBLOCK: a pipe must
  // not block the open.
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor_ < 0) {
    throw Error(Code::kNotFound,
                path_ + ": the library cannot be read: " + std::generic_category().message(errno));
  }
  struct stat status = {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(std::exchange(descriptor_, -1));
    throw Error(Code::kInvalidArgument,
                path_ + ": expected a provider library, found something that is not a file");
  }
  identity_ = to_identity(status);
}

LibraryFile::~LibraryFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void LibraryFile::fail(const std::string& what) const {
  throw Error(Code::kInvalidArgument, path_ + ": expected a provider library, found " + what);
}

void LibraryFile::read(uint64_t offset, void* target, uint64_t size_bytes) const {
  if (offset > identity_.size_bytes || size_bytes > identity_.size_bytes - offset)
    fail("a truncated ELF file of " + std::to_string(identity_.size_bytes) + " bytes");
  auto* to = static_cast<char*>(target);
  while (size_bytes > 0) {
    const ssize_t got = pread(descriptor_, to, size_bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("a file that cannot be read to its end");
    to += got;
    offset += static_cast<uint64_t>(got);
    size_bytes -= static_cast<uint64_t>(got);
  }
}

std::string LibraryFile::sha256() const {
  constexpr uint64_t kPiece = 1 << 16;
  std::array<char, kPiece> piece = {};
  Sha256 digest;
  for (uint64_t offset = 0; offset < identity_.size_bytes; offset += kPiece) {
    const uint64_t size = std::min(kPiece, identity_.size_bytes - offset);
    read(offset, piece.data(), size);
    digest.add({piece.data(), size});
  }
  return digest.hex();
}

}  // namespace gantry
