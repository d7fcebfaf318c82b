// SPDX-License-Identifier: Apache-2.0
#include <gantry/device.h>
#include <gantry/error.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace gantry {
namespace {

constexpr size_t kLongestType = 64;

// ASCII only: the grammar must not depend on the locale.
bool is_type_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

[[noreturn]] void fail(std::string_view text, const std::string& found) {
  constexpr size_t kLongestShown = 80;
  const std::string shown(text.substr(0, kLongestShown));
  throw Error(Code::kInvalidArgument,
              "device \"" + shown + (text.size() > kLongestShown ? "...\": " : "\": ") + found +
                  "; expected TYPE or TYPE:id, as CPU or CUDA:1 (TYPE: letters, digits and _; id: "
                  "a decimal number)");
}

uint32_t parse_id(std::string_view text, std::string_view digits) {
  if (digits.empty()) fail(text, "found no id after ':'");
  // Checked first: from_chars would stop at the first other character and call the rest of the text
  // fine.
  const auto wrong =
      std::find_if(digits.begin(), digits.end(), [](char c) { return c < '0' || c > '9'; });
  if (wrong != digits.end())
    fail(text, "found the id \"" + std::string(digits.substr(0, 32)) + "\"");
  uint32_t id = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), id);
  if (result.ec != std::errc()) fail(text, "found an id of more than 32 bits");
  return id;
}

}  // namespace

Device Device::parse(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  if (type.empty()) fail(text, "found no type");
  if (type.size() > kLongestType) fail(text, "found a type of more than 64 characters");
  if (!std::all_of(type.begin(), type.end(), is_type_character)) {
    fail(text, "found the type \"" + std::string(type) + "\"");
  }
  Device device;
  device.type = std::string(type);
  if (colon != std::string_view::npos) device.id = parse_id(text, text.substr(colon + 1));
  return device;
}

std::string Device::to_string() const { return type + ":" + std::to_string(id); }

}  // namespace gantry
