// SPDX-License-Identifier: Apache-2.0
// Level 2, first part: the devices that the provider reports, their memory, and copies.
#include <algorithm>
#include <cstring>
#include <set>

#include "device_copies.h"
#include "levels.h"
#include "open_provider.h"

namespace gantry::checks {
namespace {

constexpr const char* kSeeDevices = "see gantry_device_info in section 5 of provider.h";

void reports_devices(const Subject& subject) {
  const OpenProvider provider(subject);
  std::set<std::string> labels;
  const auto& types = provider.described().types;
  for (const TestDevice& device : provider.devices()) {
    expect(std::find(types.begin(), types.end(), device.type) != types.end(),
           "devices: expected the types of the manifest's /devices, found \"" + device.type + "\"",
           "list the type in the manifest, or report another one");
    expect(labels.insert(device.label()).second,
           "devices: expected each id of a type once, found " + device.label() + " twice",
           "count ids of a type from 0");
    expect(device.state <= GANTRY_DEVICE_BLOCKED,
           "devices: expected a gantry_device_state for " + device.label() + ", found " +
               std::to_string(device.state),
           kSeeDevices);
    expect(device.state == GANTRY_DEVICE_READY || !device.reason.empty(),
           "devices: expected a reason why " + device.label() + " is not ready, found none",
           "say in gantry_device_info.reason what the user can do something about");
    expect(!device.name.empty(), "devices: expected a name for " + device.label() + ", found none",
           "set gantry_device_info.name to what the hardware is called");
    expect((device.flags & GANTRY_DEVICE_CAPTURE) == 0 ||
               (provider.api().capture_begin && provider.api().capture_end &&
                provider.api().capture_launch && provider.api().capture_destroy),
           "devices: " + device.label() + " has GANTRY_DEVICE_CAPTURE, and a capture slot is null",
           "fill the four capture slots, or leave the flag out");
  }
}

void reports_the_same(const Subject& subject) {
  const OpenProvider provider(subject);
  const std::vector<TestDevice> first = provider.devices();
  expect(first == provider.devices(),
         "devices: expected the same answer to the same question, found another one",
         "report devices in a fixed order; hosts keep the index");
}

// A named device that is not ready is a failure, not a reason to skip its checks.
void has_the_named_one(const Subject& subject) {
  const OpenProvider provider(subject);
  try {
    static_cast<void>(provider.device());
  } catch (const Skip& skip) {
    throw Failure("--device " + subject.device + ": " + skip.what(),
                  "mend what the device's reason says, or leave --device out");
  }
}

// The device under test. Throws Skip if it uses host memory or none is ready.
TestDevice device_with_memory(const OpenProvider& provider) {
  TestDevice device = provider.device();
  if (device.has_host_memory())
    throw Skip(device.label() + " works in host memory: it has no memory slots");
  return device;
}

void opens_and_closes(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestDevice device = device_with_memory(provider);
  for (int i = 0; i < 2; ++i) const OpenDevice opened(provider, device.index);
  provider.api().device_close(nullptr);
}

void allocates(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_memory(provider).index);
  const gantry_provider_api& api = device.api();
  std::set<void*> blocks;
  for (const uint64_t size : {uint64_t{1}, uint64_t{63}, uint64_t{4096}, uint64_t{1} << 22}) {
    void* memory = nullptr;
    expect_ok(api.memory_allocate(device.get(), size, &memory),
              "memory_allocate of " + std::to_string(size) + " bytes");
    expect(
        memory != nullptr && blocks.insert(memory).second,
        "memory_allocate: expected an address of its own for each block, found null or one twice",
        "give every block that is alive another address");
    expect(reinterpret_cast<uintptr_t>(memory) % 64 == 0,
           "memory_allocate: expected blocks aligned to 64 bytes, found one that is not",
           "align device memory to 64 bytes");
  }
  for (void* memory : blocks) api.memory_free(device.get(), memory);
  api.memory_free(device.get(), nullptr);
}

void refuses_too_much(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_memory(provider).index);
  constexpr uint64_t kMoreThanThereIs = uint64_t{1} << 60;
  void* memory = nullptr;
  const std::string error =
      take_error(device.api().memory_allocate(device.get(), kMoreThanThereIs, &memory));
  expect(error.rfind("OUT_OF_MEMORY: ", 0) == 0,
         "memory_allocate of 2^60 bytes: expected OUT_OF_MEMORY, found " +
             (error.empty() ? "success" : error),
         "map the driver's error to GANTRY_OUT_OF_MEMORY, which hosts answer by freeing memory");
  expect_ok(device.api().memory_allocate(device.get(), 4096, &memory),
            "memory_allocate of 4096 bytes after one that was refused");
  device.api().memory_free(device.get(), memory);
}

