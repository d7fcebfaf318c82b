// SPDX-License-Identifier: Apache-2.0
// Manifests that are wrong, rival or disabled, providers given in code, and forked processes.
#include <gantry/runtime.h>

#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "provider_folder.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

TEST(Manifests, AMalformedOneLeavesARow) {
  const test::ProviderFolder folder;
  folder.write("bad.json", "{\"manifest_version\": 1,\n \"name\": }");
  const auto rows = folder.registry()->report(true);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "bad.json");
  EXPECT_EQ(rows[0].stage, "parsed");
  EXPECT_EQ(rows[0].state, "rejected");
  EXPECT_EQ(rows[0].code, Code::kInvalidArgument);
  EXPECT_THAT(rows[0].message,
              testing::AllOf(testing::HasSubstr("bad.json"), testing::HasSubstr("bad.json:2:")));
  EXPECT_FALSE(rows[0].hint.empty());
}

TEST(Manifests, WhateverIsWrongWithTheirJsonLeavesARow) {
  const std::string good = test::ProviderFolder::manifest("x", "x.so").dump();
  const std::string start = good.substr(0, good.size() - 1);
  const std::pair<std::string, const char*> cases[] = {
      {"", "bad.json:1:1: not valid JSON"},
      {"[]", "expected an object, found an array"},
      {good + good, "not valid JSON"},
      {good.substr(0, good.size() / 2), "not valid JSON"},
      {start + ", \"name\": \"y\"}", "/name: expected each member once, found it twice"},
      {start + ", \"x-deep\": " + std::string(20, '[') + std::string(20, ']') + "}",
       "at most 16 levels"},
      {start + ", \"x-long\": \"" + std::string(300000, 'x') + "\"}", "at most 262144 bytes"},
      {start + ", \"x-text\": \"\xff\"}", "ill-formed UTF-8"}};
  for (const auto& [text, words] : cases) {
    SCOPED_TRACE(words);
    const test::ProviderFolder folder;
    const std::string library = folder.add("good", "x");
    folder.write("bad.json", text);
    std::filesystem::remove(folder.path("x.json"));
    const auto registry = folder.registry();
    const auto row = registry->report(true)[0];
    EXPECT_EQ(row.stage, "parsed");
    EXPECT_EQ(row.state, "rejected");
    EXPECT_THAT(row.message, testing::AllOf(testing::StartsWith(folder.path("bad.json")),
                                            testing::HasSubstr(words)));
    EXPECT_EQ(dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
    // Whoever misses its devices learns of it.
    test::expect_error(Code::kNotFound, {"no provider offers devices of type FAKE", words}, [&] {
      registry->find({"FAKE", 0});
    });
  }
}

TEST(Manifests, OneThatPointsNowhereLeavesARow) {
  const test::ProviderFolder folder;
  folder.write("lost.json", test::ProviderFolder::manifest("lost", "gone.so").dump());
  const auto rows = folder.registry()->report(true);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].stage, "file checks");
  EXPECT_EQ(rows[0].code, Code::kNotFound);
  EXPECT_THAT(rows[0].message, testing::HasSubstr(folder.path("gone.so")));
}

TEST(Manifests, ABadOptionSchemaLeavesARow) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  auto manifest = test::ProviderFolder::manifest("x", "x.so");
  manifest["options"] = {{"type", 5}};
  folder.write("x.json", manifest.dump());
  const auto rows = folder.registry()->report(true);
  EXPECT_EQ(rows[0].stage, "parsed");
  EXPECT_EQ(rows[0].code, Code::kInvalidArgument);
  EXPECT_THAT(rows[0].message, testing::HasSubstr("/options"));
}

