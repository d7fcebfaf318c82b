// SPDX-License-Identifier: Apache-2.0
// What lint_provider finds: in providers that break one rule each, in those that break none, and in
// files that are no libraries.
#include <gantry/provider_lint.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "plugin/discovery/elf_metadata.h"
#include "provider_folder.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::ProviderFolder;

std::string fake_file(const std::string& name) {
  return std::string(GANTRY_LINT_FAKES) + "/" + name;
}

// A folder with one fake, and its manifest, for changes.
class LintFolder {
 public:
  explicit LintFolder(const std::string& fake) {
    folder_.copy(fake_file(fake + ".so"), fake + ".so");
    manifest = ProviderFolder::manifest("acme", fake + ".so");
  }
  [[nodiscard]] LintReport lint(const LintOptions& options = {}) const {
    return lint_provider(folder_.write("acme.json", manifest.dump()), options);
  }
  [[nodiscard]] const test::TempFolder& folder() const { return folder_; }

  nlohmann::json manifest;

 private:
  test::TempFolder folder_;
};

std::set<std::string> rules_of(const LintReport& report) {
  std::set<std::string> names;
  for (const LintFinding& finding : report.findings) names.insert(finding.rule.name);
  return names;
}

struct Broken {
  const char* fake;
  const char* rule;
  std::vector<std::string> parts;
  std::set<std::string> also = {};  // rules that cannot be kept while this one is broken
};

// NOLINTNEXTLINE(readability-identifier-naming): the name is GoogleTest's
void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.fake; }

class LintRules : public testing::TestWithParam<Broken> {};

