// SPDX-License-Identifier: Apache-2.0
// A provider that is broken in one way, chosen when it is compiled: GANTRY_FAKE is one of the names
// below. Against the C header alone, as a provider of another language would be.
#include <gantry/provider.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#define GOOD 0
#define NO_SYMBOL 1
#define NO_NOTE 2
#define OTHER_LAYOUT 3
#define OTHER_MAJOR 4
#define SANITIZED 5
#define THROWS 6
#define RETURNS_ERROR 7
#define NULL_TABLE 8
#define NULL_SLOT 9
#define SHORT_TABLE 10
#define LAYOUT_LIES 11
#define NEWER_MINOR 12
#define ZERO_DEVICES 13
#define FOREIGN_TYPE 14
#define SAME_ID_TWICE 15
#define THROWS_LATER 16
#define NO_MEMORY_SLOTS 17
#define UNDEFINED_SYMBOL 18
#define ABSENT_DEVICE 19
#define LARGER_TABLE 20
#define OLDER_TABLE 21
#define NEWER_NOTE 22
#define GARBAGE_VERSION 23
#define OWN_MEMORY 24
#define CRASH_INIT 25
#define HANG_INIT 26
#define CRASH_ENTRY 27
#define CRASH_EXIT 28
#define THREAD_ALIVE 29
#define LEAKS 30
#define NEEDS_LIBRARY 31
#define CRASH_DEVICES 32

#if GANTRY_FAKE == OTHER_LAYOUT || GANTRY_FAKE == OTHER_MAJOR || GANTRY_FAKE == SANITIZED || \
    GANTRY_FAKE == NEWER_NOTE
__attribute__((section(".note.gantry"), used, aligned(4))) static const gantry_note kFakeNote = {
    7,
    sizeof(gantry_note) - offsetof(gantry_note, major),
    1,
    "gantry",
    GANTRY_FAKE == OTHER_MAJOR ? 2 : GANTRY_ABI_MAJOR,
    GANTRY_FAKE == OTHER_LAYOUT ? ~GANTRY_ABI_LAYOUT : GANTRY_ABI_LAYOUT,
    GANTRY_FAKE == NEWER_NOTE ? GANTRY_ABI_MINOR + 1 : GANTRY_ABI_MINOR,
    GANTRY_FAKE == SANITIZED ? 2 - GANTRY_SANITIZER / 2 : GANTRY_SANITIZER};
#elif GANTRY_FAKE != NO_NOTE
GANTRY_PROVIDER_NOTE
#endif

#if GANTRY_FAKE == UNDEFINED_SYMBOL
extern "C" void gantry_fake_symbol_that_nobody_defines();
#endif

#if GANTRY_FAKE == NEEDS_LIBRARY
extern "C" int gantry_fake_dependency();
#endif

// How often the provider was made and destroyed: read by the tests, and by the thread that goes on.
extern "C" {
GANTRY_EXPORT std::atomic<int> gantry_fake_entered = 0;
GANTRY_EXPORT std::atomic<int> gantry_fake_destroyed = 0;
GANTRY_EXPORT std::atomic<int> gantry_fake_late_calls = 0;
}

namespace {

// As a provider of a later minor version has it.
struct Table {
  gantry_provider_api api;
  void (*later_slot)();
};
Table table = {};
const gantry_host* host = nullptr;

#if GANTRY_FAKE == CRASH_INIT
const int kCrashed = [] {
  std::fprintf(stderr, "the fake driver gives up\nwhile it starts\n");
  std::abort();
  return 0;
}();
#elif GANTRY_FAKE == HANG_INIT
const int kHung = [] {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  return 0;
}();
#elif GANTRY_FAKE == CRASH_EXIT
struct CrashAtExit {
  ~CrashAtExit() { std::abort(); }
} crash_at_exit;
#elif GANTRY_FAKE == THREAD_ALIVE
// Goes on calling the host after destroy, against the rules.
void call_on() {
  for (int i = 0; i < 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    host->release(nullptr);
    host->error_release(host->error_create(GANTRY_INTERNAL, {"late", 4}));
    host->value_release(nullptr);
    if (gantry_fake_destroyed > 0) ++gantry_fake_late_calls;
  }
}
#endif

gantry_str text(const char* characters) { return {characters, std::strlen(characters)}; }

[[maybe_unused]] void report(const gantry_device_sink* sink, const char* type, uint32_t id,
                             uint32_t state, uint32_t flags) {
  gantry_device_info info = {};
  info.size = sizeof(info);
  info.state = state;
  info.type = text(type);
  info.id = id;
  info.flags = flags;
  info.name = text("fake device");
  if (state != GANTRY_DEVICE_READY) info.reason = text("the fake cable is not plugged in");
  sink->device(sink->self, &info);
}

gantry_error* devices(gantry_provider*, [[maybe_unused]] const gantry_device_sink* sink) {
#if GANTRY_FAKE == THROWS_LATER
  throw std::runtime_error("thrown while enumerating");
#elif GANTRY_FAKE == CRASH_DEVICES
  std::abort();
#elif GANTRY_FAKE == FOREIGN_TYPE
  report(sink, "OTHER", 0, GANTRY_DEVICE_READY, GANTRY_DEVICE_HOST_MEMORY);
#elif GANTRY_FAKE == SAME_ID_TWICE
  report(sink, "FAKE", 0, GANTRY_DEVICE_READY, GANTRY_DEVICE_HOST_MEMORY);
  report(sink, "FAKE", 0, GANTRY_DEVICE_READY, GANTRY_DEVICE_HOST_MEMORY);
#elif GANTRY_FAKE == NO_MEMORY_SLOTS || GANTRY_FAKE == OWN_MEMORY
  report(sink, "FAKE", 0, GANTRY_DEVICE_READY, 0);
#elif GANTRY_FAKE == ABSENT_DEVICE
  report(sink, "FAKE", 0, GANTRY_DEVICE_ABSENT, 0);
#elif GANTRY_FAKE != ZERO_DEVICES
  report(sink, "FAKE", 0, GANTRY_DEVICE_READY, GANTRY_DEVICE_HOST_MEMORY);
#endif
  return nullptr;
}

gantry_error* claim(gantry_provider*, const gantry_claim_request*) { return nullptr; }

gantry_error* compile(gantry_provider*, const gantry_compile*, gantry_kernel*) {
  return host->error_create(GANTRY_INTERNAL, text("nothing was claimed"));
}

void destroy(gantry_provider*) { ++gantry_fake_destroyed; }

}  // namespace

