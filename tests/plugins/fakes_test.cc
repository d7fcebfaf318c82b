// SPDX-License-Identifier: Apache-2.0
// Libraries that are broken on purpose: each leaves the right report row, one clear sentence, and
// nothing half registered.
#include <atomic>
#include <chrono>
#include <dlfcn.h>
#include <filesystem>
#include <thread>
#include <vector>

#include "provider_folder.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

// A counter of a fake that is open, or -1.
int counter(const std::string& library, const char* name) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!handle) return -1;
  const void* symbol = dlsym(handle, name);
  const int count = symbol ? static_cast<const std::atomic<int>*>(symbol)->load() : -1;
  dlclose(handle);
  return count;
}

struct Broken {
  const char* fake;
  const char* stage;
  Code code;
  std::vector<std::string> parts;
  bool is_destroyed = false;  // the entry had succeeded, so destroy must have run
};

std::ostream& operator<<(std::ostream& out, const Broken& broken) { return out << broken.fake; }

class BrokenLibrary : public testing::TestWithParam<Broken> {};

TEST_P(BrokenLibrary, LeavesARowAndNothingElse) {
  const Broken& broken = GetParam();
  const test::ProviderFolder folder;
  const std::string library = folder.add(broken.fake, "broken");
  const auto registry = folder.registry();
  test::expect_error(Code::kUnavailable, broken.parts, [&] { registry->find({"FAKE", 0}); });
  const std::vector<ProviderReport> rows = registry->report(true);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "broken");
  EXPECT_EQ(rows[0].stage, broken.stage) << rows[0].message;
  EXPECT_EQ(rows[0].state, "rejected");
  EXPECT_EQ(rows[0].code, broken.code) << rows[0].message;
  for (const std::string& part : broken.parts)
    EXPECT_THAT(rows[0].message, testing::HasSubstr(part));
  EXPECT_TRUE(registry->devices().empty());
  if (broken.is_destroyed) {
    EXPECT_EQ(counter(library, "gantry_fake_destroyed"), 1);
  }
  EXPECT_LE(counter(library, "gantry_fake_entered"), 1) << "a rejected provider is not tried again";
}

INSTANTIATE_TEST_SUITE_P(
    Fakes, BrokenLibrary,
    testing::Values(
        Broken{"no_note",
               "file checks",
               Code::kInvalidArgument,
               {"broken.so", "without the note section"}},
        Broken{"other_layout", "file checks", Code::kAbiMismatch, {"broken.so", "another layout"}},
        Broken{"other_major",
               "file checks",
               Code::kAbiMismatch,
               {"major version 1", "found 2", "upgrade gantry"}},
        Broken{"sanitized", "file checks", Code::kAbiMismatch, {"Sanitizer"}},
        Broken{"no_symbol",
               "load",
               Code::kAbiMismatch,
               {"gantry_provider_v1", "it exports", "gantry_provider_v0"}},
        Broken{"undefined_symbol",
               "load",
               Code::kUnavailable,
               {"could not be opened", "gantry_fake_symbol_that_nobody_defines"}},
        Broken{"throws",
               "negotiate",
               Code::kInternal,
               {"let an exception cross", "thrown in the entry"}},
        Broken{"returns_error",
               "negotiate",
               Code::kUnavailable,
               {"\"broken\"", "the fake driver is too old"}},
        Broken{"null_table", "negotiate", Code::kAbiMismatch, {"a table of functions", "null"}},
        Broken{"null_slot", "negotiate", Code::kAbiMismatch, {"required slot", "claim"}, true},
        Broken{"short_table", "negotiate", Code::kAbiMismatch, {"required slot", "compile"}},
        Broken{"layout_lies", "negotiate", Code::kAbiMismatch, {"layout", "rebuild"}, true},
        Broken{"newer_minor",
               "negotiate",
               Code::kAbiMismatch,
               {"at most minor version 0", "found 1"},
               true},
        Broken{"garbage_version",
               "negotiate",
               Code::kAbiMismatch,
               {"at most minor version 0", "found 4294967295"},
               true},
        Broken{"foreign_type", "enumerate", Code::kInternal, {"OTHER:0", "/devices"}, true},
        Broken{"same_id_twice", "enumerate", Code::kInternal, {"FAKE:0", "twice"}, true},
        Broken{"throws_later",
               "enumerate",
               Code::kInternal,
               {"let an exception cross", "thrown while enumerating"},
               true},
        Broken{"no_memory_slots",
               "enumerate",
               Code::kAbiMismatch,
               {"required slot", "device_open"},
               true}),
    [](const testing::TestParamInfo<Broken>& info) { return std::string(info.param.fake); });

