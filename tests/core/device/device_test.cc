// SPDX-License-Identifier: Apache-2.0
#include <gantry/device.h>

#include <string>

#include "support/expect_error.h"

namespace gantry {
namespace {

struct Good {
  const char* text;
  const char* type;
  uint32_t id;
};

TEST(Device, ParsesTheGrammar) {
  const Good cases[] = {
      {"CPU", "CPU", 0},
      {"CPU:0", "CPU", 0},
      {"CUDA:1", "CUDA", 1},
      {"CUDA:15", "CUDA", 15},
      {"my_npu2:3", "my_npu2", 3},
      {"7X", "7X", 0},
      {"A:4294967295", "A", 4294967295U},
      {"A:007", "A", 7},
  };
  for (const Good& good : cases) {
    const Device device = Device::parse(good.text);
    EXPECT_EQ(device.type, good.type) << good.text;
    EXPECT_EQ(device.id, good.id) << good.text;
    EXPECT_EQ(Device::parse(device.to_string()), device) << good.text;
  }
}

TEST(Device, RefusesEverythingElse) {
  const std::string cases[] = {
      "",
      ":",
      ":0",
      "CPU:",
      "CPU:x",
      "CPU:-1",
      "CPU:+1",
      "CPU: 1",
      " CPU",
      "CPU ",
      "CPU:0 ",
      "CPU:0:1",
      "CPU-0",
      "CPU:4294967296",
      "CPU:1.0",
      "CUDA:0x1",
      "C\u00DCDA",
      "CPU\n",
      std::string("CPU\0", 4),
      std::string(65, 'A'),
      "CPU:99999999999999999999",
      "CPU:1e1",
  };
  for (const std::string& text : cases) {
    SCOPED_TRACE(text);
    test::expect_error(Code::kInvalidArgument, {"device \"", "expected TYPE or TYPE:id"},
                       [&] { Device::parse(text); });
  }
}

TEST(Device, SaysWhatWasFound) {
  test::expect_error(Code::kInvalidArgument, {"\"CUDA:x\"", "the id \"x\""},
                     [] { Device::parse("CUDA:x"); });
  test::expect_error(Code::kInvalidArgument, {"the type \"C PU\""}, [] { Device::parse("C PU"); });
  test::expect_error(Code::kInvalidArgument, {"no id after ':'"}, [] { Device::parse("CPU:"); });
}

TEST(Device, OrdersByTypeThenId) {
  EXPECT_LT((Device{"CPU", 1}), (Device{"CUDA", 0}));
  EXPECT_LT((Device{"CPU", 1}), (Device{"CPU", 2}));
}

}  // namespace
}  // namespace gantry
