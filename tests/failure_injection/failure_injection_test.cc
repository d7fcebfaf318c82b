// SPDX-License-Identifier: Apache-2.0
// Every call of the C library that can fail, on the paths that load a model, run it, close it and
// start its provider's process again, fails once, in turn. What was asked for then ends with an
// error or with the right result; the process lives; the next attempt, in which nothing fails, has
// the right result; and nothing is lost by it: memory, descriptors, threads.
//
// The attempts are made in a child process, which is started again behind a call that ended it.
#include <gantry/error.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "failing_calls.h"
#include "scenarios.h"

namespace gantry::test {
namespace {

/// The bundled providers that are gantry's own code to the last line: oneDNN ends the process where
/// it finds no memory, and what its compiler of kernels could not map once it refuses to map in
/// that thread for ever.
constexpr const char* kProviderFiles = GANTRY_PROVIDERS "/cpu.json:" GANTRY_PROVIDERS "/sim.json";
constexpr unsigned kSecondsForOne = 20;
constexpr size_t kMostFindings = 8;
/// How often a call that seems to lose something is tried again: what is kept for later uses, as a
/// cache does, is kept once.
constexpr int kRepeats = 4;

/// What the child tells the parent, in memory that both see.
struct Progress {
  uint64_t number;  ///< of the call that is being failed
  bool is_complete;
  std::array<char, 1024> finding;
};

struct Held {
  int64_t blocks;
  int64_t descriptors;
  int64_t threads;
};

int64_t entries_of(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder),
                       std::filesystem::directory_iterator());
}
Held held() { return {blocks(), entries_of("/proc/self/fd"), entries_of("/proc/self/task")}; }

constexpr int kEndOfALibrary = 3;  // exit status
/// Exit status of the dynamic linker when it has no memory for a thread's variables. Seen only
/// where it is audited, as in `tools/test --cpu`.
constexpr int kEndOfTheLinker = 127;

/// Destructors of the JSON library's documents allocate, and cannot say that there is no memory
/// (SECURITY.md); in ours they stand in the destructor of Config.
bool is_of_json() { return has_failed_in("nlohmann") || has_failed_in("gantry6ConfigD"); }

[[noreturn]] void die_with_calls(int signal) {
  end_failing();
  if (signal == SIGABRT && is_of_json()) _exit(kEndOfALibrary);
  print_failed_call();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  _exit(1);
}

class Attempts {
 public:
  Attempts(Scenario& scenario, Failing kind, Progress& progress)
      : scenario_(scenario), kind_(kind), progress_(progress) {}

  /// Makes what is made on first use, with nothing failing.
  void warm_up() {
    for (int i = 0; i < 4; ++i) clean();
  }
  /// Fails call `number` of a process that has done nothing yet. False: it did not come.
  bool attempt_first_use(uint64_t number) {
    progress_.number = number;
    const bool has_come = fail(number);
    // OpenSSL prepares itself once in a process, and keeps to a failure.
    if (!has_failed_in("libcrypto")) warm_up();
    return has_come;
  }

  /// Fails call `number`. False: no call of that number comes any more.
  bool attempt(uint64_t number) {
    progress_.number = number;
    Held before = held();
    const bool has_come = fail(number);
    clean();
    if (!has_come) return false;
    std::string lost = growth(before);
    for (int i = 0; i < kRepeats && !lost.empty(); ++i) {
      before = held();
      fail(number);
      clean();
      lost = growth(before);
    }
    if (!lost.empty()) found(number, lost);
    return true;
  }

 private:
  bool fail(uint64_t number) {
    alarm(kSecondsForOne);
    std::string problem;
    fail_call(kind_, number);
    try {
      std::string result = scenario_.act();
      const bool has_come = end_failing();
      if (!right_.empty() && result != right_) problem = "the result is wrong";
      if (!problem.empty()) found(number, problem);
      return has_come;
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& error) {
      problem = std::string("an exception of another type: ") + error.what();
    }
    const bool has_come = end_failing();
    if (!has_come) problem = "an error though nothing had failed";
    if (!problem.empty()) found(number, problem);
    return has_come;
  }
  void clean() {
    alarm(kSecondsForOne);
    try {
      const std::string result = scenario_.act();
      if (right_.empty()) right_ = result;
      if (result != right_) found(progress_.number, "the next result is wrong");
    } catch (const std::exception& error) {
      found(progress_.number, std::string("the next attempt failed: ") + error.what());
    }
  }
  /// protobuf adds an element to a list in two steps, and loses it when the second has no memory;
  /// so do functions of its headers in what the onnx library compiles.
  static bool is_of_protobuf() {
    return has_failed_in("libprotobuf") || has_failed_in("gantry_onnx") ||
           has_failed_in("infer_types") || has_failed_in("normalize_model");
  }
  static std::string growth(const Held& before) {
    const Held now = held();
    std::string lost;
    if (now.blocks > before.blocks && !is_of_protobuf())
      lost += " " + std::to_string(now.blocks - before.blocks) + " blocks of memory";
    if (now.descriptors > before.descriptors) lost += " a descriptor";
    if (now.threads > before.threads) lost += " a thread";
    return lost.empty() ? "" : "each time it loses" + lost;
  }
  /// Ends the child; the parent goes on behind the call.
  [[noreturn]] void found(uint64_t number, const std::string& what) {
    end_failing();
    progress_.number = number;
    std::snprintf(progress_.finding.data(), progress_.finding.size(), "%s", what.c_str());
    print_failed_call();
    _exit(1);
  }

