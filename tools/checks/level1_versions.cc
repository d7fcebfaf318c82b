// SPDX-License-Identifier: Apache-2.0
// Level 1, second part: hosts of other minor versions, whose structs are shorter or longer, and
// hosts with wrong struct sizes, for which any result but a crash is accepted.
#include <memory>
#include <vector>

#include "claims.h"
#include "edge.h"
#include "host_table.h"
#include "levels.h"
#include "node_compile.h"
#include "open_provider.h"
#include "probe_operator.h"
#include "progress.h"

namespace gantry::checks {
namespace {

// Struct sizes of version 1.0. They do not change when structs grow.
constexpr size_t kHost = GANTRY_END_OF(gantry_host, trace_end);
constexpr size_t kOffer = GANTRY_END_OF(gantry_offer, options);
constexpr size_t kAccept = GANTRY_END_OF(gantry_accept, api);
constexpr size_t kDeviceSink = GANTRY_END_OF(gantry_device_sink, device);
constexpr size_t kClaimSink = GANTRY_END_OF(gantry_claim_sink, refuse);
constexpr size_t kRequest = GANTRY_END_OF(gantry_claim_request, sink);
constexpr size_t kCompile = GANTRY_END_OF(gantry_compile, fragment);
constexpr size_t kKernel = GANTRY_END_OF(gantry_kernel, serialize);

constexpr size_t kMore = 64;  // additional bytes of a later version

// A host table of that size. Never freed, since providers may use it until the process ends.
const gantry_host* table_of(size_t size_bytes) {
  static auto* const kept = new std::vector<std::unique_ptr<Edge>>;
  kept->push_back(std::make_unique<Edge>(*host_table(), size_bytes));
  return kept->back()->get<gantry_host>();
}

// A host of another version: every struct that it passes has another size.
class OtherHost {
 public:
  OtherHost(const Subject& subject, size_t more)
      : subject_(subject), more_(more), described_(describe(subject)) {
    gantry_offer offer = make_offer(described_, subject);
    offer.minor = more ? GANTRY_ABI_MINOR + 7 : 0;
    offer.host = table_of(kHost + more);
    gantry_accept accept = {};
    const Edge offered(offer, kOffer + more);
    const Edge accepted(accept, kAccept + more);
    expect_ok(open_entry(described_)(offered.get<gantry_offer>(), accepted.get<gantry_accept>()),
              "gantry_provider_v1 " + label());
    const gantry_accept& answer = *accepted.get<gantry_accept>();
    expect(answer.api != nullptr && answer.minor <= offer.minor,
           "gantry_provider_v1 " + label() + ": expected a table and a minor version of at most " +
               std::to_string(offer.minor) + ", found " + std::to_string(answer.minor),
           "answer the smaller of gantry_offer.minor and GANTRY_ABI_MINOR");
    api_ = answer.api;
  }
  ~OtherHost() { api_->destroy(api_->self); }
  OtherHost(const OtherHost&) = delete;
  OtherHost& operator=(const OtherHost&) = delete;

  void live() {
    bool has_host_memory = false;
    const uint32_t device = first_device(has_host_memory);
    if (device == GANTRY_NONE) return;
    for (const ProbeOperator& probe : probe_operators()) {
      TestGraph graph = probe_graph(probe, probe_inputs(probe));
      uint64_t tag = 0;
      if (!claims(device, graph.view(), tag)) continue;
      // Other devices have to be opened before anything is compiled for them.
      if (has_host_memory) compile(device, graph.view(), tag);
      return;
    }
  }

 private:
  [[nodiscard]] std::string label() const {
    return more_ ? "with structs of a later version" : "with structs as 1.0 has them";
  }

  // The first device that is ready; GANTRY_NONE if there is none.
  uint32_t first_device(bool& has_host_memory) {
    struct Found {
      uint32_t next = 0;
      uint32_t first = GANTRY_NONE;
      uint32_t flags = 0;
    } found;
    gantry_device_sink sink = {};
    sink.self = &found;
    sink.device = [](void* self, const gantry_device_info* info) {
      Found& to = *static_cast<Found*>(self);
      if (info->state == GANTRY_DEVICE_READY && to.first == GANTRY_NONE) {
        to.first = to.next;
        to.flags = info->flags;
      }
      ++to.next;
    };
    const Edge table(sink, kDeviceSink + more_);
    expect_ok(api_->devices(api_->self, table.get<gantry_device_sink>()), "devices " + label());
    has_host_memory = (found.flags & GANTRY_DEVICE_HOST_MEMORY) != 0;
    return found.first;
  }

