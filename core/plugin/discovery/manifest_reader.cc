// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/manifest_reader.h"

#include <gantry/error.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "base/names.h"

namespace gantry {
namespace {

using nlohmann::json;

}  // namespace

void ManifestReader::fail(const std::string& pointer, const std::string& expected,
                          const std::string& found) const {
  throw Error(Code::kInvalidArgument, at(pointer) + ": expected " + expected + ", found " + found);
}

std::string ManifestReader::at(const std::string& pointer) const {
  return file_at(pointer) + ": " + (pointer.empty() ? "/" : pointer);
}

std::string ManifestReader::file_at(const std::string& pointer) const {
  return at_position(file_, position_of(positions_, pointer).value);
}

const json* ManifestReader::find(const std::string& pointer) const {
  const json::json_pointer at(pointer);
  return root_.contains(at) ? &root_[at] : nullptr;
}

const json& ManifestReader::need(const std::string& pointer, const std::string& expected) const {
  const json* found = find(pointer);
  if (!found) fail(pointer, expected, "nothing");
  return *found;
}

std::string ManifestReader::text(const std::string& pointer, const std::string& expected,
                                 bool is_required) const {
  const json* found = is_required ? &need(pointer, expected) : find(pointer);
  if (!found) return {};
  if (!found->is_string() || (is_required && found->get_ref<const std::string&>().empty())) {
    fail(pointer, expected, describe_json(*found));
  }
  return found->get<std::string>();
}

uint32_t ManifestReader::number(const std::string& pointer) const {
  const json& found = need(pointer, "an unsigned number");
  if (!found.is_number_unsigned() || found.get<uint64_t>() > std::numeric_limits<uint32_t>::max()) {
    fail(pointer, "an unsigned number", describe_json(found));
  }
  return found.get<uint32_t>();
}

size_t ManifestReader::items(const std::string& pointer, const char* expected) const {
  const json* found = find(pointer);
  if (!found) return 0;
  if (!found->is_array()) fail(pointer, expected, describe_json(*found));
  return found->size();
}

std::vector<std::string> ManifestReader::texts(const std::string& pointer) const {
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

std::string ManifestReader::digest(const std::string& pointer) const {
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

std::vector<std::string> ManifestReader::libraries(
    const std::string& pointer, std::map<std::string, std::string>& hints) const {
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

std::string ManifestReader::choice(const std::string& pointer,
                                   const std::vector<std::string>& choices) const {
  const json* found = find(pointer);
  if (!found) return choices[0];
  std::string given = found->is_string() ? found->get<std::string>() : std::string();
  if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
    fail(pointer, "one of " + list_names(choices), describe_json(*found));
  }
  return given;
}

void ManifestReader::warn_of_unknown(const std::string& pointer,
                                     const std::vector<std::string>& known,
                                     std::vector<std::string>& warnings) const {
  const json* object = pointer.empty() ? &root_ : find(pointer);
  if (!object || !object->is_object()) return;
  for (const auto& [member, unused] : object->items()) {
    if (member.rfind("x-", 0) == 0 || std::find(known.begin(), known.end(), member) != known.end())
      continue;
    const std::string here = json_pointer(pointer, member);
    warnings.push_back(at_position(file_, position_of(positions_, here).name) + ": " + here +
                       ": unknown member, ignored." + did_you_mean(member, known));
  }
}

}  // namespace gantry
