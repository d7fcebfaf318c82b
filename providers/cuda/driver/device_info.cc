// SPDX-License-Identifier: Apache-2.0
#include "driver/device_info.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>

namespace gantry::cuda {
namespace {

// The oldest architecture that the kernels are written for.
constexpr int kOldestCapability = 80;

std::string uuid_text(const std::array<char, 16>& bytes) {
  std::string text = "GPU";
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(bytes[i])));
    text += std::string(i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + digits.data();
  }
  return text;
}

class Finder {
 public:
  explicit Finder(const Driver& driver) : driver_(driver) {}

  std::vector<DeviceInfo> run() {
    int count = 0;
    require(driver_.device_count(&count), "counting the devices");
    for (int i = 0; i < count; ++i) add(i);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.position < b.position; });
    std::vector<DeviceInfo> devices;
    for (Found& found : found_) {
      found.info.id = static_cast<uint32_t>(devices.size());
      devices.push_back(std::move(found.info));
    }
    return devices;
  }

 private:
  struct Found {
    std::tuple<int, int, int> position;  // domain, bus and device of the PCI address
    DeviceInfo info;
  };

  void require(int result, const std::string& what) const {
    if (result != kSuccess)
      throw sdk::Error(GANTRY_DEVICE_ERROR, "CUDA: " + what + ": " + driver_.describe(result));
  }

  [[nodiscard]] int attribute(int which, DeviceNumber device) const {
    int value = 0;
    require(driver_.device_attribute(&value, which, device), "asking for an attribute");
    return value;
  }

  void add(int index) {
    DeviceInfo info;
    require(driver_.device_get(&info.number, index), "asking for a device");
    std::array<char, 256> name{};
    require(driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, info.number),
            "asking for a device's name");
    info.name = name.data();
    size_t bytes = 0;
    require(driver_.device_memory(&bytes, info.number), "asking for a device's memory");
    info.memory_bytes = bytes;
    std::array<char, 16> uuid{};
    require(driver_.device_uuid(uuid.data(), info.number), "asking for a device's UUID");
    info.uuid = uuid_text(uuid);
    const std::tuple position{attribute(kPciDomain, info.number), attribute(kPciBus, info.number),
                              attribute(kPciDevice, info.number)};
    std::array<char, 32> pci{};
    std::snprintf(
        pci.data(), pci.size(), "%04x:%02x:%02x.0", static_cast<unsigned>(std::get<0>(position)),
        static_cast<unsigned>(std::get<1>(position)), static_cast<unsigned>(std::get<2>(position)));
    info.pci = pci.data();
    info.multiprocessors = attribute(kMultiprocessorCount, info.number);
    info.cache_bytes = static_cast<uint64_t>(attribute(kCacheBytes, info.number));
    info.capability =
        10 * attribute(kCapabilityMajor, info.number) + attribute(kCapabilityMinor, info.number);
    if (info.capability < kOldestCapability) {
      info.reason = "its compute capability is " + std::to_string(info.capability / 10) + "." +
                    std::to_string(info.capability % 10) + ", needed is 8.0 or newer";
    } else if (attribute(kHasMemoryPools, info.number) == 0) {
      info.reason = "its driver offers no pools of memory, as that of some virtual GPUs";
    }
    found_.push_back({position, std::move(info)});
  }

  const Driver& driver_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<DeviceInfo> find_devices(const Driver& driver) { return Finder(driver).run(); }

}  // namespace gantry::cuda