void copies_come_back(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_memory(provider).index);
  for (const uint64_t size : {uint64_t{1}, uint64_t{3}, uint64_t{4097}, uint64_t{1} << 20}) {
    const std::vector<char> sent = pattern(size, 1);
    std::vector<char> received(size);
    const DeviceCopies copies(device, size);
    copies.copy(GANTRY_COPY_HOST_TO_DEVICE, copies.block(0), sent.data(), size);
    copies.copy(GANTRY_COPY_WITHIN_DEVICE, copies.block(1), copies.block(0), size);
    copies.copy(GANTRY_COPY_DEVICE_TO_HOST, received.data(), copies.block(1), size);
    copies.synchronize();
    expect(sent == received,
           "copy: expected " + std::to_string(size) +
               " bytes to come back from the device unchanged, found others",
           "copy row_bytes bytes of each row, in the order of the stream");
  }
}

void copies_rows(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_memory(provider).index);
  constexpr uint64_t kRows = 5;
  constexpr uint64_t kRow = 7;
  constexpr uint64_t kSourcePitch = 11;
  constexpr uint64_t kTargetPitch = 16;
  const std::vector<char> sent = pattern(kRows * kTargetPitch, 1);
  std::vector<char> received(kRows * kTargetPitch, 'x');
  std::vector<char> found(received.size());
  const DeviceCopies copies(device, kRows * kTargetPitch);
  std::vector<char> expected = received;
  for (uint64_t row = 0; row < kRows; ++row)
    std::memcpy(&expected[row * kTargetPitch], &sent[row * kSourcePitch], kRow);
  gantry_copy copy =
      plain_copy(GANTRY_COPY_HOST_TO_DEVICE, copies.block(0), received.data(), received.size());
  copies.enqueue(copy);  // the bytes between rows, which must not change
  copy.source = sent.data();
  copy.rows = kRows;
  copy.row_bytes = kRow;
  copy.source_pitch = kSourcePitch;
  copy.target_pitch = kTargetPitch;
  copies.enqueue(copy);
  copies.copy(GANTRY_COPY_DEVICE_TO_HOST, found.data(), copies.block(0), found.size());
  copies.synchronize();
  expect(found == expected,
         "copy of 5 rows of 7 bytes, 11 apart in the source and 16 in the target: expected those "
         "bytes and nothing between them to change, found otherwise",
         "honour rows, row_bytes, source_pitch and target_pitch");
}

}  // namespace

void add_device_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, const char* duty, void (*run)(const Subject&)) {
    checks.push_back({2, name, duty, [run, &subject] { run(subject); }});
  };
  add("devices.are-described", "P8", reports_devices);
  add("devices.are-the-same-again", "P8", reports_the_same);
  if (!subject.device.empty()) add("devices.named-one-is-ready", "P8", has_the_named_one);
  add("devices.open-and-close", "P9", opens_and_closes);
  add("memory.is-allocated", "P10", allocates);
  add("memory.too-much-is-refused", "P10", refuses_too_much);
  add("copies.come-back", "P11", copies_come_back);
  add("copies.have-rows", "P11", copies_rows);
}

}  // namespace gantry::checks
