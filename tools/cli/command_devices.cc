// SPDX-License-Identifier: Apache-2.0
// gantry devices: lists every device with its provider, state and reason. Status 1: none is ready.
#include <algorithm>
#include <cstdio>
#include <fmt/core.h>
#include <set>
#include <string>
#include <vector>

#include "command.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

// Names of the providers that run out of process.
std::set<std::string> isolated_of(Runtime& runtime) {
  std::set<std::string> names;
  for (const ProviderReport& row : runtime.report()) {
    if (!row.isolation.empty()) names.insert(row.name);
  }
  return names;
}

Json device_to_json(const DeviceInfo& device, bool is_isolated) {
  return {{"device", device.device.to_string()},
          {"type", device.device.type},
          {"id", device.device.id},
          {"provider", device.provider},
          {"isolation", is_isolated ? "process" : ""},
          {"name", device.name},
          {"uid", device.uid},
          {"state", device.state},
          {"reason", device.reason},
          {"memory_bytes", device.memory_bytes},
          {"stand_in", device.is_stand_in}};
}

void print(const std::vector<DeviceInfo>& devices, const std::set<std::string>& isolated) {
  Table table({{"DEVICE"},
               {"STATE"},
               {"PROVIDER"},
               {"NAME"},
               {"MEMORY", Table::Align::kRight},
               {"REASON"}});
  for (const DeviceInfo& device : devices) {
    const Color color = device.state == "ready" ? Color::kGood : Color::kBad;
    const std::string provider =
        device.provider + (isolated.contains(device.provider) ? " (isolated)" : "");
    table.add({device.device.to_string(), paint(device.state, color), provider, device.name,
               device.memory_bytes == 0 ? "" : format_bytes(device.memory_bytes), device.reason});
  }
  table.print();
}

// Devices of providers that cannot be used are missing in the list without a word.
void tell_of_rejected(Runtime& runtime) {
  std::vector<std::string> names;
  for (const ProviderReport& row : runtime.report()) {
    // Manifests that are not there are warned of where they are named; by a policy it is meant so.
    const bool is_told = row.stage == "collected" || row.stage == "policy";
    if (row.state == "rejected" && !is_told) names.push_back(row.name);
  }
  if (names.empty()) return;
  fmt::print(stderr, "{} cannot be used: {}; gantry doctor tells why\n",
             names.size() == 1 ? "1 provider" : std::to_string(names.size()) + " providers",
             join(names, ", "));
}

Status devices(const CommonOptions& options) {
  const auto runtime = make_runtime(options);
  const std::vector<DeviceInfo> found = runtime->devices();
  const std::set<std::string> isolated = isolated_of(*runtime);
  if (options.json) {
    Json json = Json::array();
    for (const DeviceInfo& device : found)
      json.push_back(device_to_json(device, isolated.contains(device.provider)));
    print_json({{"devices", json}});
  } else if (found.empty()) {
    print_line("no devices; gantry doctor tells why");
  } else {
    print(found, isolated);
  }
  tell_of_rejected(*runtime);
  const bool any = std::any_of(found.begin(), found.end(),
                               [](const DeviceInfo& device) { return device.state == "ready"; });
  return any ? kGood : kNo;
}

}  // namespace

void add_devices(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<CommonOptions>();
  CLI::App* command = app.add_subcommand("devices", "Every device, its provider, state and reason");
  add_common_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return devices(*options); }; });
}

}  // namespace gantry::cli
