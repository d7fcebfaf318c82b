// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <tuple>

namespace gantry::cuda {
namespace {

// The oldest architecture that the kernels are written for.
constexpr int kOldestCapability = 80;
// The first whose kernels may begin early, and the first driver whose graphs know of that.
constexpr int kEarlyCapability = 90;
constexpr int kEarlyVersion = 12030;

// Results after which the driver answers nothing but errors in this process.
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

// What a library holds on a device whose driver has ended: never given back, and not lost either,
// so that who looks for lost memory at the end of a process finds none.
template <class Library>
void leave(std::unique_ptr<Library> library) {
  static std::mutex mutex;
  static auto* const left = new std::vector<std::unique_ptr<Library>>;
  const std::lock_guard<std::mutex> lock(mutex);
  left->push_back(std::move(library));
}

class Finder {
 public:
  explicit Finder(const Driver& driver) : driver_(driver) {}

  std::vector<DeviceFacts> run() {
    int count = 0;
    require(driver_.device_count(&count), "counting the devices");
    for (int i = 0; i < count; ++i) add(i);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.place < b.place; });
    std::vector<DeviceFacts> devices;
    for (Found& found : found_) {
      found.facts.id = static_cast<uint32_t>(devices.size());
      devices.push_back(std::move(found.facts));
    }
    return devices;
  }

 private:
  struct Found {
    std::tuple<int, int, int> place;  // domain, bus and device of the PCI address
    DeviceFacts facts;
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
    DeviceFacts facts;
    require(driver_.device_get(&facts.number, index), "asking for a device");
    std::array<char, 256> name{};
    require(driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, facts.number),
            "asking for a device's name");
    facts.name = name.data();
    size_t bytes = 0;
    require(driver_.device_memory(&bytes, facts.number), "asking for a device's memory");
    facts.memory_bytes = bytes;
    std::array<char, 16> uuid{};
    require(driver_.device_uuid(uuid.data(), facts.number), "asking for a device's UUID");
    facts.uuid = uuid_text(uuid);
    const std::tuple place{attribute(kPciDomain, facts.number), attribute(kPciBus, facts.number),
                           attribute(kPciDevice, facts.number)};
    std::array<char, 32> pci{};
    std::snprintf(
        pci.data(), pci.size(), "%04x:%02x:%02x.0", static_cast<unsigned>(std::get<0>(place)),
        static_cast<unsigned>(std::get<1>(place)), static_cast<unsigned>(std::get<2>(place)));
    facts.pci = pci.data();
    facts.multiprocessors = attribute(kMultiprocessorCount, facts.number);
    facts.cache_bytes = static_cast<uint64_t>(attribute(kCacheBytes, facts.number));
    facts.capability =
        10 * attribute(kCapabilityMajor, facts.number) + attribute(kCapabilityMinor, facts.number);
    if (facts.capability < kOldestCapability) {
      facts.reason = "its compute capability is " + std::to_string(facts.capability / 10) + "." +
                     std::to_string(facts.capability % 10) + ", needed is 8.0 or newer";
    } else if (attribute(kHasMemoryPools, facts.number) == 0) {
      facts.reason = "its driver offers no pools of memory, as that of some virtual GPUs";
    }
    found_.push_back({place, std::move(facts)});
  }

  const Driver& driver_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<DeviceFacts> find_devices(const Driver& driver) { return Finder(driver).run(); }

Device::Device(const Services& services, const DeviceFacts& known)
    : host(services.host),
      driver(services.driver),
      facts(known),
      services_(services),
      limit_(services.options.pool_bytes),
      choices_(known.name, services.options.cache),
      begins_early_(services.options.overlap && known.capability >= kEarlyCapability &&
                    services.driver.version() >= kEarlyVersion) {
  require(driver.context_retain(&context_, facts.number), "making the context");
  try {
    set_up(services.queue);
  } catch (...) {
    driver.context_release(facts.number);
    throw;
  }
}

