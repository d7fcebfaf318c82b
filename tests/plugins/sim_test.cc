// SPDX-License-Identifier: Apache-2.0
// The simulated accelerator through its table: memory that the host cannot touch, copies, streams
// that run late, events.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <vector>

#include "plugin/error.h"
#include "plugin/registry.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

class SimTest : public testing::Test {
 protected:
  explicit SimTest(
      const std::string& options = R"({"latency_us": 2000, "memory_bytes": 1048576})") {
    ProviderSettings settings;
    settings.options["sim"] = options;
    registry_ = std::make_unique<ProviderRegistry>(settings);
    provider_ = registry_->find({"SIM", 0})[0].provider;
    device_ = provider_->open_device(0);
  }

  [[nodiscard]] const gantry_provider_api& api() const { return provider_->api(); }
  void* allocate(uint64_t size_bytes) {
    void* memory = nullptr;
    throw_if(api().memory_allocate(device_, size_bytes, &memory));
    return memory;
  }
  gantry_stream* stream() {
    gantry_stream* made = nullptr;
    throw_if(api().stream_create(device_, &made));
    return made;
  }
  void copy(gantry_stream* to, gantry_copy_kind kind, void* target, const void* source,
            uint64_t bytes) {
    copy_rows(to, kind, target, source, 1, bytes, bytes, bytes);
  }
  void copy_rows(gantry_stream* to, gantry_copy_kind kind, void* target, const void* source,
                 uint64_t rows, uint64_t row_bytes, uint64_t target_pitch, uint64_t source_pitch) {
    const gantry_copy request = {sizeof(gantry_copy),
                                 static_cast<uint32_t>(kind),
                                 target,
                                 source,
                                 rows,
                                 row_bytes,
                                 target_pitch,
                                 source_pitch};
    throw_if(api().copy(to, &request));
  }

  std::unique_ptr<ProviderRegistry> registry_;
  std::shared_ptr<PluginProvider> provider_;
  gantry_device* device_ = nullptr;
};

TEST_F(SimTest, HasTwoDevicesOpenedOnce) {
  const std::vector<DeviceInfo> devices = registry_->devices();
  EXPECT_EQ(std::count_if(devices.begin(), devices.end(),
                          [](const DeviceInfo& row) { return row.device.type == "SIM"; }),
            2);
  EXPECT_EQ(provider_->open_device(0), device_);
  EXPECT_NE(provider_->open_device(1), device_);
}

TEST_F(SimTest, CopiesArriveLate) {
  const std::vector<int> source = {1, 2, 3, 4};
  std::vector<int> target(4, 0);
  void* memory = allocate(16);
  gantry_stream* work = stream();
  copy(work, GANTRY_COPY_HOST_TO_DEVICE, memory, source.data(), 16);
  copy(work, GANTRY_COPY_DEVICE_TO_HOST, target.data(), memory, 16);
  throw_if(api().stream_synchronize(work));
  EXPECT_EQ(target, source);
  api().stream_destroy(work);
  api().memory_free(device_, memory);
}

// Late enough that a busy machine does not take as long over queueing.
class LateSimTest : public SimTest {
 protected:
  LateSimTest() : SimTest(R"({"latency_us": 200000, "memory_bytes": 1048576})") {}
};

TEST_F(LateSimTest, QueueingDoesNotWait) {
  std::vector<char> host(64);
  void* memory = allocate(64);
  gantry_stream* work = stream();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) copy(work, GANTRY_COPY_HOST_TO_DEVICE, memory, host.data(), 64);
  const auto queued = std::chrono::steady_clock::now();
  throw_if(api().stream_synchronize(work));
  const auto done = std::chrono::steady_clock::now();
  EXPECT_GE(done - start, std::chrono::milliseconds(1000));
  EXPECT_LT(queued - start, done - queued);
  api().stream_destroy(work);
  api().memory_free(device_, memory);
}

