// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/manifest.h"

#include <gantry/device.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "base/names.h"
#include "plugin/discovery/strict_json.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr int kManifestVersion = 1;

// Reads the members of one manifest, and throws errors with their position.
class Reader {
 public:
  Reader(const JsonDocument& document, const std::string& file)
      : root_(document.root), positions_(document.positions), file_(file) {}

  [[noreturn]] void fail(const std::string& pointer, const std::string& expected,
                         const std::string& found) const {
    throw Error(Code::kInvalidArgument,
                at(pointer) + ": expected " + expected + ", found " + found);
  }
  /// `file:line:column: pointer`.
  [[nodiscard]] std::string at(const std::string& pointer) const {
    return file_at(pointer) + ": " + (pointer.empty() ? "/" : pointer);
  }
  [[nodiscard]] std::string file_at(const std::string& pointer) const {
    return at_position(file_, position_of(positions_, pointer).value);
  }

  // The member at a pointer of one or two steps; null if it is absent.
  const json* find(const std::string& pointer) const {
    const json::json_pointer at(pointer);
    return root_.contains(at) ? &root_[at] : nullptr;
  }
  const json& need(const std::string& pointer, const std::string& expected) const {
    const json* found = find(pointer);
    if (!found) fail(pointer, expected, "nothing");
    return *found;
  }
  std::string text(const std::string& pointer, const std::string& expected,
                   bool is_required) const {
    const json* found = is_required ? &need(pointer, expected) : find(pointer);
    if (!found) return {};
    if (!found->is_string() || (is_required && found->get_ref<const std::string&>().empty())) {
      fail(pointer, expected, describe_json(*found));
    }
    return found->get<std::string>();
  }
  uint32_t number(const std::string& pointer) const {
    const json& found = need(pointer, "an unsigned number");
    if (!found.is_number_unsigned() ||
        found.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
      fail(pointer, "an unsigned number", describe_json(found));
    }
    return found.get<uint32_t>();
  }
  std::vector<std::string> texts(const std::string& pointer) const {
    const json* found = find(pointer);
    if (!found) return {};
    if (!found->is_array()) fail(pointer, "an array of strings", describe_json(*found));
    std::vector<std::string> result;
    for (size_t i = 0; i < found->size(); ++i) {
      const json& item = (*found)[i];
      if (!item.is_string() || item.get_ref<const std::string&>().empty()) {
        fail(json_pointer(pointer, std::to_string(i)), "a string that is not empty",
             describe_json(item));
      }
      result.push_back(item.get<std::string>());
    }
    return result;
  }
  std::string digest(const std::string& pointer) const {
    const json* found = find(pointer);
    if (!found) return {};
    std::string text = found->is_string() ? found->get<std::string>() : std::string();
    const auto is_hex = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    if (text.size() != 64 || !std::all_of(text.begin(), text.end(), is_hex))
      fail(pointer, "a SHA-256 of 64 hexadecimal digits", describe_json(*found));
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  }
  // Names of libraries: each a string, or an object with the name and a hint for a missing library.
  std::vector<std::string> libraries(const std::string& pointer,
                                     std::map<std::string, std::string>& hints) const {
    const json* found = find(pointer);
    if (!found) return {};
    if (!found->is_array()) fail(pointer, "an array of file names", describe_json(*found));
    std::vector<std::string> names;
    for (size_t i = 0; i < found->size(); ++i) {
      const std::string here = json_pointer(pointer, std::to_string(i));
      const bool is_object = (*found)[i].is_object();
      names.push_back(text(is_object ? here + "/name" : here,
                           "a file name, or an object with \"name\" and \"hint\"", true));
      if (is_object) hints[names.back()] = text(here + "/hint", "a string", true);
    }
    return names;
  }
  std::string choice(const std::string& pointer, const std::vector<std::string>& choices) const {
    const json* found = find(pointer);
    if (!found) return choices[0];
    std::string given = found->is_string() ? found->get<std::string>() : std::string();
    if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
      fail(pointer, "one of " + list_names(choices), describe_json(*found));
    }
    return given;
  }
  void warn_of_unknown(const std::string& pointer, const std::vector<std::string>& known,
                       std::vector<std::string>& warnings) const {
    const json* object = pointer.empty() ? &root_ : find(pointer);
    if (!object || !object->is_object()) return;
    for (const auto& [member, unused] : object->items()) {
      if (member.rfind("x-", 0) == 0 ||
          std::find(known.begin(), known.end(), member) != known.end())
        continue;
      const std::string here = json_pointer(pointer, member);
      warnings.push_back(at_position(file_, position_of(positions_, here).name) + ": " + here +
                         ": unknown member, ignored." + did_you_mean(member, known));
    }
  }

 private:
  const json& root_;
  const JsonPositions& positions_;
  const std::string& file_;
};

const std::vector<std::string> kMembers = {
    "manifest_version", "name",     "vendor",       "version",  "library",      "abi",
    "devices",          "priority", "requires",     "options",  "threads",      "unload",
    "critical",         "sha256",   "variants",     "probe",    "device_files", "parts",
    "widens",           "stand_in", "former_names", "operators"};

