// SPDX-License-Identifier: Apache-2.0
// A provider that loads and claims every Relu, and then does one thing wrong, chosen by the option
// "mode" of the session: in claim, in compile, or in the kernel. Kernels misbehave only when the
// first element is negative, so that a session can be shown to go on. Against the C header alone.
#include <gantry/provider.h>

#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "relu_claims.h"

GANTRY_PROVIDER_NOTE

namespace {

enum Mode : uint64_t {
  kGood,
  kClaimThrows,
  kClaimChanges,
  kCompileFails,
  kCompileThrows,
  kNoRun,
  kThrows,
  kReturnsError,
  kNeverAsks,
  kAsksTwice,
  kOtherType,
  kOtherRank,
  kNegativeExtent,
  kOtherSlot,
  kBadBody,
};
constexpr const char* kNames[] = {
    "good",       "claim_throws", "claim_changes",   "compile_fails", "compile_throws",
    "no_run",     "throws",       "returns_error",   "never_asks",    "asks_twice",
    "other_type", "other_rank",   "negative_extent", "other_slot",    "bad_body"};

const gantry_host* host = nullptr;
gantry_provider_api table = {};

uint64_t mode_of(gantry_str options) {
  const std::string_view given(options.data, options.length);
  for (uint64_t mode = 0; mode < sizeof(kNames) / sizeof(*kNames); ++mode) {
    const std::string_view name = kNames[mode];
    const size_t at = given.find(name);
    if (at != std::string_view::npos && given[at + name.size()] == '"') return mode;
  }
  return kGood;
}

gantry_error* devices(gantry_provider*, const gantry_device_sink* sink) {
  fakes::report_device(*sink, "fake device");
  return nullptr;
}

gantry_error* claim(gantry_provider*, const gantry_claim_request* request) {
  const uint64_t mode = mode_of(request->options);
  if (mode == kClaimThrows) throw std::runtime_error("thrown in claim");
  static int questions = 0;
  if (mode == kClaimChanges && ++questions % 2 == 0) return nullptr;
  fakes::claim_relus(*request, "fake.relu", mode);
  return nullptr;
}

gantry_error* ask(const gantry_call* call, uint32_t slot, uint32_t dtype, uint32_t rank,
                  gantry_tensor** out) {
  return host->output(call->run, slot, dtype, rank, call->inputs[0]->shape, out);
}

gantry_error* misbehave(uint64_t mode, const gantry_call* call) {
  const uint32_t rank = call->inputs[0]->rank;
  const int64_t negative[] = {2, -3};
  gantry_tensor* made = nullptr;
  switch (mode) {
    case kThrows:
      throw std::runtime_error("thrown in a kernel");
    case kReturnsError:
      return host->error_create(GANTRY_DEVICE_ERROR, fakes::to_str("the fake unit is on fire"));
    case kAsksTwice: {
      gantry_error* error = ask(call, 0, GANTRY_FLOAT, rank, &made);
      return error ? error : ask(call, 0, GANTRY_FLOAT, rank, &made);
    }
    case kOtherType:
      return ask(call, 0, GANTRY_INT32, rank, &made);
    case kOtherRank:
      return ask(call, 0, GANTRY_FLOAT, rank - 1, &made);
    case kNegativeExtent:
      return host->output(call->run, 0, GANTRY_FLOAT, 2, negative, &made);
    case kOtherSlot:
      return ask(call, 7, GANTRY_FLOAT, rank, &made);
    case kBadBody: {  // in the last of many parts, on whatever thread it is
      constexpr int64_t kCount = 1000;
      host->parallel_for(
          call->run, kCount, 1,
          [](void*, int64_t, int64_t end) {
            if (end == kCount) throw std::runtime_error("thrown in a body");
          },
          nullptr);
      return ask(call, 0, GANTRY_FLOAT, rank, &made);
    }
    default:  // kNeverAsks
      return nullptr;
  }
}

gantry_error* run(void* self, void*, const gantry_call* call) {
  const auto mode = reinterpret_cast<uintptr_t>(self);
  const auto* x = static_cast<const float*>(call->inputs[0]->data);
  if (mode >= kThrows && x[0] < 0) return misbehave(mode, call);
  gantry_tensor* y = nullptr;
  if (gantry_error* error = ask(call, 0, GANTRY_FLOAT, call->inputs[0]->rank, &y)) return error;
  for (uint64_t i = 0; i < y->size_bytes / sizeof(float); ++i)
    static_cast<float*>(y->data)[i] = x[i] < 0 ? 0 : x[i];
  return nullptr;
}

gantry_error* compile(gantry_provider*, const gantry_compile* args, gantry_kernel* out) {
  if (args->tag == kCompileFails)
    return host->error_create(GANTRY_UNSUPPORTED, fakes::to_str("the fake assembler gave up"));
  if (args->tag == kCompileThrows) throw std::runtime_error("thrown in compile");
  out->self = reinterpret_cast<void*>(static_cast<uintptr_t>(args->tag));
  if (args->tag != kNoRun) out->run = run;
  return nullptr;
}

}  // namespace

extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer,
                                                          gantry_accept* accept) {
  host = offer->host;
  table.size = sizeof(table);
  table.self = reinterpret_cast<gantry_provider*>(&table);
  table.devices = devices;
  table.claim = claim;
  table.compile = compile;
  table.destroy = [](gantry_provider*) {};
  accept->minor = offer->minor;
  accept->layout = GANTRY_ABI_LAYOUT;
  accept->api = &table;
  return nullptr;
}
