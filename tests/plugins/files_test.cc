// SPDX-License-Identifier: Apache-2.0
// Files of providers that are not to be trusted, not what the manifest says, or of no use on this
// machine: seen before anything of them runs.
#include <cctype>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "plugin/discovery/digest.h"
#include "provider_folder.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

bool is_loaded(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The only row, of a provider that was refused at that stage and whose library was not opened.
ProviderReport expect_refused(const test::ProviderFolder& folder, const std::string& library,
                              const std::string& stage, Code code) {
  const auto rows = folder.registry()->report(true);
  EXPECT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].state, "rejected");
  EXPECT_EQ(rows[0].stage, stage) << rows[0].message;
  EXPECT_EQ(rows[0].code, code) << rows[0].message;
  EXPECT_FALSE(rows[0].hint.empty());
  EXPECT_FALSE(is_loaded(library));
  return rows[0];
}

TEST(Files, APathThatLeavesTheFolderIsRefused) {
  for (const char* const path : {"../x.so", "sub/../../x.so", "ABSOLUTE", "link.so"}) {
    SCOPED_TRACE(path);
    const test::ProviderFolder folder;
    const std::string outside = folder.copy("good.so", "x.so");
    const bool is_absolute = std::string(path) == "ABSOLUTE";
    folder.write("d/x.json",
                 test::ProviderFolder::manifest("x", is_absolute ? outside : path).dump());
    fs::create_symlink(outside, folder.path("d/link.so"));
    SearchEnvironment environment;
    environment.bundled = {folder.path("d")};
    testing::internal::CaptureStderr();
    const auto rows = folder.registry(environment)->report(true);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("below the manifest's folder"))
        << "somebody may have meant something by it";
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].stage, "file checks");
    EXPECT_EQ(rows[0].code, Code::kInvalidArgument);
    EXPECT_THAT(rows[0].message, HasSubstr("below the manifest's folder"));
    EXPECT_FALSE(is_loaded(outside));
  }
}

TEST(Files, WhatOthersMayWriteIsRefused) {
  for (const char* const offender : {"x.so", "x.json", "."}) {
    SCOPED_TRACE(offender);
    const test::ProviderFolder folder;
    const std::string library = folder.add("good", "x");
    fs::permissions(folder.path(offender), fs::perms::others_write, fs::perm_options::add);
    const auto row = expect_refused(folder, library, "file checks", Code::kUnavailable);
    EXPECT_THAT(row.message, HasSubstr(fs::canonical(folder.path(offender)).string() + ":"));
    EXPECT_THAT(row.message, HasSubstr("chmod o-w"));
  }
}

TEST(Files, OtherOwnersAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  constexpr uid_t kSomebody = 4711;
  for (const char* const offender : {"x.so", "x.json", "."}) {
    SCOPED_TRACE(offender);
    const test::ProviderFolder folder;
    const std::string library = folder.add("good", "x");
    ASSERT_EQ(chown(folder.path(offender).c_str(), kSomebody, kSomebody), 0);
    const auto row = expect_refused(folder, library, "file checks", Code::kUnavailable);
    EXPECT_THAT(row.message, HasSubstr(fs::canonical(folder.path(offender)).string() + ":"));
    EXPECT_THAT(row.message, HasSubstr("found user 4711"));
  }
}

TEST(Files, ALinkInAFolderThatOthersMayWriteIsRefused) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  fs::create_directory(folder.path("providers.d"));
  fs::create_symlink(folder.path("x.json"), folder.path("providers.d/x.json"));
  SearchEnvironment environment;
  environment.bundled = {folder.path("providers.d")};
  EXPECT_EQ(folder.registry(environment)->report(true)[0].state, "ready");
  fs::permissions(folder.path("providers.d"), fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(folder.registry(environment)->report(true)[0].message,
              HasSubstr(folder.path("providers.d") + ":"));
}

TEST(Files, TheDigestMustBeTheLibrarys) {
  const test::ProviderFolder folder;
  const std::string other = sha256_of("another library");
  const std::string library = folder.add("good", "x", json{{"sha256", other}});
  const std::string found = sha256_of(content_of(library));
  const auto row = expect_refused(folder, library, "file checks", Code::kInvalidArgument);
  EXPECT_THAT(row.message, testing::AllOf(HasSubstr(found), HasSubstr(other)));
  json pinned = test::ProviderFolder::manifest("x", "x.so");
  std::string upper;
  for (const char c : found) upper += static_cast<char>(std::toupper(c));
  pinned["sha256"] = upper;
  folder.write("x.json", pinned.dump());
  const auto rows = folder.registry()->report(true);
  EXPECT_EQ(rows[0].state, "ready") << rows[0].message;
  EXPECT_EQ(rows[0].sha256, found);
}