  Scenario& scenario_;
  Failing kind_;
  Progress& progress_;
  std::string right_;
};

struct Case {
  const char* name;
  std::unique_ptr<Scenario> (*make)();
  Failing kind;
  bool is_first_use = false;  ///< each call fails in a process that has done nothing before
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

class FailureInjection : public testing::TestWithParam<Case> {
 protected:
  FailureInjection()
      : progress_(static_cast<Progress*>(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~FailureInjection() override { munmap(progress_, sizeof(Progress)); }

  /// In the child: attempts from `first` on, until the last call or a finding.
  [[noreturn]] void attempt_all(const Case& one, uint64_t first, uint64_t step) const {
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGALRM})
      std::signal(signal, die_with_calls);
    setenv("GANTRY_PROVIDER_FILES", kProviderFiles, 1);
    try {
      const std::unique_ptr<Scenario> scenario = one.make();
      Attempts attempts(*scenario, one.kind, *progress_);
      if (one.is_first_use) {
        progress_->is_complete = !attempts.attempt_first_use(first);
      } else {
        attempts.warm_up();
        uint64_t number = first;
        while (attempts.attempt(number)) number += step;
        progress_->is_complete = true;
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "outside of the attempts: %s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  /// Its wait status.
  int run_child(const Case& one, uint64_t first, uint64_t step) const {
    *progress_ = {first, false, {}};
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) attempt_all(one, first, step);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }

  Progress* progress_;
};

TEST_P(FailureInjection, NothingIsLost) {
  const Case& one = GetParam();
  const char* given = std::getenv("GANTRY_INJECTION_STEP");
  const char* from = std::getenv("GANTRY_INJECTION_FIRST");
  // Of the calls for memory, which are thousands, a part; with a step of 1 all.
  const uint64_t step = given ? std::stoull(given) : one.kind == Failing::kMemory ? 17 : 1;
  uint64_t first = from ? std::stoull(from) : 1;
  size_t findings = 0;
  uint64_t attempts = 0;
  while (findings < kMostFindings) {
    const int status = run_child(one, first, step);
    attempts += (progress_->number - first) / step + 1;
    if (progress_->is_complete) break;
    first = progress_->number + step;
    if (status == 0) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kEndOfALibrary) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == kEndOfTheLinker && std::getenv("LD_AUDIT"))
      continue;
    ++findings;
    const std::string end =
        WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status)) : "an end";
    ADD_FAILURE() << "call " << progress_->number << ": "
                  << (progress_->finding[0] ? progress_->finding.data() : end.c_str());
  }
  RecordProperty("attempts", static_cast<int>(attempts));
  EXPECT_GT(attempts, 1U) << "no call of this kind was made";
}

INSTANTIATE_TEST_SUITE_P(
    Calls, FailureInjection,
    testing::Values(Case{"MemoryOfALoad", make_load, Failing::kMemory},
                    Case{"MemoryOfARun", make_run, Failing::kMemory},
                    Case{"MemoryOfOpening", make_open, Failing::kMemory, true},
                    Case{"MemoryOfAWorker", make_worker, Failing::kMemory, true},
                    Case{"MappingsOfALoad", make_load_file, Failing::kMappings},
                    Case{"MappingsOfAFirstLoad", make_load_file, Failing::kMappings, true},
                    Case{"MappingsOfAWorker", make_worker, Failing::kMappings, true},
                    Case{"FilesOfALoad", make_load_file, Failing::kFiles},
                    Case{"FilesOfARuntime", make_runtime, Failing::kFiles},
                    Case{"FilesOfAWorker", make_worker, Failing::kFiles, true},
                    Case{"DescriptorsOfALoad", make_load_file, Failing::kDescriptors},
                    Case{"DescriptorsOfARuntime", make_runtime, Failing::kDescriptors},
                    Case{"DescriptorsOfAWorker", make_worker, Failing::kDescriptors, true},
                    Case{"ThreadsOfALoad", make_load, Failing::kThreads, true},
                    Case{"ThreadsOfAWorker", make_worker, Failing::kThreads, true},
                    Case{"ProcessesOfAWorker", make_worker, Failing::kProcesses, true},
                    Case{"MessagesOfAWorker", make_worker, Failing::kMessages, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gantry::test
