// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/manifest.h"

#include <gantry/device.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/names.h"
#include "plugin/discovery/manifest_operators.h"
#include "plugin/discovery/manifest_reader.h"
#include "plugin/discovery/strict_json.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr int kManifestVersion = 1;

const std::vector<std::string> kMembers = {
    "manifest_version", "name",     "vendor",        "version",      "library",      "abi",
    "devices",          "priority", "requires",      "options",      "threads",      "unload",
    "critical",         "sha256",   "variants",      "probe",        "device_files", "parts",
    "widens",           "stand_in", "survives_fork", "former_names", "operators"};

void check_version(const ManifestReader& reader, const json& root) {
  const json& version = reader.need("/manifest_version", std::to_string(kManifestVersion));
  if (!version.is_number_integer())
    reader.fail("/manifest_version", "a whole number", describe_json(version));
  if (version != kManifestVersion) {
    throw Error(Code::kAbiMismatch,
                reader.at("/manifest_version") + ": expected " + std::to_string(kManifestVersion) +
                    ", found " + version.dump() + "; the manifest needs another version of gantry");
  }
  for (const std::string& member : reader.texts("/critical")) {
    if (std::find(kMembers.begin(), kMembers.end(), member) == kMembers.end() ||
        !root.contains(member)) {
      throw Error(
          Code::kAbiMismatch,
          reader.at("/critical") + ": the member \"" + member +
              "\" must be understood and is not known here; the manifest needs a newer gantry");
    }
  }
}

bool is_provider_name(const std::string& name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && is_plain(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_plain(c) || c == '_' || c == '-'; });
}

void read_identity(const ManifestReader& reader, bool needs_library, Manifest& manifest) {
  const std::string expected =
      "a name of 1 to 64 of the characters a-z, 0-9, _ and -, first a letter or digit";
  manifest.name = reader.text("/name", expected, true);
  if (!is_provider_name(manifest.name))
    reader.fail("/name", expected, "\"" + manifest.name.substr(0, 80) + "\"");
  manifest.vendor = reader.text("/vendor", "a string", false);
  manifest.version = reader.text("/version", "a string as \"0.1.0\"", true);
  manifest.library = reader.text("/library", "a file name relative to the manifest", needs_library);
  manifest.abi_major = reader.number("/abi/major");
  manifest.abi_minor = reader.number("/abi/minor");
}

void read_devices(const ManifestReader& reader, Manifest& manifest) {
  const std::string expected = "an array of at least one device type, as [\"CPU\"]";
  reader.need("/devices", expected);
  manifest.devices = reader.texts("/devices");
  if (manifest.devices.empty()) reader.fail("/devices", expected, "an empty array");
  for (size_t i = 0; i < manifest.devices.size(); ++i) {
    const std::string& type = manifest.devices[i];
    bool is_type = type.find(':') == std::string::npos;
    try {
      if (is_type) Device::parse(type);
    } catch (const Error&) {
      is_type = false;
    }
    const std::string pointer = json_pointer("/devices", std::to_string(i));
    if (!is_type)
      reader.fail(pointer, "a type of letters, digits and _", "\"" + type.substr(0, 80) + "\"");
    if (std::find(manifest.devices.begin(), manifest.devices.begin() + static_cast<ptrdiff_t>(i),
                  type) != manifest.devices.begin() + static_cast<ptrdiff_t>(i)) {
      reader.fail(pointer, "each type once", "\"" + type + "\" again");
    }
  }
}

void read_requirements(const ManifestReader& reader, const std::string& pointer, Manifest& manifest,
                       Variant& build) {
  if (const json* needed = reader.find(pointer); needed && !needed->is_object())
    reader.fail(pointer, "an object", describe_json(*needed));
  build.required_libraries = reader.libraries(pointer + "/libraries", manifest.library_hints);
  build.required_cpu_features = reader.texts(pointer + "/cpu_features");
  reader.warn_of_unknown(pointer, {"libraries", "cpu_features"}, manifest.warnings);
}

