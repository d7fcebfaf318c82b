// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/trusted_path.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>

#include "base/log.h"
#include "plugin/discovery/machine.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

// Systems that give each user a private group (gid equal to uid) make files writable by that group
// by default.
bool is_private_group(const struct stat& status) {
  return status.st_uid != 0 && status.st_gid == status.st_uid;
}

// An access control list changes the group bits and may name any user.
bool has_access_list(const fs::path& path) {
  return getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
}

// In a sticky folder only the owner of an entry may rename or remove it.
bool is_sticky(const struct stat& status) { return (status.st_mode & S_ISVTX) != 0; }

// Adds everyone who could replace the file: who may write it or a folder above it.
void add_writers_of(const fs::path& file, TrustedWriters& writers) {
  for (fs::path path = file;; path = path.parent_path()) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) return;
    writers.users.insert(status.st_uid);
    const bool is_entry_safe = path != file && is_sticky(status);
    if ((status.st_mode & S_IWGRP) != 0 && !is_entry_safe && !has_access_list(path))
      writers.groups.insert(status.st_gid);
    if ((status.st_mode & S_IWOTH) != 0 && !is_entry_safe) writers.is_everybody = true;
    if (path == path.root_path()) return;
  }
}

// The id of a user or group; -1: no such name.
template <class Entry, class Find>
int64_t number_of(const std::string& name, const Find& find, uint32_t Entry::*number) {
  uint32_t given = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), given);
  if (error == std::errc() && end == name.data() + name.size()) return given;
  Entry entry = {};
  Entry* found = nullptr;
  std::array<char, 16384> texts;
  if (find(name.c_str(), &entry, texts.data(), texts.size(), &found) != 0 || !found) return -1;
  return entry.*number;
}

// An entry of /providers/trust.
struct NamedWriter {
  TrustFault fault = TrustFault::kNone;
  bool is_group = false;
  uint32_t number = 0;  // of the user or group, if there is no fault
};

NamedWriter find_named(const std::string& named) {
  const size_t colon = named.find(':');
  const std::string kind = named.substr(0, colon);
  if (colon == std::string::npos || colon + 1 == named.size() ||
      (kind != "user" && kind != "group"))
    return {TrustFault::kForm};
  const std::string who = named.substr(colon + 1);
  const bool is_group = kind == "group";
  const int64_t number = is_group ? number_of<group>(who, getgrnam_r, &group::gr_gid)
                                  : number_of<passwd>(who, getpwnam_r, &passwd::pw_uid);
  if (number < 0) return {TrustFault::kUnknown, is_group};
  return {TrustFault::kNone, is_group, static_cast<uint32_t>(number)};
}

[[noreturn]] void refuse_path(const std::string& message) {
  throw Error(Code::kUnavailable, message);
}

void check_one(const fs::path& path, bool may_be_shared, const TrustedWriters& writers) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0)
    throw Error(Code::kNotFound, path.string() + ": " + std::generic_category().message(errno));
  if (writers.is_everybody) return;
  const auto trust = [&](const char* kind, uint32_t number) {
    return writers.is_elevated ? std::string()
                               : std::string(", or list \"") + kind + ":" + std::to_string(number) +
                                     "\" in \"providers\": {\"trust\"}";
  };
  if (!writers.users.contains(status.st_uid)) {
    refuse_path(
        path.string() + ": expected the owner root" +
        (writers.is_elevated || geteuid() == 0 ? "" : " or user " + std::to_string(geteuid())) +
        ", found user " + std::to_string(status.st_uid) +
        ", who could replace what this process runs; chown " +
        std::to_string(writers.is_elevated ? 0 : geteuid()) + " " + path.string() +
        trust("user", status.st_uid));
  }
  if (S_ISLNK(status.st_mode)) return;  // a link cannot be written, only replaced in its folder
  const bool by_all = (status.st_mode & S_IWOTH) != 0;
  const bool is_trusted_group =
      !writers.is_elevated && !has_access_list(path) &&
      (is_private_group(status) || writers.groups.contains(status.st_gid));
  const bool by_group = (status.st_mode & S_IWGRP) != 0 && !is_trusted_group;
  if (!by_all && !by_group) return;
  if (may_be_shared && is_sticky(status)) return;
  refuse_path(path.string() + ": expected that only its owner may write it, found that " +
              (by_all ? "everybody may; chmod o-w " + path.string()
                      : "group " + std::to_string(status.st_gid) + " may; chmod g-w " +
                            path.string() + trust("group", status.st_gid)));
}

}  // namespace

TrustedWriters TrustedWriters::of_process(bool is_elevated, const std::vector<std::string>& named) {
  TrustedWriters writers;
  writers.is_elevated = is_elevated;
  writers.users.insert(0);
  if (is_elevated) return writers;
  writers.users.insert(geteuid());
  // In a user namespace that does not map root, its files appear as another user's: whoever owns
  // the root folder is root.
  struct stat status = {};
  if (stat("/", &status) == 0) writers.users.insert(status.st_uid);
  writers.groups.insert(getegid());
  std::vector<gid_t> groups(static_cast<size_t>(std::max(getgroups(0, nullptr), 0)));
  const int count = getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(count, 0)));
  writers.groups.insert(groups.begin(), groups.end());
  // Whoever can replace gantry itself gains nothing by a provider.
  add_writers_of(own_library(), writers);
  for (const std::string& name : named) {
    const NamedWriter writer = find_named(name);
    if (writer.fault != TrustFault::kNone) continue;
    if (writer.is_group) {
      writers.groups.insert(writer.number);
    } else {
      writers.users.insert(writer.number);
    }
  }
  return writers;
}

TrustFault fault_of_trust(const std::string& named) { return find_named(named).fault; }

void check_trusted(const std::string& path, const TrustedWriters& writers) {
  const fs::path file = path;
  try {
    check_one(file, false, writers);
    check_trusted_folder(file.parent_path().string(), writers);
  } catch (const Error& error) {
    // Perhaps an attack, so it must not be in a report only.
    if (error.code() == Code::kUnavailable) log(LogLevel::kWarning, error.message());
    throw;
  }
}

void check_trusted_folder(const std::string& path, const TrustedWriters& writers) {
  // A sticky folder on the path is safe, as its entry has a trusted owner. The folder of the files
  // themselves must not be sticky: others could add files there.
  bool may_be_shared = false;
  for (fs::path folder = path;; folder = folder.parent_path()) {
    check_one(folder, may_be_shared, writers);
    may_be_shared = true;
    if (folder == folder.root_path()) break;
  }
}

}  // namespace gantry
