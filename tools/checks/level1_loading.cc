// SPDX-License-Identifier: Apache-2.0
// Level 1: the manifest is accepted, the library opens, the entry negotiates with hosts of every
// version, and nothing leaks.
#include <cstring>
#include <filesystem>

#include "host_table.h"
#include "levels.h"
#include "open_provider.h"

namespace gantry::checks {
namespace {

size_t thread_count() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

void accepts(const Subject& subject) {
  const Described described = describe(subject);
  const gantry_offer offer = make_offer(described, subject);
  gantry_accept accept = {};
  accept.size = sizeof(accept);
  const std::string error = take_error(open_entry(described)(&offer, &accept));
  expect(error.empty(), "gantry_provider_v1: expected it to accept the offer, found " + error,
         "accept every offer of this layout, also where there is no device");
  expect(accept.api != nullptr, "gantry_provider_v1: expected a table, found null",
         "set gantry_accept.api before you return");
  const gantry_provider_api& api = *accept.api;
  expect(accept.minor <= offer.minor,
         "gantry_accept.minor: expected at most the host's " + std::to_string(offer.minor) +
             ", found " + std::to_string(accept.minor),
         "speak the smaller of the host's minor version and your own");
  expect(accept.layout == GANTRY_ABI_LAYOUT,
         "gantry_accept.layout: expected the layout of this "
         "provider.h, found another number",
         "set it to GANTRY_ABI_LAYOUT");
  expect(GANTRY_HAS(&api, destroy) && api.devices && api.claim && api.compile && api.destroy,
         "gantry_provider_api: expected devices, claim, compile and destroy in a table of " +
             std::to_string(api.size) + " bytes, found one absent or null",
         "fill all required slots, and set size to sizeof(gantry_provider_api)");
  api.destroy(api.self);
}

// Calls the entry with a changed offer; returns the outcome and the accepted minor version.
template <class Change>
std::string enter(const Subject& subject, uint32_t& minor, Change&& change) {
  const Described described = describe(subject);
  gantry_offer offer = make_offer(described, subject);
  change(offer);
  gantry_accept accept = {};
  accept.size = sizeof(accept);
  gantry_error* error = open_entry(described)(&offer, &accept);
  if (!error && accept.api) accept.api->destroy(accept.api->self);
  minor = accept.minor;
  return take_error(error);
}

void refuses_other_layouts(const Subject& subject) {
  uint32_t minor = 0;
  const std::string error =
      enter(subject, minor, [](gantry_offer& offer) { offer.layout = ~offer.layout; });
  expect(error.rfind("ABI_MISMATCH: ", 0) == 0,
         "gantry_provider_v1: expected ABI_MISMATCH for a host of another layout, found " +
             (error.empty() ? "that it accepts" : error),
         "compare gantry_offer.layout with GANTRY_ABI_LAYOUT before anything else");
}

void speaks_to_newer_hosts(const Subject& subject) {
  // Larger structs, as a later minor version has them.
  struct NewerHost {
    gantry_host host;
    void (*later_slot)();
  } newer = {*host_table(), nullptr};
  newer.host.size = sizeof(newer);
  uint32_t minor = 0;
  const std::string error = enter(subject, minor, [&](gantry_offer& offer) {
    offer.minor = GANTRY_ABI_MINOR + 7;
    offer.host = &newer.host;
  });
  expect(error.empty(),
         "gantry_provider_v1: expected it to accept a newer minor version, found " + error,
         "accept any minor version, and answer the smaller one; test sizes with GANTRY_HAS, never "
         "for equality");
  expect(minor <= GANTRY_ABI_MINOR,
         "gantry_accept.minor: expected at most " + std::to_string(GANTRY_ABI_MINOR) +
             ", the version of this SDK, found " + std::to_string(minor),
         "answer the smaller of gantry_offer.minor and GANTRY_ABI_MINOR");
}

void works_without_optional_slots(const Subject& subject) {
  gantry_host poorer = *host_table();
  poorer.trace_begin = nullptr;
  poorer.trace_end = nullptr;
  poorer.fragment_model = nullptr;
  poorer.fragment_weight = nullptr;
  uint32_t minor = 0;
  const std::string error =
      enter(subject, minor, [&](gantry_offer& offer) { offer.host = &poorer; });
  expect(
      error.empty(),
      "gantry_provider_v1: expected it to accept a host without trace and fragment slots, found " +
          error,
      "test a host slot for null before you use it");
}

void can_be_made_again(const Subject& subject) {
  for (int i = 0; i < 3; ++i) {
    const OpenProvider provider(subject);
    (void)provider.devices();
  }
}

void leaves_nothing(const Subject& subject) {
  { const OpenProvider first(subject); }  // creates what a process creates once
  const size_t threads = thread_count();
  const HostCounts before = host_counts();
  {
    const OpenProvider provider(subject);
    (void)provider.devices();
  }
  const HostCounts after = host_counts();
  expect(after.bytes == before.bytes && after.packed == before.packed,
         "destroy: expected all host memory to be released, found " +
             std::to_string(after.bytes - before.bytes) + " bytes still held",
         "release what gantry_host.allocate and packed_acquire gave in destroy");
  expect(after.errors == before.errors && after.values == before.values,
         "destroy: expected every error and value to be released, found " +
             std::to_string(after.errors - before.errors) + " errors and " +
             std::to_string(after.values - before.values) + " values still held",
         "release errors that you receive and values that you create");
  expect(thread_count() <= threads,
         "destroy: expected every thread of the provider to have ended, found " +
             std::to_string(thread_count() - threads) + " more than before it was made",
         "join your threads in destroy");
}

}  // namespace

void add_loading_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, const char* duty, void (*run)(const Subject&)) {
    checks.push_back({1, name, duty, [run, &subject] { run(subject); }});
  };
  add("load.manifest-and-library", "P1", [](const Subject& s) { open_entry(describe(s)); });
  add("load.negotiates", "P3", accepts);
  add("load.refuses-another-layout", "P3", refuses_other_layouts);
  add("load.speaks-to-newer-hosts", "P4", speaks_to_newer_hosts);
  add("load.works-without-optional-slots", "P4", works_without_optional_slots);
  add("load.can-be-made-again", "P6", can_be_made_again);
  add("load.leaves-nothing", "P7", leaves_nothing);
}

}  // namespace gantry::checks