TEST(Manifests, WrongOptionsFailBeforeAnythingIsOpened) {
  const test::ProviderFolder folder;
  const std::string library = folder.add("good", "x");
  const nlohmann::json config = {
      {"providers", {{"search", {folder.path("")}}, {"options", {{"x", {{"speed", 3}}}}}}}};
  test::expect_error(Code::kInvalidArgument, {"/providers/options/x/speed"},
                     [&] { Runtime wrong({.config_json = config.dump()}); });
  EXPECT_EQ(dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(Manifests, TheRegistryItselfOpensNothingWithWrongOptions) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  ProviderSettings settings;
  settings.options["x"] = R"({"speed": 3})";
  const auto registry = folder.registry(settings);
  test::expect_error(Code::kUnavailable, {"\"x\"", "/providers/options/x/speed"}, [&] {
    registry->find({"FAKE", 0});
  });
  const ProviderReport row = registry->report(true)[0];
  EXPECT_EQ(row.state, "rejected");
  EXPECT_EQ(row.code, Code::kInvalidArgument);
  EXPECT_EQ(row.stage, "requirements");  // the stage in front of those that run its code
}

TEST(Manifests, OtherVersionThanTheNote) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  auto manifest = test::ProviderFolder::manifest("x", "x.so");
  manifest["abi"]["minor"] = 9;
  folder.write("x.json", manifest.dump());
  const auto rows = folder.registry()->report(false);
  EXPECT_EQ(rows[0].code, Code::kAbiMismatch);
  EXPECT_THAT(rows[0].message,
              testing::AllOf(testing::HasSubstr("/abi"), testing::HasSubstr("1.9")));
}

TEST(Manifests, AMissingRequirementIsNamed) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  auto manifest = test::ProviderFolder::manifest("x", "x.so");
  manifest["requires"] = {{"libraries", {"libgantry-no-such-driver.so.1"}}};
  folder.write("x.json", manifest.dump());
  const auto registry = folder.registry();
  EXPECT_EQ(registry->report(false)[0].stage, "requirements");
  test::expect_error(Code::kUnavailable, {"FAKE:0", "libgantry-no-such-driver.so.1"}, [&] {
    registry->find({"FAKE", 0});
  });
}

TEST(Manifests, TheFirstOfANameWinsUnlessItIsBroken) {
  const test::ProviderFolder folder;
  folder.write("a.json", test::ProviderFolder::manifest("same", "gone.so").dump());
  folder.add("good", "b");
  folder.write("b.json", test::ProviderFolder::manifest("same", "b.so").dump());
  folder.add("good", "c");
  folder.write("c.json", test::ProviderFolder::manifest("same", "c.so").dump());
  const auto rows = folder.registry()->report(true);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].state, "rejected");
  EXPECT_EQ(rows[1].state, "ready");
  EXPECT_EQ(rows[2].state, "shadowed");
  EXPECT_THAT(rows[2].message, testing::HasSubstr(folder.path("b.json")));
}

TEST(Manifests, ALibraryServesOneName) {
  const test::ProviderFolder folder;
  folder.add("good", "a");
  folder.write("b.json", test::ProviderFolder::manifest("b", "a.so").dump());
  const auto rows = folder.registry()->report(true);
  EXPECT_EQ(rows[0].state, "ready");
  EXPECT_EQ(rows[1].state, "rejected");
  EXPECT_THAT(rows[1].message, testing::HasSubstr("serves \"a\" already"));
}

TEST(Manifests, DisabledOnesStayClosed) {
  const test::ProviderFolder folder;
  folder.add("good", "vendor-x");
  ProviderSettings settings;
  settings.disable = {"vendor-*"};
  const auto registry = folder.registry(settings);
  EXPECT_EQ(registry->report(true)[0].stage, "policy");
  test::expect_error(Code::kUnavailable, {"vendor-x", "disabled by the configuration"}, [&] {
    registry->find({"FAKE", 0});
  });
}

TEST(Manifests, NothingFoundIsSaid) {
  const test::ProviderFolder folder;
  test::expect_error(Code::kNotFound, {"CPU:0", "no usable provider was found"}, [&] {
    folder.registry()->find({"CPU", 0});
  });
}

