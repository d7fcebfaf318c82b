// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_quota.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace gantry {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

// CPUs of a quota and a period in microseconds; nothing for "max" and -1, which are no limit.
std::optional<double> ratio(const std::string& text) {
  std::istringstream stream(text);
  int64_t quota = 0;
  int64_t period = 0;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

// Version 2 has quota and period in one file, version 1 has a file for each.
std::optional<double> limit_in(const fs::path& folder, bool is_first_version) {
  if (!is_first_version) return ratio(first_line(folder / "cpu.max"));
  return ratio(first_line(folder / "cpu.cfs_quota_us") + " " +
               first_line(folder / "cpu.cfs_period_us"));
}

void take_least(std::optional<double>& least, std::optional<double> found) {
  if (found) least = least ? std::min(*least, *found) : *found;
}

}  // namespace

std::optional<double> cpu_quota(std::string_view groups, const fs::path& root) {
  std::optional<double> least;
  while (!groups.empty()) {
    const size_t end = std::min(groups.find('\n'), groups.size());
    const std::string_view line = groups.substr(0, end);
    groups.remove_prefix(std::min(end + 1, groups.size()));
    // number:controllers:path, without a controller for version 2
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string controllers(line.substr(first + 1, second - first - 1));
    const bool is_first_version = !controllers.empty();
    if (is_first_version && ("," + controllers + ",").find(",cpu,") == std::string::npos) continue;
    const fs::path mounted = is_first_version ? root / controllers : root;
    // In a container whose group is shown as the root, the path differs from that of the files.
    take_least(least, limit_in(mounted, is_first_version));
    fs::path folder = mounted;
    for (const fs::path& part : fs::path(line.substr(second + 1)).relative_path()) {
      if (part == "..") break;
      folder /= part;
      take_least(least, limit_in(folder, is_first_version));
    }
  }
  return least;
}

std::optional<double> cpu_quota() {
  std::ifstream stream("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(stream), {}};
  return cpu_quota(groups, "/sys/fs/cgroup");
}

}  // namespace gantry