void Device::set_up(CompileQueue& queue) {
  const ContextScope inside(*this);
  try {
    PoolProperties properties;
    properties.device = facts.number;
    require(driver.pool_create(&pool_, &properties), "making the pool of memory");
    // What is given back stays in the pool: taking it from the system again would cost far more
    // than a run.
    uint64_t threshold = std::numeric_limits<uint64_t>::max();
    require(driver.pool_set(pool_, kPoolReleaseThreshold, &threshold), "setting up the pool");
    require(driver.stream_create(&stream_, kNonBlockingStream), "making the pool's stream");
    staging_ = std::make_unique<Staging>(*this);
    programs_ = std::make_unique<LoadedPrograms>(*this, queue);
  } catch (...) {
    if (stream_) driver.stream_destroy(stream_);
    if (pool_) driver.pool_destroy(pool_);
    throw;
  }
}

Device::~Device() {
  {
    // Of a lost device the driver's answers tell nothing new, and destroying cannot fail.
    const ContextScope inside(*this, std::nothrow);
    if (inside.result() == kDeinitialized) {
      // The process ends and the driver has ended before it; libraries that are asked to give back
      // what they hold on the device would fall over it.
      leave(std::move(dnn_));
      leave(std::move(blas_));
    }
    dnn_.reset();
    blas_.reset();
    programs_.reset();
    staging_.reset();
    driver.stream_destroy(stream_);
    driver.pool_destroy(pool_);
  }
  driver.context_release(facts.number);
}

void Device::never_begin_early(int result) {
  if (!begins_early_.exchange(false)) return;
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

void Device::reach(const Device& other) {
  const std::lock_guard<std::mutex> lock(reach_mutex_);
  if (!reached_.insert(other.facts.id).second) return;
  int can = 0;
  int result = driver.can_access_peer(&can, facts.number, other.facts.number);
  if (result == kSuccess && can != 0) {
    PoolAccess access;
    access.device = facts.number;
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

Blas* Device::blas() {
  if (services_.options.own_kernels) return nullptr;
  std::call_once(blas_once_, [&] {
    blas_ = std::make_unique<Blas>(*this, services_.search, services_.options.cache);
    if (blas_->is_usable()) return;
    const std::string text = name() +
                             ": products go to the provider's own kernels, which are far "
                             "slower: " +
                             blas_->reason();
    host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
  });
  return blas_->is_usable() ? blas_.get() : nullptr;
}

Dnn* Device::dnn() {
  if (services_.options.own_kernels) return nullptr;
  std::call_once(dnn_once_, [&] {
    dnn_ = std::make_unique<Dnn>(*this, services_.search, services_.options.cache);
    if (dnn_->is_usable()) return;
    const std::string text = name() +
                             ": convolutions go to the provider's own kernels, which are far "
                             "slower: " +
                             dnn_->reason();
    host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
  });
  return dnn_->is_usable() ? dnn_.get() : nullptr;
}

int Device::take(uint64_t size_bytes, Address& out_address) {
  int result = driver.pool_allocate(&out_address, size_bytes, pool_, stream_);
  // The memory can be used on any stream only when this one has come to where it was taken.
  if (result == kSuccess) result = driver.stream_synchronize(stream_);
  return result;
}

void* Device::allocate(uint64_t size_bytes) {
  require_alive();
  const ContextScope inside(*this);
  // Whole words: kernels change single bytes by the word in which they lie.
  size_bytes = (std::max<uint64_t>(size_bytes, 1) + 15) / 16 * 16;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (limit_ > 0 && (size_bytes > limit_ || used_ > limit_ - size_bytes)) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     name() + ": " + std::to_string(size_bytes) + " bytes are wanted and " +
                         std::to_string(used_) + " are in use, which is more than the " +
                         std::to_string(limit_) + " of the option \"pool_bytes\"");
  }
  Address address = 0;
  int result = take(size_bytes, address);
  if (result == kOutOfMemory) {
    // What the pool holds and nobody uses may be in pieces that do not fit. It goes back to the
    // system when the stream has come to where it was given back.
    driver.stream_synchronize(stream_);
    driver.pool_trim(pool_, 0);
    result = take(size_bytes, address);
  }
  if (result == kOutOfMemory) {
    throw sdk::Error(GANTRY_OUT_OF_MEMORY,
                     name() + ": the device has no " + std::to_string(size_bytes) +
                         " bytes left; this provider uses " + std::to_string(used_) + " of its " +
                         std::to_string(facts.memory_bytes));
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
  const std::lock_guard<std::mutex> lock(mutex_);
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

MemoryFigures Device::figures() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  MemoryFigures figures{used_, most_, 0};
  driver.pool_get(pool_, kPoolReservedBytes, &figures.reserved);
  return figures;
}

}  // namespace gantry::cuda