// A provider that is linked in.
gantry_provider_api code_api = {};
int code_destroyed = 0;
gantry_error* code_entry(const gantry_offer* offer, gantry_accept* accept) {
  code_api.size = sizeof(code_api);
  code_api.self = reinterpret_cast<gantry_provider*>(&code_api);
  code_api.devices = [](gantry_provider*, const gantry_device_sink* sink) -> gantry_error* {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.type = {"FAKE", 4};
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    sink->device(sink->self, &info);
    return nullptr;
  };
  code_api.claim = [](gantry_provider*, const gantry_claim_request*) -> gantry_error* {
    return nullptr;
  };
  code_api.compile = [](gantry_provider*, const gantry_compile*, gantry_kernel*) -> gantry_error* {
    return nullptr;
  };
  code_api.destroy = [](gantry_provider*) { ++code_destroyed; };
  accept->minor = offer->minor;
  accept->layout = GANTRY_ABI_LAYOUT;
  accept->api = &code_api;
  return nullptr;
}

TEST(CodeProviders, ComeFirstAndShadow) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  folder.add("good", "y", 5);
  code_destroyed = 0;
  {
    const auto registry = folder.registry();
    auto manifest = test::ProviderFolder::manifest("x", "");
    manifest.erase("library");
    registry->add(code_entry, manifest.dump());
    const auto rows = registry->report(false);
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].manifest, "<code>");
    EXPECT_EQ(rows[0].state, "ready");
    EXPECT_EQ(rows[1].state, "shadowed");
    const auto found = registry->find({"FAKE", 0});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].provider->name(), "y") << "the order of devices is by priority";
    test::expect_error(Code::kInvalidArgument, {"\"x\"", "there already"},
                       [&] { registry->add(code_entry, manifest.dump()); });
  }
  EXPECT_EQ(code_destroyed, 1);
}

TEST(CodeProviders, FailuresAddNothing) {
  const test::ProviderFolder folder;
  const auto registry = folder.registry();
  test::expect_error(Code::kInvalidArgument, {"<code>", "/name"},
                     [&] { registry->add(code_entry, R"({"manifest_version": 1})"); });
  test::expect_error(Code::kInvalidArgument, {"null"}, [&] { registry->add(nullptr, "{}"); });
  const gantry_provider_entry failing = [](const gantry_offer* offer, gantry_accept*) {
    return offer->host->error_create(GANTRY_DEVICE_LOST, {"gone", 4});
  };
  test::expect_error(Code::kDeviceLost, {"gone"}, [&] {
    registry->add(failing, test::ProviderFolder::manifest("x", "").dump());
  });
  EXPECT_TRUE(registry->report(true).empty());
}

TEST(Fork, TheChildGetsASentence) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  const auto registry = folder.registry();
  const auto found = registry->find({"FAKE", 0});
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int status = 1;
    try {
      registry->find({"FAKE", 0});
    } catch (const Error& error) {
      status = error.code() == Code::kUnavailable && std::strstr(error.what(), "forked") ? 0 : 2;
    }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(registry->find({"FAKE", 0}).size(), 1U) << "the parent goes on";
}

TEST(Runtime, AnswersForDevices) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  folder.add("absent_device", "z");
  setenv("GANTRY_PROVIDER_FILES", folder.path("").c_str(), 1);
  Runtime runtime;
  EXPECT_TRUE(runtime.supports_device("FAKE"));
  EXPECT_TRUE(runtime.supports_device("FAKE:0"));
  for (const char* device : {"FAKE:1", "OTHER", "FAKE:x", "", "FAKE:"})
    EXPECT_FALSE(runtime.supports_device(device)) << device;
  EXPECT_EQ(runtime.devices().size(), 2U);
  EXPECT_EQ(runtime.report().size(), 2U);
  test::expect_error(Code::kInvalidArgument, {"/providers/serch", "\"search\""},
                     [] { Runtime wrong({.config_json = R"({"providers": {"serch": []}})"}); });
  unsetenv("GANTRY_PROVIDER_FILES");
}

}  // namespace
}  // namespace gantry