  bool claims(uint32_t device, const gantry_graph* graph, uint64_t& tag) {
    struct Answer {
      bool is_claimed = false;
      uint64_t tag = 0;
    } answer;
    gantry_claim_sink sink = {};
    sink.self = &answer;
    sink.claim = [](void* self, const gantry_claim* row) {
      *static_cast<Answer*>(self) = {true, row->tag};
    };
    sink.refuse = [](void*, uint32_t, gantry_str) {};
    const Edge table(sink, kClaimSink + more_);
    gantry_claim_request request = {};
    request.device = device;
    request.graph = graph;
    request.options = to_str(subject_.options);
    request.sink = table.get<gantry_claim_sink>();
    const Edge asked(request, kRequest + more_);
    expect_ok(api_->claim(api_->self, asked.get<gantry_claim_request>()), "claim " + label());
    tag = answer.tag;
    return answer.is_claimed;
  }

  void compile(uint32_t device, const gantry_graph* graph, uint64_t tag) {
    const NodeCompile call(device, graph, tag, subject_);
    const Edge given(call.args, kCompile + more_);
    const Edge made(gantry_kernel{}, kKernel + more_);
    expect_ok(api_->compile(api_->self, given.get<gantry_compile>(), made.get<gantry_kernel>()),
              "compile " + label());
    const gantry_kernel& kernel = *made.get<gantry_kernel>();
    expect(kernel.run != nullptr, "compile " + label() + ": expected a run slot, found null",
           "set gantry_kernel.run");
    if (kernel.destroy) kernel.destroy(kernel.self);
  }

  const Subject& subject_;
  size_t more_;
  Described described_;
  const gantry_provider_api* api_ = nullptr;
};

void speaks_to_older_hosts(const Subject& subject) { OtherHost(subject, 0).live(); }
void takes_larger_structs(const Subject& subject) { OtherHost(subject, kMore).live(); }

// Calls the entry, and destroys the provider if it returns one.
void enter(const Described& described, const Edge& offer, const Edge& accept) {
  gantry_error* const error =
      open_entry(described)(offer.get<gantry_offer>(), accept.get<gantry_accept>());
  const gantry_accept& answer = *accept.get<gantry_accept>();
  if (!error && GANTRY_HAS(&answer, api) && answer.api) answer.api->destroy(answer.api->self);
  take_error(error);
}

void survives_truncated_offers(const Subject& subject) {
  const Described described = describe(subject);
  const gantry_offer whole = make_offer(described, subject);
  const gantry_accept empty = {};
  // Tables that lack slots of version 1.0, but have those that create errors.
  for (size_t size = GANTRY_END_OF(gantry_host, error_release); size < kHost; size += 8) {
    note_progress("an offer with a host table of " + std::to_string(size) + " bytes");
    gantry_offer offer = whole;
    offer.host = table_of(size);
    enter(described, Edge(offer, kOffer), Edge(empty, kAccept));
  }
  for (size_t size = GANTRY_END_OF(gantry_offer, host); size < kOffer; size += 8) {
    note_progress("an offer of " + std::to_string(size) + " bytes");
    enter(described, Edge(whole, size), Edge(empty, kAccept));
  }
  note_progress("an offer whose answer has no place for a table");
  enter(described, Edge(whole, kOffer), Edge(empty, GANTRY_END_OF(gantry_accept, layout)));
}

void survives_truncated_calls(const Subject& subject) {
  const OpenProvider provider(subject);
  const uint32_t device = provider.device().index;
  const gantry_provider_api& api = provider.api();
  TestGraph graph;
  const uint32_t input = graph.add_input(GANTRY_FLOAT, {2, 3});
  graph.add_node("Relu", "", 14, {input}, 1, GANTRY_FLOAT);
  gantry_claim_sink sink = {};
  sink.claim = [](void*, const gantry_claim*) {};
  sink.refuse = [](void*, uint32_t, gantry_str) {};
  const Edge table(sink, kClaimSink);
  gantry_claim_request request = {};
  request.device = device;
  request.graph = graph.view();
  request.options = to_str(subject.options);
  request.sink = table.get<gantry_claim_sink>();
  for (size_t size = 8; size < kRequest; size += 8) {
    note_progress("a claim request of " + std::to_string(size) + " bytes");
    const Edge asked(request, size);
    take_error(api.claim(provider.self(), asked.get<gantry_claim_request>()));
  }
  gantry_compile args = {};
  args.device = device;
  args.graph = request.graph;
  for (size_t size = 8; size < kCompile; size += 8) {
    note_progress("a compile call of " + std::to_string(size) + " bytes");
    const Edge given(args, size);
    gantry_kernel kernel = {};
    kernel.size = sizeof(kernel);
    take_error(api.compile(provider.self(), given.get<gantry_compile>(), &kernel));
    if (kernel.destroy) kernel.destroy(kernel.self);
  }
}

}  // namespace

void add_version_checks(Checks& checks, const Subject& subject) {
  const auto add = [&](const char* name, void (*run)(const Subject&)) {
    checks.push_back({1, name, "P4", [&subject, run] { run(subject); }});
  };
  add("load.speaks-to-older-hosts", speaks_to_older_hosts);
  add("load.takes-larger-structs", takes_larger_structs);
  add("load.survives-truncated-offers", survives_truncated_offers);
  add("load.survives-truncated-calls", survives_truncated_calls);
}

}  // namespace gantry::checks