TEST(Library, FilesThatAreNoneAreNotOpened) {
  const test::ProviderFolder folder;
  folder.write("text.so", "this is no library");
  folder.write("a.json", test::ProviderFolder::manifest("a", "text.so").dump());
  const auto registry = folder.registry();
  test::expect_error(Code::kUnavailable, {"text.so", "not an ELF file"}, [&] {
    registry->find({"FAKE", 0});
  });
  EXPECT_EQ(registry->report(false)[0].stage, "file checks");
}

TEST(Library, AGoodOneIsOpenedWhenWantedAndClosedWithTheLastUser) {
  const test::ProviderFolder folder;
  const std::string library = folder.add("good", "good");
  auto registry = folder.registry();
  EXPECT_EQ(registry->report(false)[0].state, "not opened");
  EXPECT_EQ(registry->device_types(), std::vector<std::string>{"FAKE"});
  EXPECT_EQ(counter(library, "gantry_fake_entered"), -1) << "nothing was wanted yet";
  std::vector<DeviceProvider> found = registry->find({"FAKE", 0});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].device().info.name, "fake device");
  EXPECT_EQ(found[0].provider->open_device(0), nullptr) << "host memory needs no opening";
  EXPECT_EQ(registry->report(false)[0].stage, "ready");
  const auto second = folder.registry();
  EXPECT_EQ(second->find({"FAKE", 0})[0].provider, found[0].provider) << "runtimes share providers";
  EXPECT_EQ(counter(library, "gantry_fake_entered"), 1);
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "gantry_fake_entered"), nullptr)
      << "what it exports is nobody else's";
  registry.reset();
  EXPECT_EQ(counter(library, "gantry_fake_destroyed"), 0);
  found.clear();
  EXPECT_EQ(counter(library, "gantry_fake_destroyed"), 0) << "the second registry holds it";
}

TEST(Library, OpensAgainAfterDestroy) {
  const test::ProviderFolder folder;
  const std::string library = folder.add("good", "good");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(folder.registry()->find({"FAKE", 0}).size(), 1U);
    EXPECT_EQ(counter(library, "gantry_fake_entered"), i);
    EXPECT_EQ(counter(library, "gantry_fake_destroyed"), i);
  }
}

TEST(Library, OpensOnceFromManyThreads) {
  const test::ProviderFolder folder;
  const std::string library = folder.add("good", "good");
  const auto registry = folder.registry();
  const auto other = folder.registry();
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ((i % 2 ? registry : other)->find({"FAKE", 0}).size(), 1U);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter(library, "gantry_fake_entered"), 1);
}

TEST(Library, ALargerTableIsUnderstood) {
  const test::ProviderFolder folder;
  folder.add("larger_table", "larger");
  const auto found = folder.registry()->find({"FAKE", 0});
  EXPECT_NE(found[0].provider->api().claim, nullptr);
}

TEST(Library, AnOlderTableLacksSlotsAndRuns) {
  const test::ProviderFolder folder;
  folder.add("older_table", "older");
  const auto found = folder.registry()->find({"FAKE", 0});
  const gantry_provider_api& api = found[0].provider->api();
  EXPECT_NE(api.destroy, nullptr);
  EXPECT_EQ(api.device_open, nullptr) << "what lies behind its size is not there";
  EXPECT_EQ(api.native_handle, nullptr);
}

TEST(Library, ANewerMinorVersionIsSpokenDownTo) {
  const test::ProviderFolder folder;
  folder.add("newer_note", "newer", {{"abi", {{"major", 1}, {"minor", 1}}}});
  EXPECT_EQ(folder.registry()->report(true)[0].state, "ready");
}

TEST(Library, MemoryThatIsLeftIsSaid) {
  const test::ProviderFolder folder;
  folder.add("leaks", "leaky");
  testing::internal::CaptureStderr();
  folder.registry()->find({"FAKE", 0});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("\"leaky\""), testing::HasSubstr("4711 bytes")));
}

