// SPDX-License-Identifier: Apache-2.0
#include "session/plan/plan_model.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "onnx/schema/retype.h"
#include "passes/pipeline.h"
#include "passes/quantization.h"
#include "plugin/discovery/manifest_operators.h"
#include "session/plan/rule_use.h"

namespace gantry {
namespace {

constexpr int kMostInlinings = 64;  // rounds; a function may call functions, but never itself

// Finds calls of functions that no provider claims, bodies included.
void find_unclaimed_functions(const OnnxModel& model, const GraphPlacement& placement,
                              std::set<FunctionCall>& calls) {
  for (const auto& node : placement.graph->nodes()) {
    const int owner = placement.owner[node->id];
    if (owner == GraphPlacement::kNobody && model.has_function(*node)) {
      calls.insert({node->domain, node->op_type, node->overload});
    }
  }
  for (const auto& [graph, body] : placement.bodies) find_unclaimed_functions(model, *body, calls);
}

// The nodes that replace a call go to the device to which a rule sends the call.
void keep_rules_of(const std::set<FunctionCall>& calls, const Graph& graph,
                   const Preference& preference) {
  for (const auto& node : graph.nodes()) {
    for (const Graph* body : node->bodies()) keep_rules_of(calls, *body, preference);
    if (!calls.contains({node->domain, node->op_type, node->overload})) continue;
    const std::vector<NodeRule>& rules = preference.policy.rules;
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const NodeRule& candidate) {
      return candidate.matches(*node);
    });
    if (rule != rules.end())
      preference.rule_parts[static_cast<size_t>(rule - rules.begin())]->add(node->name);
  }
}

// The graph has no operators then that the model does not have.
void disable_fusing_passes(PipelineOptions& options) {
  for (const Pass& pass : passes()) {
    if (pass.adds_operators) options.disabled.emplace_back(pass.name);
  }
}

PipelineOptions pipeline_options(const Config& config) {
  PipelineOptions options;
  options.disabled = config.session.disable_passes;
  if (config.session.optimization == Optimization::kNone) options.stop_after = 0;
  if (config.session.optimization == Optimization::kBasic) disable_fusing_passes(options);
  return options;
}

// The provider that claims a node, for messages.
std::string owner_of(const GraphPlacement& placement, uint32_t node) {
  const int owner = placement.owner[node];
  if (owner < 0) return "nobody";
  const Claim& claim = placement.claims[static_cast<size_t>(owner)];
  return "provider \"" + claim.candidate->provider->name() + "\" with " + claim.kernel;
}

// Warns if two placements of one graph on the same devices differ, as claims must be pure.
void warn_of_other_answers(const GraphPlacement& before, const GraphPlacement& now) {
  const auto& nodes = now.graph->nodes();
  const auto changed = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) {
    return owner_of(before, node->id) != owner_of(now, node->id);
  });
  if (changed == nodes.end()) return;
  log(LogLevel::kWarning, (*changed)->label() + " was taken by " +
                              owner_of(before, (*changed)->id) + ", and by " +
                              owner_of(now, (*changed)->id) +
                              " when the same question was asked again; a claim must not change");
}

// The nodes of claims of several nodes, each with its claim: their fusion groups.
using FusionGroups = std::unordered_map<const Node*, const void*>;

void find_fusion_groups(const GraphPlacement& placement, FusionGroups& found) {
  for (const Claim& claim : placement.claims) {
    if (claim.nodes.size() < 2) continue;
    for (const Node* node : claim.nodes) found.emplace(node, &claim);
  }
  for (const auto& [graph, body] : placement.bodies) find_fusion_groups(*body, found);
}

// The nodes of providers that compute some types in a wider type, each with its provider's
// manifest.
using Wideners = std::unordered_map<const Node*, const Manifest*>;

void find_wideners(const GraphPlacement& placement, Wideners& found) {
  for (const Claim& claim : placement.claims) {
    const Manifest& manifest = claim.candidate->provider->manifest();
    if (manifest.widens.empty()) continue;
    for (const Node* node : claim.nodes) found.emplace(node, &manifest);
  }
  for (const auto& [graph, body] : placement.bodies) find_wideners(*body, found);
}

bool has_dequantize(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    const std::vector<Graph*> bodies = node->bodies();
    return is_dequantize(*node) || std::any_of(bodies.begin(), bodies.end(), [](const Graph* body) {
             return has_dequantize(*body);
           });
  });
}

// Number of nodes, those of bodies included.
uint64_t nodes_of(const Graph& graph) {
  uint64_t count = 0;
  for (const auto& node : graph.nodes()) {
    ++count;
    for (const Graph* body : node->bodies()) count += nodes_of(*body);
  }
  return count;
}

// Plans one imported model.
class Planner {
 public:
  Planner(const HostPreference& host, const Config& config, const Preference& preference,
          Trace* trace)
      : config_(config), preference_(preference), trace_(trace), rules_(config) {
    context_.is_nondeterministic = [](const Node& node) { return is_nondeterministic(node); };
    context_.fusion_group = [this](const Node& node) -> const void* {
      const auto found = fusion_groups_.find(&node);
      return found == fusion_groups_.end() ? nullptr : found->second;
    };
    context_.is_computed_wider = [this](const Node& node, DType narrow) {
      const auto found = wideners_.find(&node);
      return found != wideners_.end() && found->second->computes_wider(narrow) &&
             can_retype(node, narrow, DType::kFloat);
    };
    context_.trace = trace;
    if (config.session.optimization == Optimization::kNone) return;
    left_bytes_ = config.session.memory_limit_bytes;
    context_.evaluate = [&](const Graph& graph) {
      return evaluate_constants(host, graph, left_bytes_);
    };
  }