#if GANTRY_FAKE == NO_SYMBOL
extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v0(const gantry_offer* offer,
                                                          gantry_accept* accept) {
#else
extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer,
                                                          gantry_accept* accept) {
#endif
  ++gantry_fake_entered;
  host = offer->host;
#if GANTRY_FAKE == THROWS
  throw std::runtime_error("thrown in the entry");
#elif GANTRY_FAKE == RETURNS_ERROR
  return host->error_create(GANTRY_UNAVAILABLE, text("the fake driver is too old"));
#elif GANTRY_FAKE == UNDEFINED_SYMBOL
gantry_fake_symbol_that_nobody_defines();
#elif GANTRY_FAKE == CRASH_ENTRY
std::abort();
#elif GANTRY_FAKE == THREAD_ALIVE
std::thread(call_on).detach();
#elif GANTRY_FAKE == LEAKS
// Never freed, but each keeps the one before in sight: a leak checker is not to report it as well.
static void* last = nullptr;
void* left = host->allocate(4711, 64);
std::memcpy(left, &last, sizeof(last));
last = left;
#elif GANTRY_FAKE == NEEDS_LIBRARY
if (gantry_fake_dependency() != 4711) std::abort();
#endif
  table.api.size = GANTRY_FAKE == SHORT_TABLE ? offsetof(gantry_provider_api, compile)
                                              : sizeof(gantry_provider_api);
  if (GANTRY_FAKE == LARGER_TABLE) table.api.size = sizeof(Table);
  table.api.self = reinterpret_cast<gantry_provider*>(&table);
  table.api.devices = devices;
  table.api.claim = GANTRY_FAKE == NULL_SLOT ? nullptr : claim;
  table.api.compile = compile;
  table.api.destroy = destroy;
#if GANTRY_FAKE == OLDER_TABLE
  // As a provider has it that knew nothing of what comes after destroy.
  table.api.size = offsetof(gantry_provider_api, device_open);
  table.api.device_open = [](gantry_provider*, uint32_t, gantry_device**) -> gantry_error* {
    std::abort();
  };
#elif GANTRY_FAKE == OWN_MEMORY
  // Slots that are there, and never called by the tests.
  table.api.device_open = [](gantry_provider*, uint32_t, gantry_device** device) -> gantry_error* {
    *device = reinterpret_cast<gantry_device*>(&table);
    return nullptr;
  };
  table.api.device_close = [](gantry_device*) {};
  table.api.memory_allocate = [](gantry_device*, uint64_t, void**) -> gantry_error* {
    return nullptr;
  };
  table.api.memory_free = [](gantry_device*, void*) {};
  table.api.stream_create = [](gantry_device*, gantry_stream**) -> gantry_error* {
    return nullptr;
  };
  table.api.stream_destroy = [](gantry_stream*) {};
  table.api.stream_synchronize = [](gantry_stream*) -> gantry_error* { return nullptr; };
  table.api.copy = [](gantry_stream*, const gantry_copy*) -> gantry_error* { return nullptr; };
  table.api.event_create = [](gantry_device*, gantry_event**) -> gantry_error* { return nullptr; };
  table.api.event_destroy = [](gantry_event*) {};
  table.api.event_record = [](gantry_event*, gantry_stream*) -> gantry_error* { return nullptr; };
  table.api.event_wait = [](gantry_event*, gantry_stream*) -> gantry_error* { return nullptr; };
  table.api.event_synchronize = [](gantry_event*) -> gantry_error* { return nullptr; };
#endif
  accept->minor = GANTRY_FAKE == NEWER_MINOR ? offer->minor + 1 : offer->minor;
  if (GANTRY_FAKE == GARBAGE_VERSION) accept->minor = UINT32_MAX;
  accept->layout = GANTRY_FAKE == LAYOUT_LIES ? ~GANTRY_ABI_LAYOUT : GANTRY_ABI_LAYOUT;
  accept->api = GANTRY_FAKE == NULL_TABLE ? nullptr : &table.api;
  return nullptr;
}