TEST(Files, AFileThatWasReplacedIsCheckedAgain) {
  const test::ProviderFolder folder;
  const std::string library = folder.add("good", "x");
  json pinned = test::ProviderFolder::manifest("x", "x.so");
  pinned["sha256"] = sha256_of(content_of(library));
  folder.write("x.json", pinned.dump());
  const auto registry = folder.registry();
  EXPECT_EQ(registry->report(false)[0].state, "not opened");
  fs::remove(library);
  folder.copy("zero_devices.so", "x.so");
  const auto row = registry->report(true)[0];
  EXPECT_EQ(row.stage, "file checks");
  EXPECT_THAT(row.message, HasSubstr("/sha256"));
  EXPECT_FALSE(is_loaded(library));
}

TEST(Files, TwoManifestsOfOneFileAreOneTooMany) {
  const test::ProviderFolder folder;
  folder.add("good", "a");
  fs::create_hard_link(folder.path("a.so"), folder.path("b.so"));
  folder.write("b.json", test::ProviderFolder::manifest("b", "b.so").dump());
  const auto rows = folder.registry()->report(true);
  EXPECT_EQ(rows[0].state, "ready");
  EXPECT_EQ(rows[1].state, "rejected");
  EXPECT_THAT(rows[1].message, HasSubstr("serves \"a\" already"));
}

TEST(Files, OtherProcessorsAreNoNewsWorthALine) {
  const test::ProviderFolder folder;
  std::string bytes = content_of(folder.add("good", "x"));
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_machine = EM_RISCV;
  const std::string library = folder.write("x.so", bytes);
  testing::internal::CaptureStderr();
  const auto row = expect_refused(folder, library, "file checks", Code::kAbiMismatch);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(row.message, HasSubstr("ELF machine 243"));
}

TEST(Files, ACutLibraryIsNotOpened) {
  const test::ProviderFolder folder;
  const std::string bytes = content_of(folder.add("good", "x"));
  const std::string library = folder.write("x.so", bytes.substr(0, bytes.size() / 2));
  expect_refused(folder, library, "file checks", Code::kInvalidArgument);
}

TEST(Files, AMissingDependencyIsNamedBeforeOpening) {
  const test::ProviderFolder folder;
  const json needs = {{"requires",
                       {{"libraries", json::array({{{"name", "libgantry_fake_dependency.so.1"},
                                                    {"hint", "buy one"}}})}}}};
  const std::string library = folder.add("needs_library", "x", needs);
  auto row = expect_refused(folder, library, "requirements", Code::kUnavailable);
  EXPECT_THAT(row.message, HasSubstr("the library libgantry_fake_dependency.so.1 (buy one)"));
  // What the library is linked with is known without the manifest's word.
  folder.add("needs_library", "y");
  fs::remove(folder.path("x.json"));
  row = expect_refused(folder, folder.path("y.so"), "requirements", Code::kUnavailable);
  EXPECT_THAT(row.message, HasSubstr("the library libgantry_fake_dependency.so.1"));
  folder.copy("libgantry_fake_dependency.so.1", "libgantry_fake_dependency.so.1");
  EXPECT_EQ(folder.registry()->report(true)[0].state, "ready");
}

