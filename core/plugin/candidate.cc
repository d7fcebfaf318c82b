// SPDX-License-Identifier: Apache-2.0
#include "plugin/candidate.h"

#include <algorithm>

#include "base/names.h"
#include "plugin/discovery/note.h"
#include "plugin/discovery/requirements.h"

namespace gantry {
namespace {

std::string hint_for(const ProviderCandidate& candidate) {
  const ProviderReport& row = candidate.row;
  if (row.code == Code::kAbiMismatch)
    return "rebuild the provider with the SDK of this gantry, or take matching releases";
  if (row.stage == "collected") return "correct what names it, or put the manifest there";
  if (row.stage == "policy") {
    return "take its name out of /providers/disable and GANTRY_PROVIDERS_DISABLE, or ask who keeps "
           "the site policy";
  }
  if (row.stage == "parsed") return "correct the manifest; docs/MANIFEST.md describes its members";
  if (row.stage == "file checks") return "install the provider again, or remove its manifest";
  if (row.stage == "requirements")
    return "install what it needs; without that hardware the row can be ignored";
  if (row.probe == "crashed" || row.probe == "timed out")
    return "ask its vendor; it would have ended or stopped this process";
  if (row.stage == "probe") {
    return row.probe.empty() ? "install gantry again: gantry-probe belongs to it"
                             : "install what it needs, or ask its vendor";
  }
  if (row.stage == "load") return "ldd " + row.library + " shows which libraries it misses";
  return {};
}

void check_note_and_manifest(const ProviderCandidate& candidate, const LibraryFile& library) {
  const gantry_note note = read_note(library);
  check_note(note, library.path());
  const Manifest& manifest = candidate.manifest;
  if (manifest.abi_major == note.major && manifest.abi_minor == note.minor) return;
  std::vector<std::string> differences;
  const auto compare = [&](const char* field, uint32_t expected, uint32_t found) {
    if (expected != found) {
      differences.push_back(std::string(field) + " " + std::to_string(found) + " instead of " +
                            std::to_string(expected));
    }
  };
  compare("/abi/major", note.major, manifest.abi_major);
  compare("/abi/minor", note.minor, manifest.abi_minor);
  throw Error(Code::kAbiMismatch,
              candidate.file.path + ": /abi: expected version " + std::to_string(note.major) + "." +
                  std::to_string(note.minor) + " as the note of " + library.path() +
                  " says, found " + std::to_string(manifest.abi_major) + "." +
                  std::to_string(manifest.abi_minor) + " (" + list_names(differences) + ")");
}

void check_file(ProviderCandidate& candidate, const CheckContext& context) {
  ProviderReport& row = candidate.row;
  row.stage = "file checks";
  row.library = resolve_library(candidate.manifest, candidate.file.path, context.writers);
  const LibraryFile library(row.library);
  candidate.library = library.identity();
  check_digest(candidate.manifest, candidate.file.path, library);
  row.sha256 = candidate.manifest.sha256;
  if (context.policy.reads_digests()) {
    row.sha256 = library.sha256();
    context.policy.check_library(candidate.manifest, row.sha256);
  }
  check_note_and_manifest(candidate, library);
  candidate.needs = read_dynamic_section(library);
}

}  // namespace

bool ProviderCandidate::lists(const std::string& type) const {
  return std::find(manifest.devices.begin(), manifest.devices.end(), type) !=
         manifest.devices.end();
}

void ProviderCandidate::reject(const Error& error) {
  row.state = "rejected";
  row.code = error.code();
  row.message = error.message();
  row.hint = hint_for(*this);
}

void check_library(ProviderCandidate& candidate, const CheckContext& context) {
  const std::vector<Manifest> builds = builds_of(candidate.manifest);
  std::vector<std::string> reasons;
  for (const Manifest& build : builds) {
    candidate.manifest = build;
    candidate.row.stage = "requirements";
    std::vector<std::string> missing = missing_cpu_features(build);
    if (missing.empty()) {
      check_file(candidate, context);
      candidate.row.stage = "requirements";
      missing = missing_libraries(build, candidate.row.library, candidate.needs, context.machine);
    }
    if (missing.empty()) return;
    reasons.push_back((builds.size() > 1 ? build.library + " needs " : "") + list_names(missing));
  }
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  throw Error(Code::kUnavailable, "provider \"" + candidate.manifest.name + "\"" +
                                      (builds.size() > 1 ? ": no build of it fits: " : " needs ") +
                                      text + ", not found on this machine");
}

std::vector<std::string> part_warnings(const ProviderCandidate& candidate, Machine& machine,
                                       const TrustedWriters& writers) {
  std::vector<std::string> warnings;
  const Manifest& manifest = candidate.manifest;
  const size_t count = candidate.entry ? 0 : manifest.parts.size();  // added from code: no folder
  for (size_t i = 0; i < count; ++i) {
    std::string problem;
    try {
      const std::string part = resolve_part(manifest, i, candidate.file.path, writers);
      const std::vector<std::string> missing = missing_behind(part, machine);
      if (!missing.empty())
        problem = "it needs " + list_names(missing) + ", not found on this machine";
    } catch (const Error& error) {
      problem = error.message();
    }
    if (problem.empty()) continue;
    const auto hint = manifest.library_hints.find(manifest.parts[i]);
    warnings.push_back("Models that need its library " + manifest.parts[i] +
                       " are refused: " + problem +
                       (hint == manifest.library_hints.end() ? "." : "; " + hint->second + "."));
  }
  return warnings;
}

}  // namespace gantry