TEST_P(LintRules, FindWhatIsBroken) {
  const Broken& broken = GetParam();
  const LintFolder folder(broken.fake);
  const LintReport report = folder.lint({.oldest_libc = "2.28"});
  std::set<std::string> expected = broken.also;
  expected.insert(broken.rule);
  EXPECT_EQ(rules_of(report), expected);
  EXPECT_FALSE(report.is_good());
  for (const LintFinding& finding : report.findings) {
    if (finding.rule.name != broken.rule) continue;
    EXPECT_EQ(finding.file, folder.folder().path(std::string(broken.fake) + ".so"));
    EXPECT_FALSE(finding.rule.reason.empty());
    EXPECT_FALSE(finding.rule.remedy.empty());
    for (const std::string& part : broken.parts)
      EXPECT_THAT(finding.what, testing::HasSubstr(part));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fakes, LintRules,
    testing::Values(
        Broken{"exports", "exports", {"as the only export", "lint_fake_other_export"}},
        Broken{"no_entry", "exports", {"the export gantry_provider_v1", "found none"}},
        Broken{"unique_symbols", "unique-symbols", {"LintFakeUnique"}, {"exports"}},
        Broken{"text_relocations", "text-relocations", {"found text relocations"}},
        Broken{"static_initialisers", "static-initialisers", {"lint_fake.cc"}},
        Broken{"stripped_initialisers", "static-initialisers", {"found the function at 0x"}},
        Broken{"c_library", "c-library", {"2.28", "GLIBC_2.34", "pthread_create"}},
        Broken{"search_path", "search-path", {"RUNPATH", "\"/opt/vendor/lib\""}},
        Broken{"old_search_path", "search-path", {"RPATH", "\"relative\""}},
        Broken{"executable_stack", "executable-stack", {"an executable one"}}),
    [](const testing::TestParamInfo<Broken>& info) { return std::string(info.param.fake); });

TEST(Lint, FindsNothingInAGoodProvider) {
  const LintReport report = LintFolder("good").lint({.oldest_libc = "2.28"});
  EXPECT_TRUE(report.is_good());
  EXPECT_EQ(rules_of(report), std::set<std::string>());
  EXPECT_EQ(report.files.size(), 1U);
}

TEST(Lint, EveryRuleHasAProviderThatBreaksIt) {
  std::set<std::string> names;
  for (const LintRule& rule : lint_rules()) EXPECT_TRUE(names.insert(rule.name).second);
  // manifest, library, note and bundled-libraries have tests of their own below.
  EXPECT_EQ(names,
            (std::set<std::string>{"manifest", "library", "note", "exports", "unique-symbols",
                                   "search-path", "executable-stack", "text-relocations",
                                   "static-initialisers", "c-library", "bundled-libraries"}));
}

TEST(Lint, LooksAtTheLibrariesThatAProviderBrings) {
  LintFolder folder("bundled_libraries");
  const std::string brought = "libgantry_fake_dependency.so.1";
  EXPECT_TRUE(folder.lint().is_good()) << "it is not there: nothing is brought";
  folder.folder().copy(fake_file(brought), brought);
  const LintReport report = folder.lint();
  EXPECT_EQ(rules_of(report), std::set<std::string>{"bundled-libraries"});
  EXPECT_THAT(report.findings.at(0).what, testing::HasSubstr(brought));
  EXPECT_THAT(report.files, testing::ElementsAre(folder.folder().path("bundled_libraries.so"),
                                                 folder.folder().path(brought)));
  // With the provider's own name in it nobody else has one of that name.
  folder.manifest["name"] = "fake-dependency";
  EXPECT_TRUE(folder.lint().is_good());
}

TEST(Lint, HoldsBroughtLibrariesToRulesToo) {
  LintFolder folder("bundled_libraries");
  folder.manifest["name"] = "fake-dependency";
  folder.folder().copy(fake_file("executable_stack.so"), "libgantry_fake_dependency.so.1");
  const LintReport report = folder.lint();
  EXPECT_EQ(rules_of(report), std::set<std::string>{"executable-stack"});
  EXPECT_EQ(report.findings.at(0).file, folder.folder().path("libgantry_fake_dependency.so.1"));
}

TEST(Lint, HoldsPartsToRulesToo) {
  LintFolder folder("good");
  folder.manifest["parts"] = {"part.so"};
  EXPECT_EQ(rules_of(folder.lint()), std::set<std::string>{"library"}) << "it is not there";
  folder.folder().copy(fake_file("executable_stack.so"), "part.so");
  const LintReport report = folder.lint();
  EXPECT_EQ(rules_of(report), std::set<std::string>{"executable-stack"});
  EXPECT_EQ(report.findings.at(0).file, folder.folder().path("part.so"));
  std::filesystem::remove(folder.folder().path("part.so"));
  folder.folder().copy(fake_file("good.so"), "part.so");
  EXPECT_TRUE(folder.lint().is_good());
  EXPECT_EQ(folder.lint().files.size(), 2U);
}

TEST(Lint, ReadsTheNoteAndComparesItWithTheManifest) {
  LintFolder folder("good");
  folder.manifest["abi"]["minor"] = 7;
  const LintReport report = folder.lint();
  EXPECT_EQ(rules_of(report), std::set<std::string>{"note"});
  EXPECT_THAT(report.findings.at(0).what, testing::HasSubstr("/abi: expected version 1.0"));
  for (const char* fake : {"no_note", "other_layout", "other_major"}) {
    const ProviderFolder fakes;
    fakes.add(fake, "fake");
    EXPECT_TRUE(rules_of(lint_provider(fakes.path("fake.json"))).count("note")) << fake;
  }
}

TEST(Lint, NamesWhatIsWrongWithTheManifest) {
  LintFolder folder("good");
  folder.manifest["devizes"] = {"X"};
  EXPECT_EQ(rules_of(folder.lint()), std::set<std::string>{"manifest"});
  folder.manifest.erase("devizes");
  folder.manifest.erase("devices");
  const LintReport report = folder.lint();
  EXPECT_EQ(rules_of(report), std::set<std::string>{"manifest"});
  EXPECT_THAT(report.findings.at(0).what, testing::HasSubstr("devices"));
  EXPECT_EQ(rules_of(lint_provider("nowhere.json")), std::set<std::string>{"manifest"});
}

TEST(Lint, NamesWhatIsWrongWithTheFile) {
  LintFolder folder("good");
  folder.manifest["library"] = "gone.so";
  EXPECT_EQ(rules_of(folder.lint()), std::set<std::string>{"library"});
  folder.folder().write("text.so", "this is no library");
  folder.manifest["library"] = "text.so";
  EXPECT_EQ(rules_of(folder.lint()), std::set<std::string>{"library"});
  folder.manifest["library"] = "good.so";
  folder.manifest["sha256"] = std::string(64, '0');
  EXPECT_EQ(rules_of(folder.lint()), std::set<std::string>{"library"});
}

TEST(Lint, LooksAtEveryVariant) {
  LintFolder folder("good");
  folder.folder().copy(fake_file("exports.so"), "faster.so");
  folder.manifest["variants"] = {{{"library", "faster.so"}}};
  const LintReport report = folder.lint();
  EXPECT_EQ(rules_of(report), std::set<std::string>{"exports"});
  EXPECT_EQ(report.files.size(), 2U);
}

TEST(Lint, TakesTheManifestsReasonForARule) {
  LintFolder folder("static_initialisers");
  folder.manifest["x-lint"] = {{"static-initialisers", "the driver registers itself so"}};
  const LintReport report = folder.lint();
  EXPECT_TRUE(report.is_good());
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].waiver, "the driver registers itself so");
  folder.manifest["x-lint"] = {{"static-initialisers", ""}};
  EXPECT_EQ(rules_of(folder.lint()), (std::set<std::string>{"manifest", "static-initialisers"}));
  EXPECT_FALSE(folder.lint().is_good()) << "a reason is asked for";
  folder.manifest["x-lint"] = {{"exprots", "a slip"}};
  EXPECT_THAT(folder.lint().findings.at(0).what, testing::HasSubstr("Did you mean \"exports\"?"));
}

