// SPDX-License-Identifier: Apache-2.0
#include "explanation.h"

#include <algorithm>
#include <fstream>
#include <unordered_map>

namespace gantry::cli {
namespace {

double microseconds(double nanoseconds) { return nanoseconds / 1e3; }

Json placement_to_json(const ValuePlacement& value) {
  Json json{{"name", value.info.name}, {"type", describe(value.info)}};
  if (value.size_bytes > 0) json["size_bytes"] = value.size_bytes;
  if (value.is_constant) json["constant"] = true;
  if (value.is_input) json["input"] = true;
  if (value.is_output) json["output"] = true;
  json["parent"] = value.parent;
  json["body"] = value.body;
  return json;
}

// A complete event of a trace file.
struct Event {
  double start = 0;  // microseconds
  double duration = 0;
  bool counts = true;

  [[nodiscard]] bool holds(double time) const { return time >= start && time < start + duration; }
};

/// Sums the times of nodes over the runs of a trace. Skips the first of several runs, and runs that
/// launched captures, which have no times of single nodes.
class NodeTimes {
 public:
  explicit NodeTimes(const Json& trace) {
    for (const Json& event : trace.at("traceEvents")) {
      if (event.value("ph", "") == "X" && event.at("name") == "run")
        runs_.push_back({event.at("ts"), event.at("dur"), true});
    }
    std::sort(runs_.begin(), runs_.end(),
              [](const Event& a, const Event& b) { return a.start < b.start; });
    for (const Json& event : trace.at("traceEvents")) {
      if (event.value("cat", "") != "capture") continue;
      if (Event* run = run_at(event.at("ts"))) run->counts = false;
    }
    const auto count =
        std::count_if(runs_.begin(), runs_.end(), [](const Event& run) { return run.counts; });
    if (count > 1 && runs_.front().counts) runs_.front().counts = false;
    for (const Json& event : trace.at("traceEvents")) {
      if (event.value("ph", "") == "X") take(event);
    }
  }

  [[nodiscard]] std::map<std::string, double> means() const {
    const auto counted =
        std::count_if(runs_.begin(), runs_.end(), [](const Event& run) { return run.counts; });
    const auto runs = static_cast<double>(std::max<std::ptrdiff_t>(1, counted));
    std::map<std::string, double> means;
    for (const auto& [node, total_us] : on_host_) means[node] = 1e3 * total_us / runs;
    for (const auto& [node, total_us] : on_stream_) means[node] = 1e3 * total_us / runs;
    return means;
  }

 private:
  Event* run_at(double time) {
    const auto after =
        std::upper_bound(runs_.begin(), runs_.end(), time,
                         [](double moment, const Event& run) { return moment < run.start; });
    return after != runs_.begin() && (after - 1)->holds(time) ? &*(after - 1) : nullptr;
  }

  void take(const Json& event) {
    const std::string category = event.value("cat", "");
    const bool is_step = category == "kernel" || category == "control flow";
    if ((!is_step && category != "device") || !event.contains("args")) return;
    const Json& args = event.at("args");
    if (!args.contains("node")) return;
    const Event* run = run_at(event.at("ts"));
    if (run && !run->counts) return;
    (is_step ? on_host_ : on_stream_)[args.at("node")] += event.at("dur").get<double>();
  }

