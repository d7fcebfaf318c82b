// SPDX-License-Identifier: Apache-2.0
#include "session/config/config_positions.h"

#include "base/names.h"

namespace gantry {

using nlohmann::json;

const json* member_at(const json& root, const std::string& pointer) {
  const json::json_pointer place(pointer);
  return root.contains(place) ? &root[place] : nullptr;
}

std::vector<PlacedText> placed_texts(const json& root, const std::string& pointer) {
  std::vector<PlacedText> texts;
  const json* array = member_at(root, pointer);
  if (!array || !array->is_array()) return texts;
  for (size_t i = 0; i < array->size(); ++i) {
    if ((*array)[i].is_string())
      texts.emplace_back(json_pointer(pointer, std::to_string(i)), (*array)[i]);
  }
  return texts;
}

std::vector<PlacedText> placed_devices(const json& root) {
  auto devices = placed_texts(root, "/placement/prefer");
  const json* rules = member_at(root, "/placement/rules");
  for (size_t i = 0; rules && rules->is_array() && i < rules->size(); ++i) {
    const std::string pointer = json_pointer("/placement/rules", std::to_string(i)) + "/device";
    const json* device = member_at(root, pointer);
    if (device && device->is_string()) devices.emplace_back(pointer, *device);
  }
  return devices;
}

JsonProblem problem_with_suggestion(std::string pointer, const std::string& what,
                                    const std::string& suggestion, bool is_in_name) {
  return {std::move(pointer), what + suggest(suggestion), is_in_name, suggestion};
}

}  // namespace gantry
