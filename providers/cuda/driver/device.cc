// SPDX-License-Identifier: Apache-2.0
#include "driver/device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <tuple>

namespace gantry::cuda {
namespace {

// The oldest architecture that the kernels are written for.
constexpr int kOldestCapability = 80;
// The first compute capability with programmatic dependent launch, and the first driver whose CUDA
// graphs support it.
constexpr int kEarlyCapability = 90;
constexpr int kEarlyVersion = 12030;

// Sticky errors: the driver returns nothing but errors in this process after them.
bool is_fatal(int result) {
  constexpr std::array kFatal = {46,  214, 220, 226, 700, 702, 709, 710,
                                 714, 715, 716, 717, 718, 719, 911, 999};
  return std::find(kFatal.begin(), kFatal.end(), result) != kFatal.end();
}

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

Device::Device(const gantry_host* its_host, const Driver& its_driver, const Options& options,
               const DeviceInfo& known)
    : host(its_host),
      driver(its_driver),
      info(known),
      limit_(options.pool_bytes),
      uses_dependent_launch_(options.overlap && known.capability >= kEarlyCapability &&
                             its_driver.version() >= kEarlyVersion) {
  require(driver.context_retain(&context_, info.number), "making the context");
  try {
    set_up();
  } catch (...) {
    driver.context_release(info.number);
    throw;
  }
}

void Device::set_up() {
  const ContextScope inside(*this);
  try {
    PoolProperties properties;
    properties.device = info.number;
    require(driver.pool_create(&pool_, &properties), "making the pool of memory");
    // Freed memory stays in the pool: allocating it from the system again would cost far more than
    // a run.
    uint64_t threshold = std::numeric_limits<uint64_t>::max();
    require(driver.pool_set(pool_, kPoolReleaseThreshold, &threshold), "setting up the pool");
    require(driver.stream_create(&stream_, kNonBlockingStream), "making the pool's stream");
    staging_ = std::make_unique<Staging>(*this);
  } catch (...) {
    if (stream_) driver.stream_destroy(stream_);
    if (pool_) driver.pool_destroy(pool_);
    throw;
  }
}

Device::~Device() {
  {
    // Results are ignored: after a device was lost every call fails, and a destructor must not
    // throw.
    const ContextScope inside(*this, std::nothrow);
    staging_.reset();
    driver.stream_destroy(stream_);
    driver.pool_destroy(pool_);
  }
  driver.context_release(info.number);
}

void Device::disable_dependent_launch(int result) {
  if (!uses_dependent_launch_.exchange(false)) return;
  const std::string text = name() +
                           ": the driver launches no kernel before the one before has ended (" +
                           driver.describe(result) + "), each waits for the end of the other";
  host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
}

void Device::require(int result, const char* what) const {
  if (result == kSuccess) return;
  const std::string text = name() + ": " + what + ": " + driver.describe(result);
  if (result == kOutOfMemory) throw sdk::Error(GANTRY_OUT_OF_MEMORY, text);
  if (!is_fatal(result)) throw sdk::Error(GANTRY_DEVICE_ERROR, text);
  is_lost_ = true;
  throw sdk::Error(GANTRY_DEVICE_LOST, text);
}

void Device::require_alive() const {
  if (is_lost_) {
    throw sdk::Error(GANTRY_DEVICE_LOST,
                     name() + " was lost by an earlier failure; restart the process to use it");
  }
}

void Device::enable_peer_access(const Device& other) {
  const sdk::MutexLock lock(peers_mutex_);
  if (!peers_.insert(other.info.id).second) return;
  int can = 0;
  int result = driver.can_access_peer(&can, info.number, other.info.number);
  if (result == kSuccess && can != 0) {
    PoolAccess access;
    access.device = info.number;
    result = driver.pool_share(other.pool_, &access, 1);
  }
  if (result == kSuccess && can != 0) return;
  if (is_fatal(result)) require(result, "reaching another device");
  const std::string text =
      name() + " cannot reach the memory of " + other.name() + " (" +
      (result == kSuccess ? "the driver says that they are no peers" : driver.describe(result)) +
      "): what is copied from there goes through host memory, which is slower";
  host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
}

int Device::take(uint64_t size_bytes, Address& out_address) {
  int result = driver.pool_allocate(&out_address, size_bytes, pool_, stream_);
  // Other streams may use the memory only after the allocation has run on this stream.
  if (result == kSuccess) result = driver.stream_synchronize(stream_);
  return result;
}

void* Device::allocate(uint64_t size_bytes) {
  require_alive();
  const ContextScope inside(*this);
  // Multiples of 16: kernels change a single byte by an atomic operation on its word.
  size_bytes = (std::max<uint64_t>(size_bytes, 1) + 15) / 16 * 16;
  const sdk::MutexLock lock(mutex_);
  if (limit_ > 0 && (size_bytes > limit_ || used_ > limit_ - size_bytes)) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     name() + ": " + std::to_string(size_bytes) + " bytes are wanted and " +
                         std::to_string(used_) + " are in use, which is more than the " +
                         std::to_string(limit_) + " of the option \"pool_bytes\"");
  }
  Address address = 0;
  int result = take(size_bytes, address);
  if (result == kOutOfMemory) {
    // The pool may hold free memory in fragments that are too small. They return to the system once
    // the stream has run the frees.
    driver.stream_synchronize(stream_);
    driver.pool_trim(pool_, 0);
    result = take(size_bytes, address);
  }
  if (result == kOutOfMemory) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     name() + ": the device has no " + std::to_string(size_bytes) +
                         " bytes left; this provider uses " + std::to_string(used_) + " of its " +
                         std::to_string(info.memory_bytes));
  }
  require(result, "taking memory");
  void* memory = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  blocks_[memory] = size_bytes;
  used_ += size_bytes;
  most_ = std::max(most_, used_);
  return memory;
}

void Device::free(void* memory) noexcept {
  if (!memory) return;
  const ContextScope inside(*this, std::nothrow);
  const sdk::MutexLock lock(mutex_);
  const auto found = blocks_.find(memory);
  if (found == blocks_.end()) return;
  driver.memory_free(reinterpret_cast<uintptr_t>(memory), stream_);
  used_ -= found->second;
  blocks_.erase(found);
}

void Device::settle() {
  require_alive();
  const ContextScope inside(*this);
  require(driver.context_synchronize(), "waiting for all of its work");
}

MemoryStatistics Device::memory_statistics() const {
  const sdk::MutexLock lock(mutex_);
  MemoryStatistics memory_statistics{used_, most_, 0};
  driver.pool_get(pool_, kPoolReservedBytes, &memory_statistics.reserved);
  return memory_statistics;
}

}  // namespace gantry::cuda