// What a provider opens later is told by a report of all, and keeps no session waiting.
TEST(Files, APartThatCouldNotBeOpenedIsAWarning) {
  const test::ProviderFolder folder;
  folder.add("good", "x");
  const auto warnings = [&](const json& parts) {
    json manifest = test::ProviderFolder::manifest("x", "x.so");
    manifest["parts"] = parts;
    folder.write("x.json", manifest.dump());
    const auto registry = folder.registry();
    EXPECT_EQ(registry->find(Device::parse("FAKE")).size(), 1U);
    EXPECT_EQ(registry->report(false)[0].warnings, std::vector<std::string>());
    const auto row = registry->report(true)[0];
    EXPECT_EQ(row.state, "ready");
    EXPECT_EQ(registry->report(true)[0].warnings, row.warnings) << "told once";
    return row.warnings;
  };
  const json with_hint = {{{"name", "part.so"}, {"hint", "texts need it"}}};
  EXPECT_THAT(warnings(with_hint), testing::ElementsAre(testing::AllOf(
                                       HasSubstr("/parts/0"), HasSubstr(folder.path("part.so")),
                                       HasSubstr("texts need it"))));
  // Names that no library of this process has.
  const auto add = [&](const std::string& file, char number) {
    const std::string own = "libgantry_fake_dependency.so.1";
    std::string bytes = content_of(std::string(GANTRY_FAKES) + "/needs_library.so");
    for (size_t at = bytes.find(own); at != std::string::npos; at = bytes.find(own, at))
      bytes[at + own.size() - 1] = number;
    return folder.write(file, bytes);
  };
  const std::string name = "libgantry_fake_dependency.so.7";
  const std::string part = add("part.so", '7');
  EXPECT_THAT(warnings(with_hint), testing::ElementsAre(testing::AllOf(
                                       HasSubstr("the library " + name + ", which " + part),
                                       HasSubstr("texts need it"))));
  const std::string behind = add(name, '8');
  EXPECT_THAT(warnings({"part.so"}),
              testing::ElementsAre(HasSubstr("libgantry_fake_dependency.so.8, which " + behind)));
  fs::remove(behind);
  folder.copy("libgantry_fake_dependency.so.1", name);
  EXPECT_THAT(warnings({"part.so"}), testing::IsEmpty());
  EXPECT_THAT(warnings({"part.so", "../part.so"}),
              testing::ElementsAre(HasSubstr("/parts/1: expected a path below")));
  folder.write("text.so", "no library");
  EXPECT_THAT(warnings({"text.so"}), testing::ElementsAre(HasSubstr("text.so")));
}

TEST(Files, AnotherCopyOfADependencyIsAWarning) {
  const test::ProviderFolder folder;
  folder.add("needs_library", "x");
  folder.copy("libgantry_fake_dependency.so.1", "libgantry_fake_dependency.so.1");
  const std::string other =
      folder.copy("libgantry_fake_dependency.so.1", "other/libgantry_fake_dependency.so.1");
  void* loaded = dlopen(other.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr);
  const auto row = folder.registry()->report(true)[0];
  EXPECT_EQ(row.state, "ready");
  ASSERT_EQ(row.warnings.size(), 1U);
  EXPECT_THAT(row.warnings[0],
              testing::AllOf(HasSubstr(folder.path("libgantry_fake_dependency.so.1")),
                             HasSubstr("gets that one")));
}

TEST(Files, TheFirstBuildThatFitsIsTaken) {
  const test::ProviderFolder folder;
  folder.copy("good.so", "fast.so");
  folder.copy("good.so", "slow.so");
  json manifest = test::ProviderFolder::manifest("x", "slow.so");
  manifest["variants"] = {
      {{"library", "fast.so"}, {"requires", {{"cpu_features", {"gantry-no-such-feature"}}}}}};
  folder.write("x.json", manifest.dump());
  auto rows = folder.registry()->report(true);
  EXPECT_EQ(rows[0].state, "ready");
  EXPECT_EQ(rows[0].library, folder.path("slow.so"));
  manifest["variants"][0]["requires"]["cpu_features"] = json::array();
  folder.write("x.json", manifest.dump());
  EXPECT_EQ(folder.registry()->report(false)[0].library, folder.path("fast.so"));
  // None fits: what each lacks.
  manifest["variants"][0]["requires"]["cpu_features"] = {"gantry-no-such-feature"};
  manifest["variants"].push_back(
      {{"library", "slow.so"}, {"requires", {{"libraries", {"libgantry-no-such.so"}}}}});
  manifest.erase("library");
  folder.write("x.json", manifest.dump());
  rows = folder.registry()->report(true);
  EXPECT_EQ(rows[0].stage, "requirements");
  EXPECT_EQ(rows[0].code, Code::kUnavailable);
  EXPECT_THAT(
      rows[0].message,
      testing::AllOf(HasSubstr("fast.so needs the processor feature gantry-no-such-feature"),
                     HasSubstr("slow.so needs the library libgantry-no-such.so")));
}

}  // namespace
}  // namespace gantry