void check_version(const Reader& reader, const json& root) {
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

void read_identity(const Reader& reader, bool needs_library, Manifest& manifest) {
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

void read_devices(const Reader& reader, Manifest& manifest) {
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

void read_requirements(const Reader& reader, const std::string& pointer, Manifest& manifest,
                       Variant& build) {
  if (const json* needed = reader.find(pointer); needed && !needed->is_object())
    reader.fail(pointer, "an object", describe_json(*needed));
  build.required_libraries = reader.libraries(pointer + "/libraries", manifest.library_hints);
  build.required_cpu_features = reader.texts(pointer + "/cpu_features");
  reader.warn_of_unknown(pointer, {"libraries", "cpu_features"}, manifest.warnings);
}

void read_builds(const Reader& reader, Manifest& manifest) {
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

void read_probe(const Reader& reader, Manifest& manifest) {
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

void read_device_files(const Reader& reader, Manifest& manifest) {
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

void read_widens(const Reader& reader, Manifest& manifest) {
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

// Reads the types of the provider's own operators.
class OperatorReader {
 public:
  explicit OperatorReader(const Reader& reader) : reader_(reader) {}

  [[nodiscard]] std::vector<DeclaredOperator> read(std::vector<std::string>& warnings) const {
    std::vector<DeclaredOperator> operators;
    for (size_t i = 0; i < items("/operators", "an array of operators"); ++i) {
      const std::string here = json_pointer("/operators", std::to_string(i));
      DeclaredOperator& one = operators.emplace_back();
      one.domain = reader_.text(here + "/domain", "a domain of the provider's own", true);
      if (one.domain == "ai.onnx" || one.domain.starts_with("ai.onnx.ml") ||
          one.domain.starts_with("com.microsoft")) {
        reader_.fail(here + "/domain", "a domain of the provider's own",
                     "\"" + one.domain + "\", whose operators are known");
      }
      one.op_type = reader_.text(here + "/op_type", "the operator's name", true);
      reader_.need(here + "/outputs", "the types of its outputs");
      for (size_t k = 0; k < items(here + "/outputs", "an array of types"); ++k)
        one.outputs.push_back(read_output(here + "/outputs/" + std::to_string(k), warnings));
      reader_.warn_of_unknown(here, {"domain", "op_type", "outputs"}, warnings);
    }
    return operators;
  }

 private:
  // The length of an array; 0 if it is absent.
  [[nodiscard]] size_t items(const std::string& pointer, const char* expected) const {
    const json* found = reader_.find(pointer);
    if (!found) return 0;
    if (!found->is_array()) reader_.fail(pointer, expected, describe_json(*found));
    return found->size();
  }

  [[nodiscard]] DeclaredOutput read_output(const std::string& here,
                                           std::vector<std::string>& warnings) const {
    DeclaredOutput output;
    const bool has_type = reader_.find(here + "/type") != nullptr;
    if (has_type == (reader_.find(here + "/like") != nullptr)) {
      reader_.fail(here, "either \"type\", an element type, or \"like\", the index of an input",
                   has_type ? "both" : "neither");
    }
    if (has_type) {
      const std::string name = reader_.text(here + "/type", "an element type as \"float32\"", true);
      output.dtype = dtype_from_string(name);
      if (output.dtype == DType::kUndefined) {
        reader_.fail(here + "/type", "an element type as \"float32\"",
                     "\"" + name.substr(0, 80) + "\"");
      }
    } else {
      output.like = static_cast<int>(std::min(reader_.number(here + "/like"), kMostInputs));
    }
    if (reader_.find(here + "/shape")) {
      output.shape.emplace();
      for (size_t i = 0; i < items(here + "/shape", "an array of extents"); ++i)
        output.shape->push_back(read_extent(here + "/shape/" + std::to_string(i)));
    }
    reader_.warn_of_unknown(here, {"type", "like", "shape"}, warnings);
    return output;
  }

  [[nodiscard]] DeclaredExtent read_extent(const std::string& here) const {
    const json& given = *reader_.find(here);
    if (given.is_null()) return {};
    constexpr int64_t kMost = int64_t{1} << 40;
    if (given.is_number_unsigned() && given.get<uint64_t>() <= static_cast<uint64_t>(kMost))
      return {.value = given.get<int64_t>()};
    const std::string text = given.is_string() ? given.get<std::string>() : std::string();
    DeclaredExtent extent;
    const char* end = text.data() + text.size();
    const auto input = std::from_chars(text.data(), end, extent.input);
    const bool has_dot = input.ec == std::errc() && input.ptr != end && *input.ptr == '.';
    const auto axis = has_dot ? std::from_chars(input.ptr + 1, end, extent.axis) : input;
    if (!has_dot || axis.ec != std::errc() || axis.ptr != end || extent.input < 0 ||
        extent.axis < 0) {
      reader_.fail(here,
                   "an extent: a number, null, or \"INPUT.AXIS\" for that of an input, as \"0.1\"",
                   describe_json(given));
    }
    return extent;
  }

  static constexpr uint32_t kMostInputs = 1 << 20;
  const Reader& reader_;
};

void read_former_names(const Reader& reader, Manifest& manifest) {
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

void read_stand_in(const Reader& reader, Manifest& manifest) {
  const json* given = reader.find("/stand_in");
  if (!given) return;
  if (!given->is_boolean()) reader.fail("/stand_in", "true or false", describe_json(*given));
  manifest.is_stand_in = given->get<bool>();
}

void read_rest(const Reader& reader, Manifest& manifest) {
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
  manifest.operators = OperatorReader(reader).read(manifest.warnings);
  read_stand_in(reader, manifest);
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
  const Reader reader(document, file);
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