void read_builds(const ManifestReader& reader, Manifest& manifest) {
  Variant own;
  read_requirements(reader, "/requires", manifest, own);
  manifest.required_libraries = own.required_libraries;
  manifest.required_cpu_features = own.required_cpu_features;
  manifest.sha256 = reader.digest("/sha256");
  const json* variants = reader.find("/variants");
  if (!variants) return;
  if (!variants->is_array() || variants->empty())
    reader.fail("/variants", "an array of at least one build", describe_json(*variants));
  for (size_t i = 0; i < variants->size(); ++i) {
    const std::string pointer = json_pointer("/variants", std::to_string(i));
    if (!(*variants)[i].is_object())
      reader.fail(pointer, "an object", describe_json((*variants)[i]));
    Variant variant;
    variant.library =
        reader.text(pointer + "/library", "a file name relative to the manifest", true);
    variant.sha256 = reader.digest(pointer + "/sha256");
    read_requirements(reader, pointer + "/requires", manifest, variant);
    reader.warn_of_unknown(pointer, {"library", "sha256", "requires"}, manifest.warnings);
    manifest.variants.push_back(std::move(variant));
  }
}

void read_probe(const ManifestReader& reader, Manifest& manifest) {
  const json* probe = reader.find("/probe");
  if (!probe) return;
  if (!probe->is_object()) reader.fail("/probe", "an object", describe_json(*probe));
  const std::string mode = reader.choice("/probe/mode", {"auto", "always", "never"});
  manifest.probe = mode == "always"  ? ProbeMode::kAlways
                   : mode == "never" ? ProbeMode::kNever
                                     : ProbeMode::kAuto;
  if (reader.find("/probe/timeout_ms")) {
    manifest.probe_timeout_ms = reader.number("/probe/timeout_ms");
    if (manifest.probe_timeout_ms == 0) reader.fail("/probe/timeout_ms", "at least 1", "0");
  }
  reader.warn_of_unknown("/probe", {"mode", "timeout_ms"}, manifest.warnings);
}

// True of a pattern that begins with letters of a driver's file name; /dev as a whole is refused.
bool is_device_pattern(const std::string& pattern) {
  constexpr std::string_view kFolder = "/dev/";
  constexpr std::string_view kMemory[] = {"mem", "kmem", "port"};
  if (!pattern.starts_with(kFolder) || pattern.size() > 200) return false;
  const std::string name = pattern.substr(kFolder.size());
  const size_t end = std::min(name.find('/'), name.size());
  const bool has_name = std::isalnum(static_cast<unsigned char>(name.c_str()[0])) != 0;
  const bool is_memory = std::any_of(std::begin(kMemory), std::end(kMemory), [&](auto memory) {
    return matches_pattern(name.substr(0, end), memory);
  });
  return has_name && !is_memory && pattern.find("..") == std::string::npos &&
         pattern.find("//") == std::string::npos && pattern.find('[') == std::string::npos;
}

void read_device_files(const ManifestReader& reader, Manifest& manifest) {
  manifest.device_files = reader.texts("/device_files");
  for (size_t i = 0; i < manifest.device_files.size(); ++i) {
    const std::string& pattern = manifest.device_files[i];
    if (is_device_pattern(pattern)) continue;
    reader.fail(json_pointer("/device_files", std::to_string(i)),
                "a path below /dev that begins with a letter or digit there, as \"/dev/nvidia*\", "
                "and is not the machine's memory",
                "\"" + pattern.substr(0, 80) + "\"");
  }
}

void read_widens(const ManifestReader& reader, Manifest& manifest) {
  const std::vector<std::string> names = reader.texts("/widens");
  for (size_t i = 0; i < names.size(); ++i) {
    const DType dtype = dtype_from_string(names[i]);
    if (dtype == DType::kFloat16 || dtype == DType::kBfloat16) {
      manifest.widens.push_back(dtype);
      continue;
    }
    reader.fail(json_pointer("/widens", std::to_string(i)), "\"float16\" or \"bfloat16\"",
                "\"" + names[i].substr(0, 80) + "\"");
  }
}

void read_former_names(const ManifestReader& reader, Manifest& manifest) {
  const std::vector<std::string> names = reader.texts("/former_names");
  for (size_t i = 0; i < names.size(); ++i) {
    if (is_provider_name(names[i]) && names[i] != manifest.name) {
      manifest.former_names.push_back(names[i]);
      continue;
    }
    reader.fail(json_pointer("/former_names", std::to_string(i)),
                "a name of lower-case letters, digits, '-' and '_' other than the provider's own",
                "\"" + names[i].substr(0, 80) + "\"");
  }
}

