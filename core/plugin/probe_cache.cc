// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/log.h"
#include "plugin/discovery/digest.h"
#include "plugin/discovery/library_file.h"
#include "plugin/discovery/machine.h"
#include "plugin/probe.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int64_t kRetryAfterSeconds = 3600;

int64_t now_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

std::string to_text(const FileIdentity& identity) {
  return std::to_string(identity.device) + " " + std::to_string(identity.inode) + " " +
         std::to_string(identity.size_bytes) + " " + std::to_string(identity.modified_ns);
}

}  // namespace

std::string ProbeCache::file_of(const ProbeRequest& request) const {
  if (folder_.empty()) return {};
  const json key = {request.library, to_text(FileIdentity::of(request.library)), request.manifest,
                    request.options, to_text(FileIdentity::of(own_library()))};
  return (fs::path(folder_) / "probes" /
          (sha256_of(key.dump(-1, ' ', false, json::error_handler_t::replace)) + ".json"))
      .string();
}

std::optional<ProbeVerdict> ProbeCache::find(const ProbeRequest& request) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream stream(file_of(request), std::ios::binary);
  const json kept = json::parse(stream, nullptr, false);  // a file that is not JSON is ignored
  if (!kept.is_object()) return std::nullopt;
  try {
    ProbeVerdict verdict;
    verdict.cause = kept.at("cause").get<std::string>();
    verdict.code = static_cast<Code>(kept.at("code").get<uint32_t>());
    verdict.message = kept.at("message").get<std::string>();
    const int64_t age = now_seconds() - kept.at("time").get<int64_t>();
    if (verdict.has_passed() && verdict.cause == "passed") return verdict;
    if (!verdict.has_passed() && verdict.is_sticky() && age >= 0 && age < kRetryAfterSeconds)
      return verdict;
  } catch (const json::exception&) {
    return std::nullopt;
  }
  return std::nullopt;
}

void ProbeCache::store(const ProbeRequest& request, const ProbeVerdict& verdict) const noexcept {
  if (folder_.empty() || !(verdict.has_passed() || verdict.is_sticky())) return;
  try {
    const fs::path file = file_of(request);
    // Permissions are set only on folders made here: one that a variable names may be another
    // user's.
    if (fs::create_directories(file.parent_path()))
      fs::permissions(file.parent_path(), fs::perms::owner_all);
    const fs::path draft = file.string() + "." + std::to_string(getpid());
    std::ofstream stream(draft, std::ios::binary);
    const json kept = {{"cause", verdict.cause},
                       {"code", static_cast<uint32_t>(verdict.code)},
                       {"message", verdict.message},
                       {"provider", request.name},
                       {"time", now_seconds()}};
    stream << kept.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    stream.close();
    fs::rename(draft, file);
  } catch (const std::exception& error) {
    log(LogLevel::kInfo, std::string("the verdict of a probe could not be kept: ") + error.what());
  }
}

}  // namespace gantry
