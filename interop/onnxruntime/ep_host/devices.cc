// SPDX-License-Identifier: Apache-2.0
#include "ep_host/devices.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ep_host/functions.h"
#include "objects/api_table.h"

namespace gantry::ort {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kIntel = 0x8086;
constexpr uint32_t kAmd = 0x1022;

std::unique_ptr<MachineDevice> cpu() {
  auto made = std::make_unique<MachineDevice>();
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("vendor_id")) made->vendor = line.substr(colon + 2);
    if (line.starts_with("model name")) made->metadata.set("Description", line.substr(colon + 2));
  }
  if (made->vendor == "GenuineIntel") {
    made->vendor = "Intel";
    made->vendor_id = kIntel;
  } else if (made->vendor == "AuthenticAMD") {
    made->vendor = "AMD";
    made->vendor_id = kAmd;
  }
  return made;
}

/// A number as the kernel writes it: "0x8086". 0: there is none.
uint32_t number_in(const fs::path& path) {
  std::ifstream file(path);
  uint32_t number = 0;
  file >> std::hex >> number;
  return file ? number : 0;
}

void add_class(const char* folder, const std::string& prefix, DeviceType type,
               std::vector<std::unique_ptr<MachineDevice>>& all) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder, error)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    const std::string name = path.filename();
    const bool is_device = name.starts_with(prefix) && name.find('-') == std::string::npos;
    const uint32_t vendor = is_device ? number_in(path / "device" / "vendor") : 0;
    if (vendor == 0) continue;
    auto made = std::make_unique<MachineDevice>();
    made->type = type;
    made->vendor_id = vendor;
    made->device_id = number_in(path / "device" / "device");
    made->metadata.set("pci_bus_id", fs::canonical(path / "device", error).filename());
    all.push_back(std::move(made));
  }
}

}  // namespace

std::vector<std::unique_ptr<MachineDevice>> machine_devices() {
  std::vector<std::unique_ptr<MachineDevice>> all;
  all.push_back(cpu());
  add_class("/sys/class/drm", "card", DeviceType::kGpu, all);
  add_class("/sys/class/accel", "accel", DeviceType::kNpu, all);
  return all;
}

const char* to_string(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "CPU";
    case DeviceType::kGpu:
      return "GPU";
    case DeviceType::kNpu:
      return "NPU";
  }
  return "device";
}

namespace {

int get_type(const MachineDevice* device) { return static_cast<int>(device->type); }
uint32_t get_vendor_id(const MachineDevice* device) { return device->vendor_id; }
const char* get_vendor(const MachineDevice* device) { return device->vendor.c_str(); }
uint32_t get_device_id(const MachineDevice* device) { return device->device_id; }
const KeyValues* get_metadata(const MachineDevice* device) { return &device->metadata; }

const char* get_ep_name(const OfferedDevice* device) { return device->name.c_str(); }
const char* get_ep_vendor(const OfferedDevice* device) { return device->vendor.c_str(); }
const KeyValues* get_ep_metadata(const OfferedDevice* device) { return &device->metadata; }
const KeyValues* get_ep_options(const OfferedDevice* device) { return &device->options; }
const MachineDevice* get_ep_device(const OfferedDevice* device) { return device->device; }

}  // namespace

void add_device_functions(ApiTable& table) {
  table.set(Slot::kHardwareDeviceType, get_type);
  table.set(Slot::kHardwareDeviceVendorId, get_vendor_id);
  table.set(Slot::kHardwareDeviceVendor, get_vendor);
  table.set(Slot::kHardwareDeviceDeviceId, get_device_id);
  table.set(Slot::kHardwareDeviceMetadata, get_metadata);
  table.set(Slot::kEpDeviceEpName, get_ep_name);
  table.set(Slot::kEpDeviceEpVendor, get_ep_vendor);
  table.set(Slot::kEpDeviceEpMetadata, get_ep_metadata);
  table.set(Slot::kEpDeviceEpOptions, get_ep_options);
  table.set(Slot::kEpDeviceDevice, get_ep_device);
}

}  // namespace gantry::ort
