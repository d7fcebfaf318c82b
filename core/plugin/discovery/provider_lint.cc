// SPDX-License-Identifier: Apache-2.0
#include <gantry/provider_lint.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/names.h"
#include "plugin/discovery/lint_rules.h"
#include "plugin/discovery/manifest.h"
#include "plugin/discovery/note.h"
#include "plugin/discovery/requirements.h"

namespace gantry {
namespace {

// A rule that needs more than the library's metadata. Literals only, so that no code runs before
// main.
struct FileRule {
  const char* name;
  const char* reason;
  const char* remedy;
  [[nodiscard]] LintRule rule() const { return {name, reason, remedy}; }
};

constexpr FileRule kManifestRule = {"manifest",
                                    "gantry opens nothing that a manifest does not describe",
                                    "correct it; docs/MANIFEST.md describes its members"};
constexpr FileRule kLibraryRule = {
    "library", "gantry does not open it otherwise",
    "put the library where the manifest says, below the manifest's own folder"};
constexpr FileRule kNoteRule = {
    "note",
    "gantry reads the note before it opens the library, and refuses another version or layout than "
    "its own",
    "put GANTRY_DEFINE_PROVIDER or GANTRY_PROVIDER_NOTE into one source file, rebuild with this "
    "gantry's SDK, and write the note's version into /abi of the manifest"};

using Waivers = std::map<std::string, std::string>;

class Lint {
 public:
  Lint(std::string manifest, const LintOptions& options)
      : file_(std::move(manifest)), oldest_libc_(parse_version(options.oldest_libc)) {
    if (oldest_libc_.empty()) {
      throw Error(Code::kInvalidArgument,
                  "oldest_libc: expected a version as 2.36, found \"" + options.oldest_libc + "\"");
    }
  }

  LintReport run() {
    Manifest manifest;
    if (!attempt(kManifestRule, file_, [&] { manifest = read_manifest(file_); }))
      return std::move(report_);
    for (const std::string& warning : manifest.warnings) add(kManifestRule, file_, warning);
    read_waivers(manifest);
    for (const Manifest& build : builds_of(manifest)) check_build(build);
    for (LintFinding& finding : report_.findings) {
      const auto waiver = waivers_.find(finding.rule.name);
      if (waiver != waivers_.end()) finding.waiver = waiver->second;
    }
    return std::move(report_);
  }

 private:
  template <class Rule>
  void add(const Rule& rule, const std::string& file, const std::string& what) {
    report_.findings.push_back({{rule.name, rule.reason, rule.remedy}, file, what, {}});
  }
  // Runs a check that throws its finding as an Error.
  bool attempt(const FileRule& rule, const std::string& file, const std::function<void()>& check) {
    try {
      check();
      return true;
    } catch (const Error& error) {
      add(rule, file, error.message());
      return false;
    }
  }

  void read_waivers(const Manifest& manifest) {
    const JsonDocument document = parse_json(manifest.text, file_);
    const auto found = document.root.find("x-lint");
    if (found == document.root.end()) return;
    std::vector<std::string> names;
    for (const LibraryRule& rule : library_rules()) names.emplace_back(rule.name);
    if (!found->is_object()) {
      return add(
          kManifestRule, file_,
          "/x-lint: expected an object of rules and reasons, found " + describe_json(*found));
    }
    for (const auto& [name, reason] : found->items()) {
      const std::string pointer = json_pointer("/x-lint", name);
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        add(kManifestRule, file_,
            pointer + ": expected one of " + list_names(names) + "." + did_you_mean(name, names));
      } else if (!reason.is_string() || reason.get<std::string>().empty()) {
        add(kManifestRule, file_,
            pointer + ": expected the reason, found " + describe_json(reason));
      } else {
        waivers_[name] = reason;
      }
    }
  }

  void check_build(const Manifest& build) {
    std::string library;
    if (!attempt(kLibraryRule, file_, [&] { library = resolve_library(build, file_, writers_); }))
      return;
    if (std::find(report_.files.begin(), report_.files.end(), library) != report_.files.end())
      return;
    report_.files.push_back(library);
    const LibraryFile file(library);
    if (!attempt(kLibraryRule, library, [&] {
          check_digest(build, file_, file);
          check_elf(file);
        }))
      return;
    attempt(kNoteRule, library, [&] { check_versions(build, file); });
    attempt(kLibraryRule, library, [&] { check_libraries(build, file); });
  }

  void check_versions(const Manifest& build, const LibraryFile& file) const {
    const gantry_note note = read_note(file);
    check_note(note, file.path());
    if (build.abi_major == note.major && build.abi_minor == note.minor) return;
    throw Error(Code::kAbiMismatch,
                file_ + ": /abi: expected version " + std::to_string(note.major) + "." +
                    std::to_string(note.minor) + " as the library's note says, found " +
                    std::to_string(build.abi_major) + "." + std::to_string(build.abi_minor));
  }

  void check_libraries(const Manifest& build, const LibraryFile& file) {
    LintSubject subject;
    subject.provider = build.name;
    subject.oldest_libc = oldest_libc_;
    const std::vector<BundledLibrary> brought = bundled_libraries(file.path());
    for (const BundledLibrary& library : brought) subject.brings.push_back(library.name);
    check_library(subject, file);
    subject.is_provider = false;
    subject.brings.clear();
    for (const BundledLibrary& library : brought) check_brought(subject, library.path);
    for (size_t i = 0; i < build.parts.size(); ++i) {
      std::string part;
      if (!attempt(kLibraryRule, file_, [&] { part = resolve_part(build, i, file_, writers_); }))
        continue;
      attempt(kLibraryRule, part, [&] {
        check_elf(LibraryFile(part));
        check_brought(subject, part);
        for (const BundledLibrary& library : bundled_libraries(part))
          check_brought(subject, library.path);
      });
    }
  }

  void check_brought(LintSubject& subject, const std::string& library) {
    if (std::find(report_.files.begin(), report_.files.end(), library) != report_.files.end())
      return;
    report_.files.push_back(library);
    check_library(subject, LibraryFile(library));
  }

  void check_library(LintSubject& subject, const LibraryFile& file) {
    subject.file = file.path();
    subject.metadata = read_elf_metadata(file);
    for (const LibraryRule& rule : library_rules()) {
      if (!subject.is_provider && !rule.counts_for_brought) continue;
      for (const std::string& what : rule.check(subject)) add(rule, subject.file, what);
    }
  }

  std::string file_;
  const TrustedWriters writers_ = TrustedWriters::of_process(false);
  std::vector<int> oldest_libc_;
  Waivers waivers_;
  LintReport report_;
};

}  // namespace

bool LintReport::is_good() const {
  return std::all_of(findings.begin(), findings.end(),
                     [](const LintFinding& finding) { return !finding.waiver.empty(); });
}

std::vector<LintRule> lint_rules() {
  std::vector<LintRule> rules = {kManifestRule.rule(), kLibraryRule.rule(), kNoteRule.rule()};
  for (const LibraryRule& rule : library_rules())
    rules.push_back({rule.name, rule.reason, rule.remedy});
  return rules;
}

LintReport lint_provider(const std::filesystem::path& manifest, const LintOptions& options) {
  return Lint(manifest.string(), options).run();
}

}  // namespace gantry