  std::vector<Event> runs_;
  std::map<std::string, double> on_host_;
  std::map<std::string, double> on_stream_;
};

}  // namespace

bool is_elsewhere(const NodePlacement& node) { return !node.instead_of.empty(); }

std::vector<Refusal> refusals_of(const Placement& placement) {
  std::map<std::string, size_t> counts;
  for (const NodePlacement& node : placement.nodes) {
    if (is_elsewhere(node)) ++counts[node.reason];
  }
  std::vector<Refusal> refusals;
  refusals.reserve(counts.size());
  for (const auto& [reason, nodes] : counts) refusals.push_back({reason, nodes});
  std::stable_sort(refusals.begin(), refusals.end(),
                   [](const Refusal& a, const Refusal& b) { return a.nodes > b.nodes; });
  return refusals;
}

namespace {

bool has_known_size(const ValueInfo& info) {
  return info.kind != Kind::kTensor ||
         (info.has_rank && std::all_of(info.shape.begin(), info.shape.end(),
                                       [](int64_t extent) { return extent >= 0; }));
}

}  // namespace

uint64_t activation_bytes(const Placement& placement) {
  std::unordered_map<std::string, uint64_t> sizes;
  std::unordered_map<std::string, size_t> last;
  uint64_t alive = 0;
  for (const ValuePlacement& value : placement.values) {
    if (value.parent >= 0 || value.is_constant) continue;
    if (!has_known_size(value.info)) return 0;
    sizes[value.info.name] = value.size_bytes;
    if (value.is_output) last[value.info.name] = placement.nodes.size();
    if (value.is_input) alive += value.size_bytes;
  }
  for (size_t i = 0; i < placement.nodes.size(); ++i) {
    if (placement.nodes[i].parent >= 0) continue;
    for (const auto* names : {&placement.nodes[i].inputs, &placement.nodes[i].outputs}) {
      for (const std::string& name : *names) last[name] = std::max(last[name], i);
    }
  }
  uint64_t most = alive;
  for (size_t i = 0; i < placement.nodes.size(); ++i) {
    const NodePlacement& node = placement.nodes[i];
    if (node.parent >= 0) continue;
    for (const std::string& name : node.outputs) alive += sizes.contains(name) ? sizes[name] : 0;
    most = std::max(most, alive);
    std::vector<std::string> ended(node.inputs);
    ended.insert(ended.end(), node.outputs.begin(), node.outputs.end());
    for (const std::string& name : ended) {
      if (last[name] != i || !sizes.contains(name)) continue;
      alive -= sizes[name];
      sizes.erase(name);  // an input that is listed twice is freed once
    }
  }
  return most;
}

std::map<std::string, double> read_node_times(const std::filesystem::path& trace) {
  std::ifstream stream(trace, std::ios::binary);
  if (!stream) throw Error(Code::kNotFound, "there is no such trace file").in(trace.string());
  try {
    const NodeTimes times(Json::parse(stream));
    std::map<std::string, double> means = times.means();
    if (!means.empty()) return means;
  } catch (const Json::exception&) {
    // said below
  }
  throw Error(Code::kInvalidArgument,
              "expected a trace with runs of a model, as gantry bench --profile writes, found none")
      .in(trace.string());
}

Json to_json(const Explanation& explanation) {
  const Placement& placement = explanation.placement;
  Json nodes = to_json(placement.nodes);
  double cost_ns = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodePlacement& node = placement.nodes[i];
    if (node.time_ns > 0) cost_ns += node.time_ns;
    if (const auto found = explanation.time_ns.find(node.node); found != explanation.time_ns.end())
      nodes[i]["time_us"] = microseconds(found->second);
  }
  Json values = Json::array();
  for (const ValuePlacement& value : placement.values) values.push_back(placement_to_json(value));
  Json transfers = Json::array();
  for (const CopyPlacement& copy : placement.transfers) {
    transfers.push_back({{"value", copy.value},
                         {"from", copy.from},
                         {"to", copy.to},
                         {"size_bytes", copy.size_bytes}});
  }
  Json json{{"model", explanation.model},
            {"device", explanation.device},
            {"wanted", placement.wanted},
            {"fallback", placement.fallback},
            {"compatible", placement.compatible},
            {"counts", counts_to_json(placement)},
            {"warnings", placement.warnings},
            {"activation_bytes", activation_bytes(placement)},
            {"estimated_us", microseconds(cost_ns)},
            {"nodes", std::move(nodes)},
            {"values", std::move(values)},
            {"transfers", std::move(transfers)}};
  if (explanation.memory) {
    json["copies"] = placement.copies;
    json["model_weights_bytes"] = explanation.model_weights;
    json["memory"] = to_json(*explanation.memory);
    const ArtefactReport& artefact = explanation.artefact;
    json["artefact"] = {{"state", artefact.state},
                        {"file", artefact.file},
                        {"reason", artefact.reason},
                        {"size_bytes", artefact.size_bytes}};
  }
  return json;
}

}  // namespace gantry::cli