TEST(Library, CallsAfterDestroyAreSurvivedAndNothingIsUnmapped) {
  const test::ProviderFolder folder;
  const std::string library = folder.add("thread_alive", "late", {{"unload", "tested"}});
  folder.registry()->find({"FAKE", 0});
  ASSERT_EQ(counter(library, "gantry_fake_destroyed"), 1);
  for (int i = 0; i < 500 && counter(library, "gantry_fake_late_calls") < 5; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(counter(library, "gantry_fake_late_calls"), 5) << "its thread still has its code";
}

TEST(Devices, ZeroDevicesAreNoError) {
  const test::ProviderFolder folder;
  folder.add("zero_devices", "zero");
  const auto registry = folder.registry();
  EXPECT_TRUE(registry->devices().empty());
  EXPECT_EQ(registry->report(true)[0].state, "ready");
  test::expect_error(Code::kNotFound, {"FAKE:0", "no such device", "none"}, [&] {
    registry->find({"FAKE", 0});
  });
}

TEST(Devices, AbsentOnesSayWhy) {
  const test::ProviderFolder folder;
  folder.add("absent_device", "absent");
  const auto registry = folder.registry();
  ASSERT_EQ(registry->devices().size(), 1U);
  EXPECT_EQ(registry->devices()[0].state, "absent");
  test::expect_error(Code::kUnavailable, {"FAKE:0", "absent", "cable is not plugged in"}, [&] {
    registry->find({"FAKE", 0});
  });
}

TEST(Devices, UnknownOnesNameTheNearest) {
  const test::ProviderFolder folder;
  folder.add("good", "good");
  const auto registry = folder.registry();
  test::expect_error(Code::kNotFound, {"FAKE:7", "no such device", "FAKE:0"}, [&] {
    registry->find({"FAKE", 7});
  });
  test::expect_error(Code::kNotFound, {"FAKF:0", "Did you mean \"FAKE\"?"}, [&] {
    registry->find({"FAKF", 0});
  });
}

TEST(Devices, TheHigherPriorityComesFirst) {
  const test::ProviderFolder folder;
  folder.add("good", "a-slow", 1);
  folder.add("good", "b-fast", 2);
  folder.add("throws", "c-broken", 3);
  const auto found = folder.registry()->find({"FAKE", 0});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].provider->name(), "b-fast");
  EXPECT_EQ(found[1].provider->name(), "a-slow");
}

TEST(Devices, TheConfigurationsPriorityCounts) {
  const test::ProviderFolder folder;
  folder.add("good", "a", 5);
  folder.add("good", "b", 9);
  ProviderSettings settings;
  settings.priority = {{"a", 10}};
  const auto found = folder.registry(settings)->find({"FAKE", 0});
  EXPECT_EQ(found[0].provider->name(), "a");
  EXPECT_EQ(found[1].provider->name(), "b");
}

TEST(Devices, ATieForTheirMemoryIsReported) {
  const test::ProviderFolder folder;
  folder.add("own_memory", "a", 5);
  folder.add("own_memory", "b", 5);
  const auto registry = folder.registry();
  EXPECT_EQ(registry->find({"FAKE", 0})[0].provider->name(), "a") << "by the order of search";
  const auto rows = registry->report(false);
  ASSERT_EQ(rows[1].warnings.size(), 1U);
  EXPECT_THAT(rows[1].warnings[0], testing::AllOf(testing::HasSubstr("\"a\" and \"b\""),
                                                  testing::HasSubstr("/providers/priority")));
  SearchEnvironment strict = folder.environment();
  strict.is_strict = true;
  test::expect_error(Code::kInvalidArgument, {"GANTRY_STRICT", "same priority"}, [&] {
    folder.registry(strict)->find({"FAKE", 0});
  });
  ProviderSettings settings;
  settings.priority = {{"b", 6}};
  const auto decided = folder.registry(strict, settings);
  EXPECT_EQ(decided->find({"FAKE", 0})[0].provider->name(), "b");
  EXPECT_TRUE(decided->report(false)[0].warnings.empty());
}

}  // namespace
}  // namespace gantry
