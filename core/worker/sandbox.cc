// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <glob.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "base/descriptor.h"
#include "worker/seccomp_filter.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Constants of newer kernels that the headers of older systems lack.
constexpr uint64_t kTruncate = uint64_t{1} << 14;     // LANDLOCK_ACCESS_FS_TRUNCATE, version 3
constexpr uint64_t kDeviceCalls = uint64_t{1} << 15;  // LANDLOCK_ACCESS_FS_IOCTL_DEV, version 5
constexpr uint64_t kSockets = 1;                      // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, 6
constexpr uint64_t kSignals = 2;                      // LANDLOCK_SCOPE_SIGNAL, 6
struct RulesetAttributes {
  uint64_t files;
  uint64_t network;  // version 4
  uint64_t scopes;   // version 6
};

constexpr uint64_t kRead =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// All access rights of Landlock version 1; version 2 adds one.
constexpr uint64_t kFirst = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr uint64_t kSecond = (LANDLOCK_ACCESS_FS_MAKE_SYM << 2) - 1;

// The accesses that a version of Landlock can restrict; `version` 0 or less: no Landlock.
RulesetAttributes attributes_of(int version, size_t& size_bytes) {
  RulesetAttributes attributes = {};
  attributes.files = version < 2 ? kFirst : kSecond;
  if (version >= 3) attributes.files |= kTruncate;
  if (version >= 4) attributes.network = 3;  // TCP: bind and connect
  if (version >= 5) attributes.files |= kDeviceCalls;
  if (version >= 6) attributes.scopes = kSockets | kSignals;
  size_bytes = sizeof(uint64_t) * (version < 4 ? 1 : version < 6 ? 2 : 3);
  return attributes;
}

// The accesses that an older version cannot restrict. The seccomp filter also restricts signals.
std::string left_open(int version) {
  std::string what;
  if (version < 3) what = "it may shorten files";
  if (version < 5) what += std::string(what.empty() ? "it may" : " and") + " call open devices";
  if (what.empty()) return what;
  return what + " (landlock: version " + std::to_string(version) + " of the 5 that are needed)";
}

// Folder of the core's library.
std::string own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&enter_sandbox), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  return fs::canonical(info.dli_fname, error).parent_path().string();
}

void allow(int rules, const std::string& path, uint64_t access) {
  const Descriptor place(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (place.get() < 0) return;  // a path that does not exist needs no rule
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = access;
  rule.parent_fd = place.get();
  syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

// Allows the character devices of a driver; never block devices, whatever the pattern says.
void allow_devices(int rules, const std::vector<std::string>& patterns, uint64_t handled) {
  const uint64_t use = handled & (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                  kTruncate | kDeviceCalls);
  const auto allow_device = [&](const fs::path& path) {
    std::error_code error;
    if (fs::is_character_file(path, error)) allow(rules, path.string(), use);
  };
  for (const std::string& pattern : patterns) {
    glob_t found = {};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        std::error_code error;
        const fs::path path = fs::canonical(found.gl_pathv[i], error);
        if (error || path.string().rfind("/dev/", 0) != 0) continue;  // a link out of /dev
        allow_device(path);
        if (!fs::is_directory(path, error)) continue;
        allow(rules, path.string(), LANDLOCK_ACCESS_FS_READ_DIR);
        for (const auto& entry : fs::recursive_directory_iterator(
                 path, fs::directory_options::skip_permission_denied, error))
          allow_device(entry.path());
      }
    }
    globfree(&found);
  }
  if (!patterns.empty()) allow(rules, "/sys", kRead);  // drivers find their devices there
}

std::string close_files(const std::string& library, const std::vector<std::string>& device_files) {
  const auto version = static_cast<int>(
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  size_t size_bytes = 0;
  const RulesetAttributes attributes = attributes_of(version, size_bytes);
  const Descriptor rules(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size_bytes, 0)));
  if (rules.get() < 0)
    return std::string("files stay open to it (landlock: ") + std::strerror(errno) + ")";
  for (const char* folder : {"/usr", "/lib", "/lib64", "/opt", "/etc/ld.so.cache",
                             "/etc/ld.so.conf.d", "/proc", "/sys/devices/system"})
    allow(rules.get(), folder, fs::is_directory(folder) ? kRead : LANDLOCK_ACCESS_FS_READ_FILE);
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/urandom"})
    allow(rules.get(), device, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE);
  allow_devices(rules.get(), device_files, attributes.files);
  for (const std::string& folder : {fs::path(library).parent_path().string(), own_folder()})
    if (!folder.empty()) allow(rules.get(), folder, kRead);
  if (syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0)
    return std::string("files stay open to it (landlock: ") + std::strerror(errno) + ")";
  return left_open(version);
}

// Drops root's capabilities, with which the process could raise its limits, load modules or restart
// the machine. Keeps those to read other users' files, which Landlock restricts by folder, and to
// lock memory.
void drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets = {};
  if (syscall(SYS_capget, &header, sets.data()) != 0) return;
  constexpr uint32_t kKept = 1U << CAP_DAC_READ_SEARCH | 1U << CAP_IPC_LOCK;
  const uint32_t kept = sets[0].permitted & kKept;
  sets = {};
  sets[0].permitted = kept;
  sets[0].effective = kept;
  syscall(SYS_capset, &header, sets.data());
}

}  // namespace

std::string enter_sandbox(const std::string& library,
                          const std::vector<std::string>& device_files) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);  // Landlock and seccomp need it
  const std::string files = close_files(library, device_files);
  drop_capabilities();
  std::string calls = install_seccomp_filter();
  if (!calls.empty())
    calls = "the network and other processes stay open to it (seccomp: " + calls + ")";
  return files + (files.empty() || calls.empty() ? "" : "; ") + calls;
}

}  // namespace gantry
