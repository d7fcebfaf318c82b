// SPDX-License-Identifier: Apache-2.0
#include "memory/device_table.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/working_provider.h"

namespace gantry {
namespace {

using test::expect_error;
using test::WorkingProvider;

class DeviceTableTest : public testing::Test {
 protected:
  DeviceTableTest() : registry_({}, SearchEnvironment{}) {
    WorkingProvider::reset();
    WorkingProvider::offers_captures = true;
    WorkingProvider::add_to(registry_);
  }

  uint32_t space_of(const std::string& name) {
    const Device device = Device::parse(name);
    return table_.space_of(device, registry_.find(device));
  }

  ProviderRegistry registry_;
  DeviceTable table_;
};

TEST_F(DeviceTableTest, SpaceZeroIsHostMemoryAndServesDevicesThatWorkInIt) {
  EXPECT_EQ(table_.space_count(), 1U);
  EXPECT_EQ(space_of("HST:0"), 0U);
  EXPECT_EQ(table_.space(0).name(), "host memory");
  EXPECT_EQ(table_.space(0).api, nullptr);
}

TEST_F(DeviceTableTest, ADeviceIsOpenedOnceAndHasASpaceOfItsOwn) {
  EXPECT_EQ(space_of("MEM:1"), 1U);
  EXPECT_EQ(space_of("MEM:0"), 2U);
  EXPECT_EQ(space_of("MEM:1"), 1U);
  EXPECT_EQ(table_.space_count(), 3U);
  EXPECT_EQ(table_.device(1), (Device{"MEM", 1}));
  EXPECT_EQ(table_.space(1).name(), "MEM:1");
  EXPECT_NE(table_.space(1).device, table_.space(2).device);
}

TEST_F(DeviceTableTest, OnlyADeviceThatSaysSoCanCapture) {
  space_of("MEM:0");
  space_of("MEM:1");
  EXPECT_FALSE(table_.can_capture(0));
  EXPECT_TRUE(table_.can_capture(1));
  EXPECT_FALSE(table_.can_capture(2));
}

TEST_F(DeviceTableTest, WithoutTheExtensionNothingIsCopiedBetweenDevices) {
  space_of("MEM:0");
  space_of("MEM:1");
  EXPECT_FALSE(table_.can_copy_between(1, 2));
  EXPECT_FALSE(table_.can_copy_between(0, 1));
}

TEST_F(DeviceTableTest, ABlockedDeviceIsNamed) {
  space_of("MEM:0");
  table_.require_good();
  table_.space(1).health()->block(DeviceHealth::State::kHung, "it did not answer");
  EXPECT_TRUE(table_.is_hung());
  expect_error(Code::kDeviceLost, {"MEM:0", "it did not answer"}, [&] { table_.require_good(); });
}

TEST_F(DeviceTableTest, SharedMemoryIsAnAreaOfHostMemory) {
  const std::shared_ptr<SharedArena> first = SharedArena::create();
  const std::shared_ptr<SharedArena> second = SharedArena::create();
  EXPECT_EQ(table_.shared_region_of(first), 1U);
  EXPECT_EQ(table_.shared_region_of(second), 2U);
  EXPECT_EQ(table_.shared_region_of(first), 1U);
  EXPECT_EQ(table_.shared_region(2).shared(), second);
  EXPECT_EQ(table_.space_count(), 1U);
}

}  // namespace
}  // namespace gantry