TEST_F(SimTest, CopiesRows) {
  std::vector<uint8_t> source(12);
  std::iota(source.begin(), source.end(), uint8_t{0});
  std::vector<uint8_t> target(6, 99);
  void* memory = allocate(12);
  gantry_stream* work = stream();
  copy(work, GANTRY_COPY_HOST_TO_DEVICE, memory, source.data(), 12);
  copy_rows(work, GANTRY_COPY_DEVICE_TO_HOST, target.data(), static_cast<char*>(memory) + 1, 3, 2,
            2, 4);
  throw_if(api().stream_synchronize(work));
  EXPECT_EQ(target, (std::vector<uint8_t>{1, 2, 5, 6, 9, 10}));
  api().stream_destroy(work);
  api().memory_free(device_, memory);
}

TEST_F(SimTest, EventsOrderStreams) {
  const std::vector<int> source = {7, 8};
  std::vector<int> target(2, 0);
  void* memory = allocate(8);
  gantry_stream* first = stream();
  gantry_stream* second = stream();
  gantry_event* event = nullptr;
  throw_if(api().event_create(device_, &event));
  throw_if(api().event_synchronize(event));  // never recorded: complete
  for (int i = 0; i < 5; ++i) copy(first, GANTRY_COPY_HOST_TO_DEVICE, memory, source.data(), 8);
  throw_if(api().event_record(event, first));
  throw_if(api().event_wait(event, second));
  copy(second, GANTRY_COPY_DEVICE_TO_HOST, target.data(), memory, 8);
  throw_if(api().stream_synchronize(second));
  EXPECT_EQ(target, source);
  throw_if(api().event_synchronize(event));
  api().event_destroy(event);
  api().stream_destroy(second);
  api().stream_destroy(first);
  api().memory_free(device_, memory);
}

TEST_F(SimTest, OutOfMemoryIsAnErrorAndFreeingHelps) {
  void* memory = nullptr;
  gantry_error* error = api().memory_allocate(device_, uint64_t{2} << 20, &memory);
  EXPECT_EQ(code_of(error), Code::kOutOfMemory);
  release_error(error);
  error = api().memory_allocate(device_, UINT64_MAX, &memory);
  EXPECT_EQ(code_of(error), Code::kOutOfMemory);
  release_error(error);
  std::vector<void*> blocks;
  blocks.reserve(16);
  for (int i = 0; i < 16; ++i) blocks.push_back(allocate(65536));
  error = api().memory_allocate(device_, 1, &memory);
  EXPECT_EQ(code_of(error), Code::kOutOfMemory);
  release_error(error);
  api().memory_free(device_, blocks[3]);
  blocks[3] = allocate(65536);
  for (void* block : blocks) api().memory_free(device_, block);
}

TEST_F(SimTest, WrongAddressesAreReportedWhereWorkIsAwaited) {
  std::vector<char> host(64);
  void* memory = allocate(256);
  gantry_stream* work = stream();
  copy(work, GANTRY_COPY_HOST_TO_DEVICE, host.data(), host.data(), 64);
  test::expect_error(Code::kDeviceError, {"copy, target"},
                     [&] { throw_if(api().stream_synchronize(work)); });
  throw_if(api().stream_synchronize(work));
  copy(work, GANTRY_COPY_HOST_TO_DEVICE, memory, memory, 64);
  test::expect_error(Code::kDeviceError, {"copy, source", "host memory"},
                     [&] { throw_if(api().stream_synchronize(work)); });
  copy(work, GANTRY_COPY_WITHIN_DEVICE, memory, static_cast<char*>(memory) + 250, 64);
  test::expect_error(Code::kDeviceError, {"copy, source"},
                     [&] { throw_if(api().stream_synchronize(work)); });
  api().stream_destroy(work);
  api().memory_free(device_, memory);
}

using SimDeathTest = SimTest;

TEST_F(SimDeathTest, TheHostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        volatile char* memory = static_cast<char*>(allocate(64));
        memory[0] = 1;
      },
      "");
}

}  // namespace
}  // namespace gantry
