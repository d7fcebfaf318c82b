// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target is one source with the two functions that libFuzzer calls; with
// replay_main.cc in place of libFuzzer it runs saved inputs as a test.
#pragma once

#include <gantry/error.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <unistd.h>

/// One input. Returns 0; what it finds ends the process.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace gantry::fuzz {

/// Runs `body`, which may refuse its input with an Error. Any other exception is a finding.
template <class Body>
void run_or_refuse(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    // A refusal says something; INTERNAL says that gantry is at fault.
    if (std::string(error.what()).empty()) std::abort();
  }
}

inline std::span<const std::byte> bytes_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

inline std::string text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// A file in memory that has one input after the other, for readers that take a path.
class InputFile {
 public:
  explicit InputFile(const char* name)
      : path_("/dev/shm/gantry-fuzz-" + std::to_string(getpid()) + "-" + name) {}
  ~InputFile() { unlink(path_.c_str()); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& write(std::span<const std::byte> bytes) {
    std::FILE* file = std::fopen(path_.c_str(), "we");
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) std::abort();
    std::fclose(file);
    std::filesystem::permissions(
        path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    return path_;
  }

 private:
  std::string path_;
};

}  // namespace gantry::fuzz
