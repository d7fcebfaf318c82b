// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/machine.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <link.h>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace gantry {
namespace {

namespace fs = std::filesystem;

std::string read_file(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::set<std::string> read_kernel_features() {
  std::set<std::string> features;
  std::ifstream lines("/proc/cpuinfo");  // only the first processor: all are alike
  std::string line;
  while (features.empty() && std::getline(lines, line)) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(std::min(line.find(':'), line.size() - 1) + 1));
    features.insert(std::istream_iterator<std::string>(words),
                    std::istream_iterator<std::string>());
  }
  return features;
}

// CPUID works without /proc, and under an emulator that shows /proc/cpuinfo of the real machine.
// The kernel's file names more features.
std::set<std::string> read_cpu_features() {
  std::set<std::string> features = read_kernel_features();
#if defined(__x86_64__)
  const auto set = [&](const char* name, bool has) {
    if (has) {
      features.insert(name);
    } else {
      features.erase(name);
    }
  };
  __builtin_cpu_init();
  set("ssse3", __builtin_cpu_supports("ssse3") != 0);
  set("sse4_1", __builtin_cpu_supports("sse4.1") != 0);
  set("sse4_2", __builtin_cpu_supports("sse4.2") != 0);
  set("popcnt", __builtin_cpu_supports("popcnt") != 0);
  set("avx", __builtin_cpu_supports("avx") != 0);
  set("avx2", __builtin_cpu_supports("avx2") != 0);
  set("fma", __builtin_cpu_supports("fma") != 0);
  set("bmi1", __builtin_cpu_supports("bmi") != 0);
  set("bmi2", __builtin_cpu_supports("bmi2") != 0);
  set("avx512f", __builtin_cpu_supports("avx512f") != 0);
  set("avx512cd", __builtin_cpu_supports("avx512cd") != 0);
  set("avx512dq", __builtin_cpu_supports("avx512dq") != 0);
  set("avx512bw", __builtin_cpu_supports("avx512bw") != 0);
  set("avx512vl", __builtin_cpu_supports("avx512vl") != 0);
  set("avx512_vnni", __builtin_cpu_supports("avx512vnni") != 0);
  set("avx512_bf16", __builtin_cpu_supports("avx512bf16") != 0);
#endif
  return features;
}

// The folders that the loader searches for every library: LD_LIBRARY_PATH as it was when the
// process started, the program's RPATH, the system's folders.
std::vector<std::string> loader_folders() {
  std::vector<std::string> folders;
  void* program = dlopen(nullptr, RTLD_NOW);
  Dl_serinfo size = {};
  if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<char> memory(size.dls_size);
    auto* found = reinterpret_cast<Dl_serinfo*>(memory.data());
    found->dls_size = size.dls_size;
    found->dls_cnt = size.dls_cnt;
    if (dlinfo(program, RTLD_DI_SERINFO, found) == 0) {
      for (unsigned int i = 0; i < found->dls_cnt; ++i)
        folders.emplace_back(found->dls_serpath[i].dls_name);
    }
  }
  if (program) dlclose(program);
  return folders;
}

// The cache file of ldconfig: a header, `count` entries, their strings.
struct CacheHeader {
  char magic[20];
  uint32_t count;
  uint32_t text_bytes;
  uint32_t unused[5];
};
struct CacheEntry {
  uint32_t flags;
  uint32_t name;  // offsets from the header
  uint32_t path;
  uint32_t system_version;
  uint64_t hardware;
};
static_assert(sizeof(CacheHeader) == 48 && sizeof(CacheEntry) == 24);

constexpr uint32_t kArchitecture = 0xff00;
#if defined(__x86_64__)
constexpr uint32_t kOurs = 0x0300;
#else
constexpr uint32_t kOurs = 0x0a00;
#endif

std::map<std::string, std::string> read_cache() {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  const std::string file = read_file("/etc/ld.so.cache");
  const size_t start = file.find(kMagic);
  std::map<std::string, std::string> libraries;
  if (start == std::string::npos || file.size() - start < sizeof(CacheHeader)) return libraries;
  const std::string_view cache = std::string_view(file).substr(start);
  CacheHeader header = {};
  std::memcpy(&header, cache.data(), sizeof(header));
  const uint64_t room = (cache.size() - sizeof(header)) / sizeof(CacheEntry);
  const auto text = [&](uint32_t offset) {
    return offset < cache.size() ? std::string(cache.data() + offset) : std::string();
  };
  for (uint64_t i = 0; i < std::min<uint64_t>(header.count, room); ++i) {
    CacheEntry entry = {};
    std::memcpy(&entry, cache.data() + sizeof(header) + i * sizeof(entry), sizeof(entry));
    if ((entry.flags & kArchitecture) == kOurs)
      libraries.emplace(text(entry.name), text(entry.path));
  }
  return libraries;
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace

const std::set<std::string>& cpu_features() {
  static const std::set<std::string> features = read_cpu_features();
  return features;
}

std::string Machine::find_library(const std::string& name,
                                  const std::vector<std::string>& folders) {
  if (name.find('/') != std::string::npos) return is_there(name) ? name : std::string();
  if (!folders_) folders_ = loader_folders();
  const std::vector<std::string>* lists[] = {&folders, &*folders_};
  for (const std::vector<std::string>* list : lists) {
    for (const std::string& folder : *list) {
      const fs::path path = fs::path(folder) / name;
      if (!folder.empty() && is_there(path)) return path.string();
    }
  }
  if (!cache_) cache_ = read_cache();
  const auto found = cache_->find(name);
  return found == cache_->end() ? std::string() : found->second;
}

std::string loaded_library(const std::string& name) {
  struct Search {
    const std::string& name;
    std::string path;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
        if (path.substr(path.rfind('/') + 1) != wanted.name) return 0;
        wanted.path = path;
        return 1;
      },
      &search);
  return search.path;
}

const std::string& own_library() {
  static const auto* const path = [] {
    static const char anchor = 0;
    Dl_info info = {};
    std::error_code error;
    const bool is_known = dladdr(&anchor, &info) != 0 && info.dli_fname;
    const fs::path self = is_known ? fs::canonical(info.dli_fname, error) : fs::path();
    return new std::string(error ? std::string() : self.string());
  }();
  return *path;
}

}  // namespace gantry
