// SPDX-License-Identifier: Apache-2.0
#include "session/plan/rule_use.h"

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "onnx/schema/schema.h"

namespace gantry {
namespace {

constexpr size_t kMostListed = 20;

std::string suggest_one_of(const std::string& name, const std::set<std::string>& candidates) {
  const std::string nearest = nearest_name(name, {candidates.begin(), candidates.end()});
  return suggest(nearest.empty() ? nearest : nlohmann::json(nearest).dump());
}

}  // namespace

RuleUse::RuleUse(const Config& config) : config_(config), rules_(config.placement.rules.size()) {}

void RuleUse::look_at(const Graph& graph) {
  if (rules_.empty()) return;
  for (const auto& node : graph.nodes()) {
    operators_.insert(node->op_type);
    names_.insert(node->name);
    for (size_t i = 0; i < rules_.size(); ++i) {
      const PlacementRule& rule = config_.placement.rules[i];
      rules_[i].was_met |= rule.matches(node->op_type, node->domain, node->name);
      rules_[i].has_operator |= rule.op_type == node->op_type;
      rules_[i].has_name |= matches_pattern(rule.name, node->name);
    }
    for (const Graph* body : node->bodies()) look_at(*body);
  }
}

std::string RuleUse::warning_of(size_t index) const {
  const PlacementRule& rule = config_.placement.rules[index];
  std::string pointer = json_pointer("/placement/rules", std::to_string(index));
  std::string what = "no node of the model matches all members of this rule";
  if (!rule.op_type.empty() && !rules_[index].has_operator) {
    pointer += "/op_type";
    std::vector<std::string> operators(operators_.begin(), operators_.end());
    if (operators.size() > kMostListed) operators.resize(kMostListed);
    const std::string more = operators.size() < operators_.size() ? " and others" : "";
    what = "no node of the model has the operator \"" + rule.op_type + "\"; there are " +
           list_names(operators) + more + suggest_one_of(rule.op_type, operators_);
  } else if (!rule.name.empty() && !rules_[index].has_name) {
    pointer += "/name";
    what = "no node of the model has a name that matches \"" + rule.name + "\"" +
           suggest_one_of(rule.name, names_);
  }
  return config_.where(pointer) + ": " + what;
}

std::vector<ConfigWarning> RuleUse::warnings() const {
  std::vector<ConfigWarning> warnings;
  for (size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].was_met) continue;
    const PlacementRule& rule = config_.placement.rules[i];
    const bool is_slip = !rule.op_type.empty() && !rules_[i].has_operator &&
                         !is_known_operator(rule.op_type, rule.domain.value_or(""));
    warnings.push_back({warning_of(i), is_slip});
  }
  return warnings;
}

}  // namespace gantry