bool read_flag(const ManifestReader& reader, const std::string& pointer) {
  const json* given = reader.find(pointer);
  if (!given) return false;
  if (!given->is_boolean()) reader.fail(pointer, "true or false", describe_json(*given));
  return given->get<bool>();
}

void read_rest(const ManifestReader& reader, Manifest& manifest) {
  if (const json* priority = reader.find("/priority")) {
    if (!priority->is_number_integer())
      reader.fail("/priority", "a whole number", describe_json(*priority));
    manifest.priority = priority->get<int64_t>();
  }
  manifest.own_threads = reader.choice("/threads", {"host", "own"}) == "own";
  reader.choice("/unload", {"never", "tested"});
  manifest.options_schema = R"({"type": "object", "additionalProperties": false})";
  if (const json* options = reader.find("/options")) {
    if (!options->is_object()) reader.fail("/options", "a JSON Schema", describe_json(*options));
    const JsonSchema compiles(*options, reader.file_at("/options"), "/options");
    manifest.options_schema = options->dump();
  }
  reader.warn_of_unknown("", kMembers, manifest.warnings);
  reader.warn_of_unknown("/abi", {"major", "minor"}, manifest.warnings);
  read_builds(reader, manifest);
  read_device_files(reader, manifest);
  read_widens(reader, manifest);
  const json* operators = reader.find("/operators");
  manifest.has_operators_by_options = operators && operators->is_string();
  if (manifest.has_operators_by_options) {
    reader.choice("/operators", {"by_options"});
  } else {
    manifest.operators = read_operators(reader, manifest.warnings);
  }
  manifest.is_stand_in = read_flag(reader, "/stand_in");
  manifest.survives_fork = read_flag(reader, "/survives_fork");
  read_former_names(reader, manifest);
  manifest.parts = reader.libraries("/parts", manifest.library_hints);
  read_probe(reader, manifest);
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

Manifest parse_manifest(const std::string& text, const std::string& file, bool needs_library) {
  const JsonDocument document = parse_json(text, file, {kMaxManifestBytes, 16});
  const ManifestReader reader(document, file);
  if (!document.root.is_object()) reader.fail("", "an object", describe_json(document.root));
  check_version(reader, document.root);
  Manifest manifest;
  manifest.text = text;
  read_identity(reader, needs_library && !reader.find("/variants"), manifest);
  read_devices(reader, manifest);
  read_rest(reader, manifest);
  return manifest;
}

std::vector<Manifest> builds_of(const Manifest& manifest) {
  std::vector<Manifest> builds;
  for (const Variant& variant : manifest.variants) {
    Manifest& build = builds.emplace_back(manifest);
    build.library = variant.library;
    build.sha256 = variant.sha256;
    append(build.required_libraries, variant.required_libraries);
    append(build.required_cpu_features, variant.required_cpu_features);
  }
  if (!manifest.library.empty()) builds.push_back(manifest);
  for (Manifest& build : builds) build.variants.clear();
  return builds;
}

Manifest read_manifest(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::error_code error;
  if (!stream || std::filesystem::is_directory(file, error)) {
    const int reason = stream ? EISDIR : errno;
    throw Error(Code::kNotFound,
                file + ": the manifest cannot be read: " + std::generic_category().message(reason));
  }
  std::string text;
  std::array<char, 4096> part{};
  // Reads no further than needed to see that the file is too large.
  while (text.size() <= kMaxManifestBytes &&
         (stream.read(part.data(), part.size()) || stream.gcount() > 0))
    text.append(part.data(), static_cast<size_t>(stream.gcount()));
  if (stream.bad()) throw Error(Code::kNotFound, file + ": the manifest cannot be read");
  if (text.starts_with(ELFMAG)) {
    throw Error(
        Code::kInvalidArgument,
        file + ": expected a manifest, found a library; name the JSON file that describes it");
  }
  return parse_manifest(text, file);
}

std::vector<JsonProblem> option_problems(const Manifest& manifest, const json& options) {
  const std::string pointer = json_pointer("/providers/options", manifest.name);
  if (!options.is_object()) {
    return {{pointer, "expected an object, found " + describe_json(options), false, {}}};
  }
  const JsonSchema schema(json::parse(manifest.options_schema), "provider " + manifest.name);
  return schema.problems(options, pointer);
}

}  // namespace gantry