TEST(Lint, WantsAVersion) {
  test::expect_error(Code::kInvalidArgument, {"2.36", "\"new\""},
                     [] { (void)LintFolder("good").lint({.oldest_libc = "new"}); });
}

// A file cut anywhere, or with any byte of its tables wrong, is refused or read; nothing else.
TEST(Lint, SurvivesBrokenFiles) {
  const test::TempFolder folder;
  const std::string whole = [] {
    std::ifstream stream(fake_file("c_library.so"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }();
  ASSERT_GT(whole.size(), 4096U);
  const auto read = [&](const std::string& bytes) {
    const LibraryFile file(folder.write("mutant.so", bytes));
    try {
      check_elf(file);
      return !read_elf_metadata(file).exports.empty();
    } catch (const Error&) {
      return false;
    }
  };
  EXPECT_TRUE(read(whole));
  for (size_t length = 0; length < whole.size(); length += 211)
    EXPECT_FALSE(read(whole.substr(0, length)));
  size_t refused = 0;
  for (size_t place = 0; place < whole.size(); place += 37) {
    std::string bytes = whole;
    bytes[place] = static_cast<char>(~bytes[place]);
    refused += read(bytes) ? 0 : 1;
  }
  EXPECT_GT(refused, 0U);
}

// What a sanitizer adds to a library against the rules: in each source a function that runs when
// the library is opened and tells the sanitizer's run-time of it (AddressSanitizer: where the
// global variables are). Its name is of a priority that the compiler keeps to itself, so that
// nothing of ours is mistaken for it.
bool is_added_by_a_sanitizer(const LintFinding& finding) {
  if (GANTRY_SANITIZER == 0 || finding.rule.name != "static-initialisers") return false;
  const ElfMetadata metadata = read_elf_metadata(LibraryFile(finding.file));
  return std::all_of(metadata.initialisers.begin(), metadata.initialisers.end(),
                     [](const std::string& name) { return name.starts_with("_sub_I_00099_"); });
}

TEST(Lint, TheBundledProvidersPass) {
  for (const char* name : {"cpu", "sim"}) {
    const LintReport report = lint_provider(std::string(GANTRY_PROVIDERS) + "/" + name + ".json");
    EXPECT_FALSE(report.files.empty()) << name;
    for (const LintFinding& finding : report.findings) {
      EXPECT_TRUE(!finding.waiver.empty() || is_added_by_a_sanitizer(finding))
          << name << ", " << finding.rule.name << ": " << finding.what;
    }
  }
}

}  // namespace
}  // namespace gantry
