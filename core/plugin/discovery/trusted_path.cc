// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/trusted_path.h"

#include <gantry/error.h>

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>

#include "base/log.h"
#include "plugin/discovery/machine.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = static_cast<uid_t>(-1);

uid_t owner_of(const char* path) {
  struct stat facts = {};
  return stat(path, &facts) == 0 ? facts.st_uid : kNobody;
}

bool is_trusted_owner(uid_t owner, bool is_elevated) {
  if (owner == 0) return true;
  if (is_elevated) return false;
  // In a user namespace that does not map root, its files appear as another user's: whoever owns
  // the root folder is root.
  // Who may change gantry itself has no need of a provider.
  static const uid_t core = owner_of(own_library().c_str());
  static const uid_t root = owner_of("/");
  return owner == geteuid() || owner == core || owner == root;
}

// Where each user has a group alone, of the user's own number, files are writable by that group as
// a matter of course. An access list shows in the same bits and may name anybody.
bool is_private_group(const fs::path& path, const struct stat& facts) {
  return facts.st_uid != 0 && facts.st_gid == facts.st_uid &&
         getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) <= 0;
}

[[noreturn]] void refuse_path(const std::string& message) {
  throw Error(Code::kUnavailable, message);
}

void check_one(const fs::path& path, bool may_be_shared, bool is_elevated) {
  struct stat facts = {};
  if (lstat(path.c_str(), &facts) != 0)
    throw Error(Code::kNotFound, path.string() + ": " + std::generic_category().message(errno));
  if (!is_trusted_owner(facts.st_uid, is_elevated)) {
    refuse_path(path.string() + ": expected the owner root" +
                (is_elevated || geteuid() == 0 ? "" : " or user " + std::to_string(geteuid())) +
                ", found user " + std::to_string(facts.st_uid) +
                ", who could replace what this process runs; chown " +
                std::to_string(is_elevated ? 0 : geteuid()) + " " + path.string());
  }
  if (S_ISLNK(facts.st_mode)) return;  // nobody writes a link: it is made anew, in its folder
  const bool by_all = (facts.st_mode & S_IWOTH) != 0;
  const bool by_group =
      (facts.st_mode & S_IWGRP) != 0 && (is_elevated || !is_private_group(path, facts));
  if (!by_all && !by_group) return;
  if (may_be_shared && (facts.st_mode & S_ISVTX) != 0) return;
  refuse_path(path.string() + ": expected that only its owner may write it, found that " +
              (by_all ? "everybody may; chmod o-w " : "its group may; chmod g-w ") + path.string());
}

}  // namespace

void check_trusted(const std::string& path, bool is_elevated) {
  const fs::path file = path;
  try {
    check_one(file, false, is_elevated);
    check_trusted_folder(file.parent_path().string(), is_elevated);
  } catch (const Error& error) {
    // An attempt, perhaps: never only in a report.
    if (error.code() == Code::kUnavailable) log(LogLevel::kWarning, error.message());
    throw;
  }
}

void check_trusted_folder(const std::string& path, bool is_elevated) {
  // In a sticky folder only the owner of an entry may rename or remove it, and the entry on our way
  // has a trusted one. Not so the folder of the files themselves: others may put some beside them
  // there.
  bool may_be_shared = false;
  for (fs::path folder = path;; folder = folder.parent_path()) {
    check_one(folder, may_be_shared, is_elevated);
    may_be_shared = true;
    if (folder == folder.root_path()) break;
  }
}

}  // namespace gantry
