// SPDX-License-Identifier: Apache-2.0
// gantry devices: every device, its provider, state and reason. Status 1: none is ready.
#include <algorithm>

#include "command.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

Json to_json(const DeviceInfo& device) {
  return {{"device", device.device.to_string()},
          {"type", device.device.type},
          {"id", device.device.id},
          {"provider", device.provider},
          {"name", device.name},
          {"uid", device.uid},
          {"state", device.state},
          {"reason", device.reason},
          {"memory_bytes", device.memory_bytes}};
}

void print(const std::vector<DeviceInfo>& devices) {
  Table table({{"DEVICE"},
               {"STATE"},
               {"PROVIDER"},
               {"NAME"},
               {"MEMORY", Table::Align::kRight},
               {"REASON"}});
  for (const DeviceInfo& device : devices) {
    const Color color = device.state == "ready" ? Color::kGood : Color::kBad;
    table.add({device.device.to_string(), paint(device.state, color), device.provider, device.name,
               device.memory_bytes == 0 ? "" : format_bytes(device.memory_bytes), device.reason});
  }
  table.print();
}

Status devices(const CommonOptions& options) {
  const auto runtime = make_runtime(options);
  const std::vector<DeviceInfo> found = runtime->devices();
  if (options.json) {
    Json json = Json::array();
    for (const DeviceInfo& device : found) json.push_back(to_json(device));
    print_json({{"devices", json}});
  } else if (found.empty()) {
    print_line("no devices; gantry doctor tells why");
  } else {
    print(found);
  }
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
