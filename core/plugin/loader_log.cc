// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader_log.h"

#include <gantry/error.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>
#include <vector>

#include "base/names.h"

namespace gantry {
namespace {

const std::vector<std::string> kSubjects = {"collected",    "parsed", "policy", "file checks",
                                            "requirements", "probe",  "load",   "negotiate",
                                            "enumerate",    "ready"};

}  // namespace

LoaderLog::LoaderLog(const std::string& wish) : is_wished_(!wish.empty()) {
  const std::vector<std::string>& levels = log_level_names();
  std::string rest = wish;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string word = rest.substr(0, end);
    rest.erase(0, end + 1);
    const auto level = std::find(levels.begin(), levels.end(), word);
    if (level != levels.end()) {
      level_ = static_cast<LogLevel>(std::distance(levels.begin(), level));
    } else if (std::find(kSubjects.begin(), kSubjects.end(), word) != kSubjects.end()) {
      subjects_.insert(word);
    } else if (word.rfind("file=", 0) == 0) {
      file_.reset(std::fopen(word.substr(5).c_str(), "ae"));
      if (!file_) {
        throw Error(Code::kInvalidArgument, "expected a file that can be written, found " +
                                                word.substr(5) + ": " +
                                                std::generic_category().message(errno));
      }
    } else {
      throw Error(Code::kInvalidArgument, "expected words of " + list_names(levels) + ", " +
                                              list_names(kSubjects) + " and file=PATH, found \"" +
                                              word + "\"");
    }
  }
}

void LoaderLog::write(LogLevel level, const std::string& subject,
                      std::string_view message) noexcept {
  log(level, message);
  if (!is_wished_ || level > level_) return;
  if (!subjects_.empty() && subjects_.count(subject) == 0) return;
  const MutexLock lock(mutex_);
  std::FILE* target = file_ ? file_.get() : stderr;
  std::fprintf(target, "gantry loader %s [%s]: %.*s\n",
               log_level_names()[static_cast<size_t>(level)].c_str(), subject.c_str(),
               static_cast<int>(message.size()), message.data());
  std::fflush(target);
}

}  // namespace gantry
