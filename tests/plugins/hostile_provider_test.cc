// SPDX-License-Identifier: Apache-2.0
// Providers that end, stop or impair their process in each slot of their interface: the call fails
// with a sentence that names them, what comes after is served by another process, and nothing is
// left behind.
#include <gantry/gantry.h>

#include <gmock/gmock.h>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "isolated_runtime.h"
#include "left_behind.h"
#include "relu_runs.h"

namespace gantry {
namespace {

using nlohmann::json;
using test::expect_good;
using test::input;
using test::IsolatedRuntime;
using test::kRelu;

constexpr float kMisbehave = -12;  // the first element with which a kernel does what its mode says

json short_limits() {
  return {{"start_timeout_ms", 2000},
          {"compile_timeout_ms", 1000},
          {"run_timeout_ms", 1000},
          {"stop_grace_ms", 100}};
}

struct ProviderSlot {
  const char* name;
  const char* call;  // as messages have it
  Code code;         // of an end; one that does not end is told by its deadline where that is told
};

std::ostream& operator<<(std::ostream& out, const ProviderSlot& slot) { return out << slot.name; }

// Loads a model and runs it, once as the provider's mode says.
void load_and_run(IsolatedRuntime& runtime, const json& mode) {
  Session session = runtime.session(kRelu, "FAKE", mode);
  expect_good(session);
  session.run(input(kMisbehave));
}

class HostileSlot : public testing::TestWithParam<std::tuple<ProviderSlot, const char*>> {
 protected:
  static void SetUpTestSuite() {
    IsolatedRuntime runtime;  // so that what is opened once is open
    load_and_run(runtime, json::object());
    Session cpu = runtime.session(kRelu, "CPU");
  }
};

bool is_of_process(const std::string& slot) {
  return slot == "start" || slot == "devices" || slot == "close";
}

// One that closes its descriptors may find that the application is gone, and end.
testing::Matcher<std::string> told_of(const std::string& action) {
  if (action == "crashes") return testing::HasSubstr("signal 11");
  if (action == "exits") return testing::HasSubstr("ended by itself with status 3");
  if (action == "stops") return testing::HasSubstr("did not end within");
  return testing::AnyOf(testing::HasSubstr("because it closed its channel in a call"),
                        testing::HasSubstr("ended by itself with status 0"));
}

TEST_P(HostileSlot, FailsItsCallAndNothingElse) {
  const auto& [slot, action] = GetParam();
  const std::string name = slot.name;
  const std::string mode = name + "_" + action;
  const bool is_of_load = is_of_process(name);
  const test::LeftBehind left;
  {
    IsolatedRuntime runtime(short_limits(), is_of_load ? json{{"mode", mode}} : json::object());
    const json session = is_of_load ? json::object() : runtime.mode(mode);
    if (slot.code == Code::kOk) {
      EXPECT_NO_THROW(load_and_run(runtime, session));
    } else {
      try {
        load_and_run(runtime, session);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& error) {
        const bool is_told = slot.code == Code::kProviderCrashed && std::string(action) == "stops";
        EXPECT_EQ(error.code(), is_told ? Code::kDeadlineExceeded : slot.code) << error.what();
        EXPECT_THAT(error.message(), testing::HasSubstr("crashing"));
        EXPECT_THAT(error.message(), testing::HasSubstr(slot.call));
        EXPECT_THAT(error.message(), told_of(action));
      }
    }
    // A load asks for claims several times, which is quarantine.
    if (!is_of_load && name != "claim") {
      EXPECT_NO_THROW(load_and_run(runtime, json::object()));
    }
    Session cpu = runtime.session(kRelu, "CPU");
    expect_good(cpu);
  }
  left.expect_nothing();
}

INSTANTIATE_TEST_SUITE_P(
    Slots, HostileSlot,
    testing::Combine(testing::Values(ProviderSlot{"start", "open", Code::kUnavailable},
                                     ProviderSlot{"devices", "open", Code::kUnavailable},
                                     ProviderSlot{"claim", "claim", Code::kUnsupported},
                                     ProviderSlot{"compile", "compilation of Relu",
                                                  Code::kProviderCrashed},
                                     ProviderSlot{"run", "run of Relu", Code::kProviderCrashed},
                                     ProviderSlot{"release", "", Code::kOk},
                                     ProviderSlot{"close", "", Code::kOk}),
                     testing::Values("crashes", "exits", "stops", "closes")),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
    });

class HostileLimits : public testing::TestWithParam<const char*> {};

// A process without descriptors can take no new channel and send no large answer. What it can do it
// does; what it cannot costs the process, and the next one has limits of its own.
TEST_P(HostileLimits, AreOfOneProcess) {
  const std::string slot = GetParam();
  const test::LeftBehind left;
  {
    IsolatedRuntime runtime(short_limits());
    const json mode = runtime.mode(slot + "_limits");
    const auto run = [&](const json& config) {
      try {
        load_and_run(runtime, config);
        return true;
      } catch (const Error& error) {
        EXPECT_THAT(error.message(), testing::HasSubstr("crashing"));
        return false;
      }
    };
    run(mode);
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { run(json::object()); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(run(json::object()) || run(json::object()));
  }
  left.expect_nothing();
}

INSTANTIATE_TEST_SUITE_P(Slots, HostileLimits, testing::Values("claim", "compile", "run"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gantry