  PlannedModel run(ImportedModel imported) {
    planned_.model = std::move(imported.model);
    planned_.graph = std::move(imported.graph);
    planned_.metadata = planned_.model->metadata();
    planned_.nodes_in_model = nodes_of(*planned_.graph);
    planned_.has_rules = !config_.placement.rules.empty();
    rules_.look_at(*planned_.graph);
    inline_functions();
    improve_and_place();
    if (!planned_.placement->complete()) {
      // A provider that runs each node of a pattern need not run the node that a pass fused them
      // to. So plan again without the passes that fuse.
      disable_fusing_passes(options_);
      planned_.graph = planned_.model->to_graph();
      place_graph();
      improve_and_place();
    }
    planned_.warnings = preference_.warnings;
    for (std::string& warning : planned_.model->warnings())
      planned_.warnings.push_back({std::move(warning), true});
    for (ConfigWarning& warning : rules_.warnings())
      planned_.warnings.push_back(std::move(warning));
    return std::move(planned_);
  }

 private:
  void place_graph() { place_planned(planned_, preference_, trace_); }

  // Inlines functions that no provider claims, until there are none.
  void inline_functions() {
    for (int round = 0; round < kMostInlinings; ++round) {
      place_graph();
      std::set<FunctionCall> calls;
      find_unclaimed_functions(*planned_.model, *planned_.placement, calls);
      if (calls.empty()) return;
      const TraceSpan span(trace_, "load", "inline functions");
      keep_rules_of(calls, *planned_.graph, preference_);
      const auto wanted = [&](const FunctionCall& call) { return calls.contains(call); };
      // No function has a body for these types: the refusals remain.
      if (!planned_.model->inline_functions(wanted)) return;
      planned_.placement.reset();
      planned_.graph = planned_.model->to_graph();
    }
    place_graph();
  }

  void look_at_claims(const GraphPlacement& placement) {
    fusion_groups_.clear();
    find_fusion_groups(placement, fusion_groups_);
    wideners_.clear();
    find_wideners(placement, wideners_);
  }

  // True if a pass changed the graph.
  bool improve() {
    const TraceSpan span(trace_, "load", "passes");
    const bool has_changed = run_passes(*planned_.graph, context_, options_);
    planned_.graph->renumber();
    return has_changed;
  }

  void improve_and_place() {
    const std::unique_ptr<GraphPlacement> before = std::move(planned_.placement);
    look_at_claims(*before);
    context_.is_kept = is_dequantize;
    const bool has_changed = improve();
    rules_.look_at(*planned_.graph);
    place_graph();
    if (!has_changed) warn_of_other_answers(*before, *planned_.placement);
    if (!has_dequantize(*planned_.graph)) return;
    // A DequantizeLinear that no provider fused with its reader is an ordinary node: the passes may
    // now fold it.
    look_at_claims(*planned_.placement);
    context_.is_kept = [this](const Node& node) { return fusion_groups_.contains(&node); };
    if (improve()) place_graph();
  }

  const Config& config_;
  const Preference& preference_;
  Trace* trace_;
  RuleUse rules_;
  PassContext context_;
  uint64_t left_bytes_ = 0;     // rest of session.memory_limit_bytes, for folded constants
  FusionGroups fusion_groups_;  // of the latest placement
  Wideners wideners_;           // likewise
  PipelineOptions options_ = pipeline_options(config_);
  PlannedModel planned_;
};

}  // namespace

ImportSettings import_settings(ProviderRegistry& registry, const Config& config,
                               const SessionOptions& options) {
  return {.access = config.session.file_access(),
          .changes = {.dimensions = config.session.dimensions,
                      .initializers = options.initializers,
                      .outputs = options.outputs},
          .operators = registry.declared_operators(config.providers.options)};
}

ImportedModel import_model(const ModelSource& source, const ImportSettings& settings,
                           Trace* trace) {
  const TraceSpan span(trace, "load", "import");
  ImportedModel imported;
  imported.model =
      std::make_unique<OnnxModel>(source, OpenInputs{.all = false, .names = {}}, settings.access,
                                  settings.changes, settings.operators.all);
  imported.graph = imported.model->to_graph();
  return imported;
}

void place_planned(PlannedModel& planned, const Preference& preference, Trace* trace) {
  const TraceSpan span(trace, "load", "placement");
  planned.placement = place(*planned.graph, preference.candidates, preference.policy);
}

PlannedModel plan_model(const HostPreference& host, const Config& config,
                        const Preference& preference, ImportedModel imported, Trace* trace) {
  return Planner(host, config, preference, trace).run(std::move(imported));
}

void release_unused_constants(const Graph& graph) {
  constexpr uint64_t kReleaseFromBytes = 4096;
  for (const auto& value : graph.values()) {
    const ValueRef& constant = value->constant;
    if (!constant || constant.use_count() > 1 || constant->is_mapped ||
        constant->kind != GANTRY_KIND_TENSOR || constant->dtype == DType::kString ||
        constant->view.size_bytes < kReleaseFromBytes)
      continue;
    constant->owner.reset();
    constant->view.data = nullptr;
  }
  for (const auto& node : graph.nodes()) {
    for (const Graph* body : node->bodies()) release_unused_constants(*body);
  }
}

}  // namespace gantry
