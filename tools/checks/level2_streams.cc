// SPDX-License-Identifier: Apache-2.0
// Level 2, second part: the order of work on streams, and events between them.
#include <gantry/peer_copies.h>

#include <string_view>
#include <utility>

#include "device_copies.h"
#include "levels.h"
#include "open_provider.h"

namespace gantry::checks {
namespace {

constexpr uint64_t kSize = 1 << 18;

// An event that is destroyed with the object.
class TestEvent {
 public:
  explicit TestEvent(const OpenDevice& device) : api_(device.api()) {
    expect_ok(api_.event_create(device.get(), &event_), "event_create");
  }
  ~TestEvent() { api_.event_destroy(event_); }
  TestEvent(const TestEvent&) = delete;
  TestEvent& operator=(const TestEvent&) = delete;
  [[nodiscard]] gantry_event* get() const { return event_; }

 private:
  const gantry_provider_api& api_;
  gantry_event* event_ = nullptr;
};

TestDevice device_with_streams(const OpenProvider& provider) {
  TestDevice device = provider.device();
  if (device.has_host_memory())
    throw Skip(device.label() + " works in host memory: it has no streams");
  return device;
}

void keeps_the_order(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_streams(provider).index);
  const std::vector<char> first = pattern(kSize, 1);
  const std::vector<char> second = pattern(kSize, 2);
  std::vector<char> received(kSize);
  const DeviceCopies copies(device, kSize);
  copies.copy(GANTRY_COPY_HOST_TO_DEVICE, copies.block(0), first.data(), kSize);
  copies.copy(GANTRY_COPY_WITHIN_DEVICE, copies.block(1), copies.block(0), kSize);
  copies.copy(GANTRY_COPY_HOST_TO_DEVICE, copies.block(0), second.data(), kSize);
  copies.copy(GANTRY_COPY_DEVICE_TO_HOST, received.data(), copies.block(1), kSize);
  copies.synchronize();
  expect(received == first,
         "stream: expected work to complete in the order it was given, found a later copy before "
         "an earlier one",
         "run the work of one stream in order");
}

void waits_across_streams(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_streams(provider).index);
  const gantry_provider_api& api = device.api();
  std::vector<char> sent;
  std::vector<char> received(kSize);
  const TestEvent event(device);
  const DeviceCopies one(device, kSize);
  const DeviceCopies other(device, kSize);
  for (uint32_t round = 1; round <= 20; ++round) {  // an event is used many times
    sent = pattern(kSize, round);
    one.copy(GANTRY_COPY_HOST_TO_DEVICE, one.block(0), sent.data(), kSize);
    expect_ok(api.event_record(event.get(), one.stream()), "event_record");
    expect_ok(api.event_wait(event.get(), other.stream()), "event_wait");
    other.copy(GANTRY_COPY_DEVICE_TO_HOST, received.data(), one.block(0), kSize);
    other.synchronize();
    expect(received == sent,
           "event_wait: expected later work of the waiting stream to come after the event, found "
           "older bytes in round " +
               std::to_string(round),
           "make the stream wait for what was recorded, also when the event is recorded again");
    one.synchronize();
  }
}

void tells_completion(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_streams(provider).index);
  const gantry_provider_api& api = device.api();
  const std::vector<char> sent = pattern(kSize, 3);
  std::vector<char> received(kSize);
  const TestEvent event(device);
  const DeviceCopies copies(device, kSize);
  copies.copy(GANTRY_COPY_HOST_TO_DEVICE, copies.block(0), sent.data(), kSize);
  copies.copy(GANTRY_COPY_DEVICE_TO_HOST, received.data(), copies.block(0), kSize);
  expect_ok(api.event_record(event.get(), copies.stream()), "event_record");
  expect_ok(api.event_synchronize(event.get()), "event_synchronize");
  expect(received == sent,
         "event_synchronize: expected the work before the event to be complete, found that it is "
         "not",
         "wait until the event's work is done, not until it was handed over");
  if (!api.event_query) return;
  uint32_t is_complete = 0;
  expect_ok(api.event_query(event.get(), &is_complete), "event_query");
  expect(is_complete == 1,
         "event_query: expected 1 for an event that was waited for, found " +
             std::to_string(is_complete),
         "answer 1 once the event's work is done");
}

const gantry_peer_copies* peers_of(const gantry_provider_api& api) {
  constexpr std::string_view kKind = GANTRY_PEER_COPIES;
  if (!api.native_handle) return nullptr;
  return static_cast<const gantry_peer_copies*>(
      api.native_handle(nullptr, nullptr, {kKind.data(), kKind.size()}));
}

// A second device that is ready and has its own memory.
TestDevice another_device(const OpenProvider& provider, const TestDevice& first) {
  for (TestDevice& device : provider.devices()) {
    if (device.index != first.index && device.state == GANTRY_DEVICE_READY &&
        !device.has_host_memory())
      return std::move(device);
  }
  throw Skip("beside " + first.label() + " no device with memory of its own is ready");
}

void copies_between_devices(const Subject& subject) {
  const OpenProvider provider(subject);
  const TestDevice known = device_with_streams(provider);
  const gantry_peer_copies* peers = peers_of(provider.api());
  if (!peers) throw Skip("the provider has no extension " GANTRY_PEER_COPIES);
  const TestDevice known_other = another_device(provider, known);
  const OpenDevice device(provider, known.index);
  const OpenDevice other(provider, known_other.index);
  std::vector<char> sent;
  std::vector<char> received(kSize);
  const DeviceCopies here(device, kSize);
  const DeviceCopies there(other, kSize);
  for (uint32_t round = 1; round <= 20; ++round) {
    sent = pattern(kSize, round);
    here.copy(GANTRY_COPY_HOST_TO_DEVICE, here.block(0), sent.data(), kSize);
    here.copy(GANTRY_COPY_WITHIN_DEVICE, here.block(1), here.block(0), kSize);
    expect_ok(peers->copy(there.stream(), here.stream(), there.block(0), here.block(1), kSize),
              "copy of " GANTRY_PEER_COPIES);
    there.copy(GANTRY_COPY_DEVICE_TO_HOST, received.data(), there.block(0), kSize);
    there.synchronize();
    expect(received == sent,
           GANTRY_PEER_COPIES
               ": expected the bytes that the other device's stream wrote before, found "
               "others in round " +
               std::to_string(round),
           "let the stream wait for what the other stream was given so far, then copy all bytes");
    here.synchronize();
  }
}

void accepts_null(const Subject& subject) {
  const OpenProvider provider(subject);
  const OpenDevice device(provider, device_with_streams(provider).index);
  device.api().stream_destroy(nullptr);
  device.api().event_destroy(nullptr);
  if (device.api().capture_destroy) device.api().capture_destroy(nullptr);
}

}  // namespace

void add_stream_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, const char* duty, void (*run)(const Subject&)) {
    checks.push_back({2, name, duty, [run, &subject] { run(subject); }});
  };
  add("streams.keep-the-order", "P12", keeps_the_order);
  add("events.wait-across-streams", "P12", waits_across_streams);
  add("events.tell-completion", "P12", tells_completion);
  add("copies.go-between-devices", "P12", copies_between_devices);
  add("destroy.accepts-null", "P6", accepts_null);
}

}  // namespace gantry::checks
