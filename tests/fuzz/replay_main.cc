// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: over saved inputs, each file of the folders that are given
// in the order of their names, and then for --seconds=N over what random edits make of them. What
// ends the process, or takes longer than ten seconds, is written to the file of --finding=FILE.
// Edits follow from --seed=N alone. Exit status 2: a folder is missing or empty.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

#include "fuzz_target.h"

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) __attribute__((weak));
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) __attribute__((weak));

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMostBytes = 1 << 16;
constexpr unsigned kSecondsForOne = 10;

std::mt19937& draw() {
  static std::mt19937 generator;
  return generator;
}

size_t below(size_t count) { return draw()() % count; }

// Values at which sizes, counts and offsets change their meaning.
constexpr std::array<uint64_t, 12> kEdges = {0,          1,          0x7F,      0x80,
                                             0xFF,       0x7FFF,     0xFFFF,    0x7FFFFFFF,
                                             0x80000000, 0xFFFFFFFF, INT64_MAX, UINT64_MAX};

void edit(Bytes& bytes) {
  const size_t at = bytes.empty() ? 0 : below(bytes.size());
  const size_t length = std::min(bytes.size() - at, size_t{1} << below(7));
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
  const auto end = begin + static_cast<ptrdiff_t>(length);
  switch (bytes.empty() ? 4 : below(7)) {
    case 0:
      bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1U << below(8)));
      break;
    case 1:
      bytes[at] = static_cast<uint8_t>(draw()());
      break;
    case 2:
      bytes.erase(begin, end);
      break;
    case 3: {  // once more, somewhere
      const Bytes copy(begin, end);
      const size_t where = below(bytes.size() + 1);
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(where), copy.begin(), copy.end());
      break;
    }
    case 4: {
      Bytes random(1 + below(8));
      for (uint8_t& byte : random) byte = static_cast<uint8_t>(draw()());
      bytes.insert(begin, random.begin(), random.end());
      break;
    }
    case 5: {
      const uint64_t value = kEdges[below(kEdges.size())] + below(3) - 1;
      const size_t width = std::min(bytes.size() - at, size_t{1} << below(4));
      std::memcpy(&bytes[at], &value, width);
      break;
    }
    default:
      bytes.resize(at);
  }
}

// The input that is being run, for the handler of signals.
struct Current {
  const uint8_t* data = nullptr;
  size_t size = 0;
  const char* finding = nullptr;
} current;

void keep_finding(int signal) {
  if (current.finding) {
    const int file = open(current.finding, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file >= 0 && write(file, current.data, current.size) >= 0) close(file);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void run(const Bytes& bytes) {
  current.data = bytes.data();
  current.size = bytes.size();
  alarm(kSecondsForOne);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  alarm(0);
}

size_t run_edited(const std::vector<Bytes>& saved, std::chrono::seconds duration) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM})
    std::signal(signal, keep_finding);
  const auto end = std::chrono::steady_clock::now() + duration;
  size_t count = 0;
  for (; std::chrono::steady_clock::now() < end; ++count) {
    Bytes bytes = saved[below(saved.size())];
    if (bytes.size() > kMostBytes) bytes.resize(kMostBytes);
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      if (!LLVMFuzzerCustomMutator) {
        edit(bytes);
        continue;
      }
      const size_t size = bytes.size();
      bytes.resize(kMostBytes);
      bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, bytes.size(), draw()()));
    }
    run(bytes);
  }
  return count;
}

}  // namespace

// What libFuzzer has for targets with a mutator of their own.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  Bytes bytes(data, data + size);
  edit(bytes);
  bytes.resize(std::min(bytes.size(), max_size));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
  std::vector<std::filesystem::path> files;
  std::chrono::seconds duration{0};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--seconds=")) {
      duration = std::chrono::seconds(std::atoi(argv[i] + std::strlen("--seconds=")));
    } else if (argument.starts_with("--seed=")) {
      draw().seed(static_cast<unsigned>(std::atoi(argv[i] + std::strlen("--seed="))));
    } else if (argument.starts_with("--finding=")) {
      current.finding = argv[i] + std::strlen("--finding=");
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::directory_iterator(argument))
        files.push_back(entry.path());
    } else {
      std::fprintf(stderr, "%s is no folder of inputs\n", argv[i]);
      return 2;
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "no inputs were given\n");
    return 2;
  }
  std::vector<Bytes> saved;
  for (const std::filesystem::path& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // the last line names what ended the process
    std::ifstream stream(file, std::ios::binary);
    saved.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    LLVMFuzzerTestOneInput(saved.back().data(), saved.back().size());
  }
  std::printf("%zu saved inputs\n", files.size());
  std::fflush(stdout);
  std::printf("%zu edited inputs\n", run_edited(saved, duration));
  return 0;
}
