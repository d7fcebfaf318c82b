// SPDX-License-Identifier: Apache-2.0
// A provider that computes Sub, built against another minor version of the boundary than the host:
// GANTRY_LATER == 1: a later one, whose structs have members that the host does not know; 0: an
// earlier one, whose structs end where members that may be missing begin. What lies behind the
// members of an earlier version is set so that it cannot be taken for them. Against the C header
// alone.
#include <gantry/provider.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "relu_claims.h"

namespace {

constexpr bool kIsLater = GANTRY_LATER == 1;
constexpr uint32_t kMinor = GANTRY_ABI_MINOR + (kIsLater ? 1 : 0);

template <class Struct>
struct Later {
  Struct known;
  uint64_t more[3];  // members of the version after the host's
};

template <class Struct>
Later<Struct> make_later() {
  Later<Struct> object;
  std::memset(&object, 0xff, sizeof(object));
  object.known = {};
  object.known.size = sizeof(object);
  return object;
}

// As far as `end`, where the members of the earlier version end.
#define GANTRY_UP_TO(type, member) (offsetof(type, member) + sizeof(type::member))

const gantry_host* host = nullptr;

gantry_error* devices(gantry_provider*, const gantry_device_sink* sink) {
  auto info = make_later<gantry_device_info>();
  if (!kIsLater) info.known.size = sizeof(gantry_device_info);
  info.known.type = fakes::to_str("FAKE");
  info.known.flags = GANTRY_DEVICE_HOST_MEMORY;
  info.known.name = fakes::to_str("fake device");
  sink->device(sink->self, &info.known);
  return nullptr;
}

// Ports of the version's own size, one behind the other.
struct Ports {
  Later<gantry_port> later[2] = {make_later<gantry_port>(), make_later<gantry_port>()};
  // Behind the earlier ones lie zeros, by which the output would repeat the first input.
  struct {
    uint32_t size = 2 * sizeof(uint32_t);
    uint32_t flags = 0;
  } earlier[2];
  uint64_t zeros[8] = {};

  Ports() {
    for (Later<gantry_port>& port : later) port.known.repeats = GANTRY_NONE;
  }
  [[nodiscard]] const gantry_port* get() const {
    return kIsLater ? &later[0].known : reinterpret_cast<const gantry_port*>(&earlier[0]);
  }
  [[nodiscard]] uint32_t stride() const { return kIsLater ? sizeof(later[0]) : sizeof(earlier[0]); }
};

gantry_error* claim(gantry_provider*, const gantry_claim_request* request) {
  static const Ports ports;
  const gantry_graph& graph = *request->graph;
  for (uint32_t node = 0; node < graph.node_count; ++node) {
    const gantry_str type = graph.nodes[node]->op_type;
    if (std::string_view(type.data, type.length) != "Sub") {
      request->sink->refuse(request->sink->self, node, fakes::to_str("only Sub is known"));
      continue;
    }
    auto row = make_later<gantry_claim>();
    row.known.nodes = &node;
    row.known.node_count = 1;
    row.known.port_size = ports.stride();
    row.known.inputs = row.known.outputs = ports.get();
    row.known.input_count = 2;
    row.known.output_count = 1;
    row.known.time_ns = -1;
    if (!kIsLater) {
      row.known.size = GANTRY_UP_TO(gantry_claim, output_count);
      row.known.time_ns = NAN;
      row.known.kernel = {reinterpret_cast<const char*>(8), 8};
    }
    request->sink->claim(request->sink->self, &row.known);
  }
  return nullptr;
}

gantry_error* run(void*, void*, const gantry_call* call) {
  const gantry_tensor& left = *call->inputs[0];
  gantry_tensor* result = nullptr;
  if (gantry_error* error =
          host->output(call->run, 0, GANTRY_FLOAT, left.rank, left.shape, &result))
    return error;
  const auto* a = static_cast<const float*>(left.data);
  const auto* b = static_cast<const float*>(call->inputs[1]->data);
  auto* difference = static_cast<float*>(result->data);
  for (uint64_t i = 0; i < result->size_bytes / sizeof(float); ++i) difference[i] = a[i] - b[i];
  return nullptr;
}

gantry_error* compile(gantry_provider*, const gantry_compile*, gantry_kernel* out) {
  out->run = run;
  // A slot of its own version is filled only where the host has room for it.
  using LaterKernel = Later<gantry_kernel>;
  if (kIsLater && out->size >= sizeof(LaterKernel))
    reinterpret_cast<LaterKernel*>(out)->more[0] = 4711;
  return nullptr;
}

__attribute__((section(".note.gantry"), used, aligned(4)))
const gantry_note kNote = {7,
                           sizeof(gantry_note) - offsetof(gantry_note, major),
                           1,
                           "gantry",
                           GANTRY_ABI_MAJOR,
                           GANTRY_ABI_LAYOUT,
                           kMinor,
                           GANTRY_SANITIZER};

}  // namespace

extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer,
                                                          gantry_accept* accept) {
  static Later<gantry_provider_api> table = make_later<gantry_provider_api>();
  host = offer->host;
  table.known.self = reinterpret_cast<gantry_provider*>(&table);
  table.known.devices = devices;
  table.known.claim = claim;
  table.known.compile = compile;
  table.known.destroy = [](gantry_provider*) {};
  if (!kIsLater) {
    // Behind it lies what would be called if it were taken for a slot.
    table.known.size = GANTRY_UP_TO(gantry_provider_api, destroy);
    std::memset(&table.known.device_open, 0xff,
                sizeof(table) - offsetof(gantry_provider_api, device_open));
  }
  accept->minor = offer->minor < kMinor ? offer->minor : kMinor;
  accept->layout = GANTRY_ABI_LAYOUT;
  accept->api = &table.known;
  return nullptr;
}
