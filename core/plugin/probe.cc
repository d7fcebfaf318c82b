// SPDX-License-Identifier: Apache-2.0
#include "plugin/probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/descriptor.h"
#include "plugin/child_process.h"

namespace gantry {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

constexpr size_t kMostWords = 1000;         // bytes from the end of standard error
constexpr size_t kMostSaidBytes = 1 << 20;  // of each output of the child

[[noreturn]] void fail(const ProbeRequest& request, const std::string& what, int reason) {
  throw Error(Code::kUnavailable, "provider \"" + request.name +
                                      "\": it is to be tried in a child process first, and " +
                                      what + ": " + std::generic_category().message(reason) +
                                      "; it is not opened untried");
}

// Moves a descriptor above those of the child (0 to 3), so that none overwrites another.
Descriptor raised(const ProbeRequest& request, int number) {
  const Descriptor low(number);
  constexpr int kFirst = 10;
  Descriptor high(fcntl(low.get(), F_DUPFD_CLOEXEC, kFirst));
  if (high.get() < 0) fail(request, "there is no descriptor for it", errno);
  return high;
}

struct Pipe {
  Descriptor read;
  Descriptor write;
  explicit Pipe(const ProbeRequest& request) {
    std::array<int, 2> ends = {};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(request, "there is no pipe for it", errno);
    read = raised(request, ends[0]);
    write = raised(request, ends[1]);
    fcntl(read.get(), F_SETFL, O_NONBLOCK);
  }
};

// In memory and not in a pipe: a child that does not read must not block this process.
Descriptor request_file(const ProbeRequest& request) {
  const json document = {{"manifest_file", request.manifest_file},
                         {"manifest", request.manifest},
                         {"library", request.library},
                         {"options", request.options}};
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  Descriptor file = raised(request, memfd_create("gantry-probe", MFD_CLOEXEC));
  if (write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      lseek(file.get(), 0, SEEK_SET) != 0)
    fail(request, "there is no memory for it", errno);
  return file;
}

pid_t start(const ProbeRequest& request, const Pipe& verdict, const Pipe& words) {
  const Descriptor input = request_file(request);
  pid_t child = -1;
  const int status =
      start_child(request.helper, {},
                  {input.get(), kNullDevice, words.write.get(), verdict.write.get()}, &child);
  if (status != 0) fail(request, "its helper " + request.helper + " cannot be started", status);
  return child;
}

void drain(const Descriptor& from, std::string& to) {
  std::array<char, 4096> piece = {};
  for (;;) {
    const ssize_t got = read(from.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    to.append(piece.data(), static_cast<size_t>(got));
    if (to.size() > kMostSaidBytes) to.erase(0, to.size() - kMostSaidBytes);
  }
}

struct Outcome {
  bool has_ended = false;  // by itself, in time
  siginfo_t how = {};
  std::string verdict;  // lines of JSON
  std::string words;    // standard error
};

Outcome watch(const ProbeRequest& request, ChildWatch& child, const Pipe& verdict,
              const Pipe& words) {
  Outcome outcome;
  const auto deadline = Clock::now() + std::chrono::milliseconds(request.timeout_ms);
  std::array<pollfd, 2> waits = {pollfd{verdict.read.get(), POLLIN, 0},
                                 pollfd{words.read.get(), POLLIN, 0}};
  while (Clock::now() < deadline) {
    outcome.has_ended = child.has_ended();
    if (outcome.has_ended) break;
    // A child may end with its pipes open, in processes that it started.
    constexpr int kMomentMs = 5;
    if (poll(waits.data(), waits.size(), kMomentMs) < 0 && errno != EINTR) break;
    drain(verdict.read, outcome.verdict);
    drain(words.read, outcome.words);
    for (pollfd& wait : waits)
      if (wait.revents & POLLHUP) wait.fd = -1;  // closed: nothing more to wait for
  }
  child.end();
  outcome.how = child.wait();
  drain(verdict.read, outcome.verdict);
  drain(words.read, outcome.words);
  return outcome;
}

// The end of the output as one line: it usually has the reason why a process died.
std::string last_words(const std::string& words) {
  std::string text = words.substr(words.size() - std::min(words.size(), kMostWords));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
    text.replace(at, 1, " | ");
  return text.empty() ? text : "; it wrote: " + text;
}

std::string describe_end(const siginfo_t& how) {
  if (how.si_signo != SIGCHLD) return "ended in a way that the system did not tell";
  if (how.si_code == CLD_EXITED)
    return "ended by itself with status " + std::to_string(how.si_status);
  const char* name = strsignal(how.si_status);
  return "was ended by signal " + std::to_string(how.si_status) + " (" + (name ? name : "unknown") +
         ")";
}

ProbeVerdict judge(const ProbeRequest& request, const Outcome& outcome) {
  std::string stage = "start";
  std::optional<json> verdict;
  for (size_t begin = 0; begin < outcome.verdict.size();) {
    const size_t end = std::min(outcome.verdict.find('\n', begin), outcome.verdict.size());
    const json line = json::parse(outcome.verdict.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (!line.is_object()) continue;
    if (line.contains("stage") && line["stage"].is_string()) stage = line["stage"];
    if (line.contains("code") && line["code"].is_number_unsigned() && line.contains("message") &&
        line["message"].is_string())
      verdict = line;
  }
  const std::string who = "provider \"" + request.name + "\": its trial in a child process ";
  const std::string words = last_words(outcome.words);
  if (!outcome.has_ended) {
    return {"timed out", Code::kDeadlineExceeded,
            who + "did not end within " + std::to_string(request.timeout_ms) +
                " ms and was ended at the stage " + stage + words};
  }
  // If the application ignores SIGCHLD the system does not report how the child ended; then only
  // its output counts.
  const bool is_told = outcome.how.si_signo == SIGCHLD;
  const bool is_orderly =
      !is_told || (outcome.how.si_code == CLD_EXITED && outcome.how.si_status == 0);
  if (!is_orderly || !verdict) {
    const std::string when = verdict ? " after its last call" : " at the stage " + stage;
    return {"crashed", Code::kProviderCrashed, who + describe_end(outcome.how) + when + words};
  }
  const auto code = static_cast<Code>((*verdict)["code"].get<uint32_t>());
  if (code == Code::kOk) return {"passed", Code::kOk, {}};
  const std::string said = (*verdict)["message"];
  const bool is_missing = said.find("cannot open shared object file") != std::string::npos;
  return {is_missing ? "missing dependency" : "refused", code,
          said + " (in a child process, at the stage " + stage + ")" + words};
}

}  // namespace

ProbeVerdict probe_in_child(const ProbeRequest& request) {
  if (request.helper.empty() || access(request.helper.c_str(), X_OK) != 0) {
    fail(request,
         "its helper " + (request.helper.empty() ? "gantry-probe" : request.helper) +
             " is not there",
         request.helper.empty() ? ENOENT : errno);
  }
  Pipe verdict(request);
  Pipe words(request);
  ChildWatch child(start(request, verdict, words));
  verdict.write.reset();
  words.write.reset();
  return judge(request, watch(request, child, verdict, words));
}

}  // namespace gantry
