// SPDX-License-Identifier: Apache-2.0
#include "session/plan/plan_report.h"

#include <utility>

#include "onnx/bodies/refused_operators.h"
#include "plugin/discovery/manifest_operators.h"
#include "plugin/discovery/strict_json.h"

namespace gantry {
namespace {

const char* name_of(Fallback fallback) {
  switch (fallback) {
    case Fallback::kError:
      return "error";
    case Fallback::kWarn:
      return "warn";
    case Fallback::kAllow:
      return "allow";
  }
  return "";
}

// Adds to unplaced nodes why they have no function body either. Names of rows of nodes in bodies
// end with the node's own name.
void add_body_refusals(const OnnxModel& model, std::vector<NodePlacement>& rows) {
  for (NodePlacement& row : rows) {
    if (!row.device.empty()) continue;
    if (const std::string_view why = why_not_built(row.domain, row.op_type); !why.empty())
      row.reason.append("; ").append(row.op_type).append(" is not supported: ").append(why);
    for (const auto& [node, why] : model.body_refusals()) {
      if (row.node == node || row.node.ends_with("/" + node))
        row.reason.append("; no function body: ").append(why);
    }
  }
}

// What could have run an operator of a foreign domain; empty: nothing is known that could.
std::string advice_on(const std::string& domain, const std::vector<std::string>& without_options) {
  if (without_options.empty()) return {};
  std::string pointers;
  for (const std::string& name : without_options)
    pointers += (pointers.empty() ? "" : ", ") + json_pointer("/providers/options", name);
  return ". Operators of domain \"" + domain + "\" may be in a library that " + pointers +
         " can name";
}

}  // namespace

Placement describe(const PlannedModel& planned, const Preference& preference,
                   const Implementations& implementations) {
  Placement result = describe(*planned.placement, implementations);
  if (planned.model) add_body_refusals(*planned.model, result.nodes);
  result.nodes_in_model = planned.nodes_in_model;
  result.wanted = preference.named;
  result.fallback = name_of(preference.fallback);
  for (const ConfigWarning& warning : planned.warnings) result.warnings.push_back(warning.text);
  return result;
}

void require_complete(const PlannedModel& planned, const Preference& preference,
                      const std::vector<std::string>& without_options) {
  if (planned.placement->complete()) return;
  constexpr size_t kMostListed = 5;
  std::vector<NodePlacement> rows = describe(*planned.placement).nodes;
  add_body_refusals(*planned.model, rows);
  size_t refused = 0;
  std::string list;
  std::string advice;
  for (const NodePlacement& row : rows) {
    if (!row.device.empty()) continue;
    if (advice.empty() && !is_known_domain(row.domain))
      advice = advice_on(row.domain, without_options);
    if (++refused > kMostListed) continue;
    list += (list.empty() ? "" : "; ") + row.op_type + " \"" + row.node + "\" (" + row.reason + ")";
  }
  if (refused > kMostListed) list += "; and " + std::to_string(refused - kMostListed) + " more";
  throw Error(Code::kUnsupported,
              std::to_string(refused) + " of " + std::to_string(rows.size()) +
                  " nodes cannot run on " + preference.named + ": " + list +
                  (preference.fallback == Fallback::kError && preference.named != "CPU" &&
                           preference.named != "CPU:0"
                       ? ". Set placement.fallback to \"allow\" to run them on the CPU"
                       : "") +
                  advice);
}

}  // namespace gantry
