// SPDX-License-Identifier: Apache-2.0
#include "onnx/mapped_file.h"

#include <gantry/error.h>

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace gantry {
namespace {

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // Not blocking: opening a pipe would wait for its writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) {
    throw Error(Code::kNotFound,
                "the file cannot be opened: " + std::generic_category().message(errno))
        .in(path.string());
  }
  struct stat status = {};
  if (fstat(file.number, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidModel, "a regular file was expected").in(path.string());
  }
  if (status.st_size == 0) throw Error(Code::kInvalidModel, "the file is empty").in(path.string());
  const auto size = static_cast<size_t>(status.st_size);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (memory == MAP_FAILED) {
    throw Error(Code::kOutOfMemory,
                "the file cannot be mapped: " + std::generic_category().message(errno))
        .in(path.string());
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(memory), size}));
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

}  // namespace gantry
