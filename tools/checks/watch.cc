// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace gantry::checks {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kLines = 3;            // descriptor on which the child writes its JSON lines
constexpr size_t kMostWords = 1000;  // of standard error, from its end

[[noreturn]] void fail(const std::string& what, int reason) {
  throw Error(Code::kUnavailable, "the checks run in a process of their own, and " + what + ": " +
                                      std::generic_category().message(reason));
}

// The reading end of a pipe to a child.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) fail("there is no pipe for it", errno);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }
  void drain(std::string& to) const {
    std::array<char, 4096> piece = {};
    for (;;) {
      const ssize_t got = read(ends_[0], piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      to.append(piece.data(), static_cast<size_t>(got));
    }
  }

 private:
  std::array<int, 2> ends_ = {-1, -1};
};

std::string last_words(std::string words) {
  words.erase(0, words.size() - std::min(words.size(), kMostWords));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  std::replace(words.begin(), words.end(), '\n', '|');
  return words.empty() ? words : "; it wrote: " + words;
}

// One child, from its start to its end.
class Child {
 public:
  Child(const WatchOptions& options, size_t first, std::vector<CheckResult>& results)
      : options_(options), results_(results) {
    std::vector<std::string> words = options.arguments;
    words.insert(words.begin(), options.program);
    words.insert(words.end(),
                 {"--child-fd", std::to_string(kLines), "--child-from", std::to_string(first)});
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, words_.writer(), 2);
    // Of the same number already: it only has to stay open.
    posix_spawn_file_actions_adddup2(&actions, lines_.writer(), kLines);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);  // so that its own children are killed with it
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int status = posix_spawn(&process_, options.program.c_str(), &actions, &attributes,
                                   arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (status != 0) fail(options.program + " cannot be started", status);
    lines_.close_writer();
    words_.close_writer();
  }

  // Index of the next check to run; std::nullopt if all are done.
  std::optional<size_t> watch() {
    follow();
    read_lines();
    if (is_done_ && is_orderly()) return std::nullopt;
    if (is_done_) {
      add({1, "process.ends-well", "P2", {}, {}, {}, 0}, "at the end of the process");
      return std::nullopt;
    }
    if (is_lost_ && is_orderly()) return number_ + 1;
    if (!open_) {
      add({1, "process.runs", "P2", {}, {}, {}, 0}, "before the first check");
      return std::nullopt;
    }
    add(*open_, note_.empty() ? "in this check" : "in this check, at: " + note_);
    return number_ + 1;
  }

 private:
  void follow() {
    deadline_ = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
    for (;;) {
      std::array<pollfd, 2> waits = {pollfd{lines_.reader(), POLLIN, 0},
                                     pollfd{words_.reader(), POLLIN, 0}};
      constexpr int kStepMs = 50;
      poll(waits.data(), waits.size(), kStepMs);
      read_lines();
      words_.drain(said_);
      siginfo_t how = {};
      // Not reaped yet, so that the process id cannot be reused below.
      if (waitid(P_PID, static_cast<id_t>(process_), &how, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          how.si_pid == process_)
        break;
      is_late_ = Clock::now() >= deadline_;
      if (is_late_) break;
    }
    kill(-process_, SIGKILL);  // also kills processes that it left behind
    waitpid(process_, &status_, 0);
    words_.drain(said_);
  }

  [[nodiscard]] bool is_orderly() const {
    return !is_late_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
  }

  void add(CheckResult result, const std::string& when) {
    result.status = is_late_ ? "timed out" : "crashed";
    std::string how = "did not end within " + std::to_string(options_.timeout_ms) + " ms";
    if (!is_late_ && WIFSIGNALED(status_)) {
      const char* name = strsignal(WTERMSIG(status_));
      how = "was ended by signal " + std::to_string(WTERMSIG(status_)) + " (" +
            (name ? name : "unknown") + ")";
    } else if (!is_late_) {
      how = "ended by itself with status " + std::to_string(WEXITSTATUS(status_));
    }
    result.message =
        "expected the process to survive, found that it " + how + " " + when + last_words(said_);
    // Events before the first check and after the last one belong to no check.
    const bool is_check = result.name.rfind("process.", 0) != 0;
    result.remedy = "run the same command" + (is_check ? " with --only " + result.name : "") +
                    " under a debugger that follows children (set follow-fork-mode child)";
    report(result);
  }

  void report(const CheckResult& result) {
    results_.push_back(result);
    if (options_.seen) options_.seen(result);
  }

  void read_lines() {
    lines_.drain(text_);
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      const json line = json::parse(text_.substr(0, end), nullptr, false);
      text_.erase(0, end + 1);
      if (!line.is_object()) continue;
      take(line);
    }
  }

  void take(const json& line) {
    if (line.contains("begin")) {
      deadline_ = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
      number_ = line["begin"];
      open_ = CheckResult{line["level"], line["name"], line["duty"], {}, {}, {}, 0};
      note_.clear();
    } else if (line.contains("note")) {
      note_ = line["note"];
    } else if (line.contains("end") && open_) {
      open_->status = line["status"];
      open_->message = line["message"];
      open_->remedy = line["remedy"];
      open_->ms = line["ms"];
      is_lost_ = line.value("lost", false);
      report(*open_);
      open_.reset();
    } else if (line.contains("done")) {
      is_done_ = true;
    }
  }

  const WatchOptions& options_;
  std::vector<CheckResult>& results_;
  Pipe lines_;
  Pipe words_;
  pid_t process_ = -1;
  int status_ = 0;
  bool is_late_ = false;
  bool is_done_ = false;
  bool is_lost_ = false;  // the last check lost the device, and the child stopped
  Clock::time_point deadline_;
  std::string text_;  // an incomplete line
  std::string said_;  // standard error of the child
  std::string note_;
  std::optional<CheckResult> open_;
  size_t number_ = 0;
};

}  // namespace

std::vector<CheckResult> watch_children(const WatchOptions& options) {
  std::vector<CheckResult> results;
  std::optional<size_t> next = 0;
  for (size_t crashes = 0; next && crashes <= options.most_crashes; ++crashes) {
    Child child(options, *next, results);
    next = child.watch();
  }
  if (next) {
    results.push_back(
        {1, "process.goes-on", "P2", "failed",
         "expected at most " + std::to_string(options.most_crashes) +
             " crashes and lost devices, found more; the checks after them were not run",
         "mend those above first", 0});
  }
  return results;
}

}  // namespace gantry::checks
