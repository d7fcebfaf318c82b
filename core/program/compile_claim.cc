// SPDX-License-Identifier: Apache-2.0
#include "program/compile_claim.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "artefact/artefact.h"
#include "base/log.h"
#include "base/run_limits.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "plugin/crash_marks.h"
#include "plugin/error.h"
#include "plugin/packed.h"
#include "program/compiled_form.h"
#include "program/fragment.h"

namespace gantry {
namespace {

std::vector<uint32_t> ids_of(const std::vector<GraphValue*>& values) {
  std::vector<uint32_t> ids;
  ids.reserve(values.size());
  for (const GraphValue* value : values) ids.push_back(value ? value->id : GANTRY_NONE);
  return ids;
}

std::vector<const gantry_format*> formats_of(const std::vector<uint32_t>& of,
                                             const std::vector<SlotInfo>& slots) {
  std::vector<const gantry_format*> granted;
  granted.reserve(of.size());
  for (const uint32_t slot : of)
    granted.push_back(slot == kNoSlot ? nullptr : slots[slot].format.get());
  return granted;
}

// Compiles one claim. One thread constructs and finishes all of them in the order of the steps;
// run() may be called on another thread.
class ClaimCompile {
 public:
  ClaimCompile(const CompileSite& site, const UncompiledClaim& which, Step& step)
      : site_(site),
        claim_(*which.claim),
        slots_(which.slots),
        step_(step),
        inputs_(ids_of(slots_.inputs)),
        outputs_(ids_of(slots_.outputs)),
        input_formats_(formats_of(step.inputs, site.slots)),
        output_formats_(formats_of(step.outputs, site.slots)),
        fragment_(std::in_place, claim_, slots_, site.options.model),
        args_(arguments()),
        form_(site.options.artefact, claim_, args_) {}
  ~ClaimCompile() { release_error(error_); }
  ClaimCompile(const ClaimCompile&) = delete;
  ClaimCompile& operator=(const ClaimCompile&) = delete;

  [[nodiscard]] bool is_on_host() const { return claim_.candidate->has_host_memory(); }

  // Calls the provider; true: there is a kernel. Called once, on any thread.
  bool run() {
    const std::string span_name = site_.options.trace ? "compile " + step_.label : std::string();
    const TraceSpan span(site_.options.trace, "compile", span_name, step_.provider);
    const PackedScope ledger(site_.options.artefact);
    gantry_kernel& kernel = step_.kernel.raw();
    kernel.size = sizeof(kernel);
    PluginProvider& provider = *claim_.candidate->provider;
    const gantry_provider_api& api = provider.api();
    step_.mark = mark_of(provider.mark(), MarkedCall::kRun);
    const CallMark mark(provider.mark(), MarkedCall::kCompile);
    error_ = contain([&] { return api.compile(api.self, &args_, &kernel); });
    fragment_.reset();
    if (!error_ && !kernel.run)
      error_ = make_error(Code::kAbiMismatch, "the kernel has no run function");
    if (!error_) drop_used_up();
    return error_ == nullptr;
  }

  // Throws the provider's error, if there is one; stores the compiled form.
  void finish() {
    if (error_) fail();
    const std::string_view implementation = to_view(step_.kernel.raw().implementation);
    if (!implementation.empty() && log_level() >= LogLevel::kDebug) {
      log(LogLevel::kDebug,
          step_.label + ": " + step_.kernel_name + " by " + std::string(implementation));
    }
    form_.keep(step_.label, step_.kernel.raw());
  }

 private:
  gantry_compile arguments() {
    for (const Node* node : claim_.nodes) nodes_.push_back(node->id);
    gantry_compile args = {};
    args.size = sizeof(args);
    args.device = claim_.candidate->device_index;
    args.graph = site_.placement.view->get();
    args.nodes = nodes_.data();
    args.node_count = static_cast<uint32_t>(nodes_.size());
    args.inputs = inputs_.data();
    args.input_count = static_cast<uint32_t>(inputs_.size());
    args.outputs = outputs_.data();
    args.output_count = static_cast<uint32_t>(outputs_.size());
    args.threads = site_.options.threads;
    args.input_formats = input_formats_.data();
    args.output_formats = output_formats_.data();
    args.tag = claim_.tag;
    args.options = to_str(claim_.candidate->options);
    args.fragment = &*fragment_;
    return args;
  }

  // Drops the pages of compile-only constants at once, so that mapped and packed weights are not in
  // memory together.
  void drop_used_up() const {
    for (size_t i = 0; i < slots_.inputs.size(); ++i) {
      const bool is_used_up = (claim_.inputs[i].flags & GANTRY_PORT_COMPILE_ONLY) != 0;
      const GraphValue* value = slots_.inputs[i];
      if (is_used_up && value && value->constant) drop_pages(*value->constant);
    }
  }

  [[noreturn]] void fail() {
    const std::string reason(message_of(error_));
    try {
      site_.devices.space(step_.space)
          .check(std::exchange(error_, nullptr), step_.label + " on " + step_.device +
                                                     ", provider \"" + step_.provider +
                                                     "\": compile failed");
    } catch (const Error& failure) {
      if (failure.code() == Code::kDeviceLost) throw;
      throw CompileFailure(failure, {site_.placement.graph, step_.provider,
                                     claim_.candidate->device, nodes_, reason});
    }
    throw Error(Code::kInternal, "a compile failure without an error");
  }

  const CompileSite& site_;
  const Claim& claim_;
  const ClaimSlots& slots_;
  Step& step_;
  std::vector<uint32_t> nodes_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> outputs_;
  std::vector<const gantry_format*> input_formats_;
  std::vector<const gantry_format*> output_formats_;
  std::optional<gantry_fragment> fragment_;  // until the kernel is compiled
  gantry_compile args_;                      // points to the members above
  CompiledForm form_;
  gantry_error* error_ = nullptr;
};

}  // namespace

void compile_claims(const CompileSite& site, const std::vector<UncompiledClaim>& claims,
                    std::vector<Step>& steps) {
  std::deque<ClaimCompile> compiles;
  std::vector<ClaimCompile*> at_once;
  std::vector<ClaimCompile*> in_turn;  // on devices: drivers may not gain from several threads
  for (const UncompiledClaim& claim : claims) {
    ClaimCompile& compile = compiles.emplace_back(site, claim, steps[claim.step]);
    (compile.is_on_host() ? at_once : in_turn).push_back(&compile);
  }
  // After a failure no further claim is begun. Claims are begun in order, so the first one that
  // fails has always been begun, whatever the number of threads.
  std::atomic<bool> has_failed = false;
  std::atomic<bool> is_stopped = false;
  const RunLimits* limits = load_limits();
  const auto goes_on = [&] {
    if (limits && limits->stop_code() != Code::kOk) is_stopped = true;
    return !has_failed && !is_stopped;
  };
  for_each_on_own_threads(static_cast<int64_t>(at_once.size()), [&](int64_t i) {
    const LoadScope scope(limits);
    if (goes_on() && !at_once[static_cast<size_t>(i)]->run()) has_failed = true;
  });
  for (size_t i = 0; i < in_turn.size() && goes_on(); ++i) has_failed = !in_turn[i]->run();
  if (is_stopped) poll_load("all kernels were compiled");
  for (ClaimCompile& compile : compiles) compile.finish();
}

}  // namespace gantry
