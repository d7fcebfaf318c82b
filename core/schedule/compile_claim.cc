// SPDX-License-Identifier: Apache-2.0
#include "schedule/compile_claim.h"

#include <string>

#include "base/trace.h"
#include "plugin/crash_marks.h"
#include "plugin/error.h"
#include "schedule/compiled_form.h"
#include "schedule/fragment.h"

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

// The arguments of compile, with what they point to.
class CompileCall {
 public:
  CompileCall(const CompileSite& site, const Step& step)
      : inputs_(ids_of(site.claim_slots.inputs)),
        outputs_(ids_of(site.claim_slots.outputs)),
        input_formats_(formats_of(step.inputs, site.slots)),
        output_formats_(formats_of(step.outputs, site.slots)),
        fragment_(site.claim, site.claim_slots, site.options.model) {
    for (const Node* node : site.claim.nodes) nodes.push_back(node->id);
    args.size = sizeof(args);
    args.device = site.claim.candidate->device_index;
    args.graph = site.placement.view->get();
    args.nodes = nodes.data();
    args.node_count = static_cast<uint32_t>(nodes.size());
    args.inputs = inputs_.data();
    args.input_count = static_cast<uint32_t>(inputs_.size());
    args.outputs = outputs_.data();
    args.output_count = static_cast<uint32_t>(outputs_.size());
    args.threads = site.options.threads;
    args.input_formats = input_formats_.data();
    args.output_formats = output_formats_.data();
    args.tag = site.claim.tag;
    args.options = to_str(site.claim.candidate->options);
    args.fragment = &fragment_;
  }
  CompileCall(const CompileCall&) = delete;
  CompileCall& operator=(const CompileCall&) = delete;

  gantry_compile args = {};
  std::vector<uint32_t> nodes;

 private:
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> outputs_;
  std::vector<const gantry_format*> input_formats_;
  std::vector<const gantry_format*> output_formats_;
  gantry_fragment fragment_;
};

[[noreturn]] void fail_compile(const CompileSite& site, const Step& step,
                               const std::vector<uint32_t>& nodes, gantry_error* error) {
  const std::string reason(message_of(error));
  try {
    site.space.check(error, step.label + " on " + step.device + ", provider \"" + step.provider +
                                "\": compile failed");
  } catch (const Error& failure) {
    if (failure.code() == Code::kDeviceLost) throw;
    throw CompileFailure(failure, {site.placement.graph, step.provider,
                                   site.claim.candidate->device, nodes, reason});
  }
  throw Error(Code::kInternal, "a compile failure without an error");
}

}  // namespace

void compile_claim(const CompileSite& site, Step& step) {
  const std::string span_name = site.options.trace ? "compile " + step.label : std::string();
  const TraceSpan span(site.options.trace, "compile", span_name, step.provider);
  CompileCall call(site, step);
  const CompiledForm form(site.options.artefact, site.claim, call.args);
  gantry_kernel& kernel = step.kernel.raw();
  kernel.size = sizeof(kernel);
  PluginProvider& provider = *site.claim.candidate->provider;
  const gantry_provider_api& api = provider.api();
  step.mark = mark_of(provider.mark(), MarkedCall::kRun);
  const CallMark mark(provider.mark(), MarkedCall::kCompile);
  gantry_error* error = contain([&] { return api.compile(api.self, &call.args, &kernel); });
  if (!error && !kernel.run)
    error = make_error(Code::kAbiMismatch, "the kernel has no run function");
  if (error) fail_compile(site, step, call.nodes, error);
  form.keep(step.label, kernel);
  for (size_t i = 0; i < site.claim_slots.inputs.size(); ++i) {
    const bool is_used_up = (site.claim.inputs[i].flags & GANTRY_PORT_COMPILE_ONLY) != 0;
    const GraphValue* value = site.claim_slots.inputs[i];
    if (is_used_up && value && value->constant) drop_pages(*value->constant);
  }
}

}  // namespace gantry
