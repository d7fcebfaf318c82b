// SPDX-License-Identifier: Apache-2.0
// gantry explain: reports where each node runs and why, copies between memory spaces, memory and
// time, as text, JSON or HTML. Status 1: a node has no device.
#include <gantry/model.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <map>
#include <numeric>
#include <unistd.h>

#include "command.h"
#include "explanation.h"
#include "inputs.h"
#include "options.h"
#include "output.h"

namespace gantry::cli {
namespace {

constexpr size_t kMostReasons = 10;
constexpr size_t kMostSlow = 10;

struct ExplainOptions : ModelOptions {
  bool run = false;
  int measure = 0;         // number of runs to measure
  std::string trace_file;  // trace to read times from; empty: none
  std::string page;        // file; empty: none
  InputOptions inputs;
};

// A temporary file, deleted by the destructor.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gantry-trace-XXXXXX").string();
    const int file = mkstemp(pattern.data());
    if (file < 0) throw Error(Code::kUnavailable, pattern + ": a temporary file cannot be made");
    close(file);
    path_ = pattern;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Creates the session and runs it as often as requested; times are read from a trace file.
void observe(Runtime& runtime, const ExplainOptions& options, Explanation& explanation) {
  std::optional<TemporaryFile> trace;
  ExplainOptions traced = options;
  if (options.measure > 0) traced.profile = trace.emplace().path().string();
  {
    SessionOptions session_with = session_options(traced);
    session_with.profile = options.measure > 0;  // disables captures
    Session session(runtime, options.model, session_with);
    explanation.placement = session.placement();
    const int runs = options.measure > 0 ? options.measure + 1 : options.run ? 1 : 0;
    if (runs > 0) {
      const Inputs inputs = make_inputs(session.inputs(), options.inputs);
      for (int i = 0; i < runs; ++i) session.run_values(inputs);
    }
    explanation.has_run = runs > 0;
    explanation.memory = session.memory();
    explanation.model_weights = inspect(options.model).weight_bytes;
    explanation.artefact = session.artefact();
  }
  if (trace) explanation.time_ns = read_node_times(trace->path());
}

Explanation explain_model(Runtime& runtime, const ExplainOptions& options) {
  Explanation explanation;
  explanation.model = options.model;
  explanation.device = device_text(options);
  explanation.placement = check(runtime, options.model, session_options(options));
  if (explanation.placement.compatible) observe(runtime, options, explanation);
  if (!options.trace_file.empty()) explanation.time_ns = read_node_times(options.trace_file);
  return explanation;
}

// Text: the answer first, then what it rests on, then every node.

void print_fallback(const Placement& placement) {
  const auto elsewhere =
      std::count_if(placement.nodes.begin(), placement.nodes.end(), is_elsewhere);
  if (elsewhere == 0) {
    print_line("fallback  " + placement.fallback + "; nothing had to");
    return;
  }
  print_line(fmt::format("fallback  {}; {} of {} nodes are not where they were preferred:",
                         placement.fallback, elsewhere, placement.nodes.size()));
  const std::vector<Refusal> refusals = refusals_of(placement);
  for (size_t i = 0; i < std::min(refusals.size(), kMostReasons); ++i)
    print_line(fitted(fmt::format("          {:>5}  {}", refusals[i].nodes, refusals[i].reason)));
  if (refusals.size() > kMostReasons)
    print_line(fmt::format("          and {} more", refusals.size() - kMostReasons));
}

void print_devices(const Placement& placement) {
  std::map<std::pair<std::string, std::string>, size_t> counts;
  for (const NodePlacement& node : placement.nodes) ++counts[{node.device, node.provider}];
  const char* label = "nodes   ";
  for (const auto& [where, nodes] : counts) {
    const auto& [device, provider] = where;
    print_line(fmt::format("{}  {:>5}  {}", label, nodes,
                           device.empty() ? paint("nowhere", Color::kBad)
                                          : fmt::format("on {} by {}", device, provider)));
    label = "        ";
  }
}

void print_copies(const Placement& placement) {
  const auto unknown =
      std::count_if(placement.transfers.begin(), placement.transfers.end(),
                    [](const CopyPlacement& copy) { return copy.size_bytes == 0; });
  const uint64_t bytes = std::accumulate(
      placement.transfers.begin(), placement.transfers.end(), uint64_t{0},
      [](uint64_t sum, const CopyPlacement& copy) { return sum + copy.size_bytes; });
  std::string sizes = bytes > 0 ? ", " + format_bytes(bytes) : "";
  if (unknown > 0) {
    sizes += bytes == 0 ? ", of sizes that the run decides"
                        : fmt::format(", {} of them of sizes that the run decides", unknown);
  }
  print_line(fmt::format("copies    {} between memory spaces per run{}", placement.copies, sizes));
}

void print_memory(const Explanation& explanation) {
  if (!explanation.memory) return;
  print_line("weights   " + weights_text(explanation.model_weights, *explanation.memory));
  if (explanation.has_run) {
    print_line("arena     " + format_bytes(explanation.memory->arena) + " planned, " +
               format_bytes(explanation.memory->pool) + " beside the plan");
  } else if (const uint64_t bytes = activation_bytes(explanation.placement); bytes > 0) {
    print_line("arena     about " + format_bytes(bytes) + "; --run plans it");
  } else {
    print_line("arena     planned by the first run; --run makes one");
  }
}

void print_compiled_cache(const ArtefactReport& cache) {
  if (cache.state == "off") return;
  const std::string size = cache.size_bytes > 0 ? " (" + format_bytes(cache.size_bytes) + ")" : "";
  const std::string reason = cache.reason.empty() ? "" : ": " + cache.reason;
  print_line("cache     " + cache.state + " " + cache.file + size + reason);
}

void print_slowest(const Explanation& explanation) {
  if (explanation.time_ns.empty()) return;
  std::vector<std::pair<double, std::string>> slowest;
  double total = 0;
  for (const NodePlacement& node : explanation.placement.nodes) {
    const auto found = explanation.time_ns.find(node.node);
    if (found == explanation.time_ns.end()) continue;
    if (node.parent < 0) total += found->second;
    slowest.emplace_back(found->second, node.op_type + "  " + node.node);
  }
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  print_line("time      " + format_time(total) + " in nodes of one run; the slowest:");
  for (size_t i = 0; i < std::min(slowest.size(), kMostSlow); ++i) {
    print_line(
        fitted(fmt::format("          {:>8} {:>4.0f}%  {}", format_time(slowest[i].first),
                           100 * slowest[i].first / std::max(total, 1.0), slowest[i].second)));
  }
}

// Prints the kernels, most frequent first; under each, the preferred implementations and why they
// refused.
void print_implementations(const Placement& placement) {
  struct Chosen {
    std::string name;
    size_t nodes = 0;
    std::map<std::string, size_t> refusals;
  };
  std::map<std::string, Chosen> by_name;
  for (const NodePlacement& node : placement.nodes) {
    if (node.implementation.empty()) continue;
    static constexpr std::string_view kSeparator = "; ";
    std::string_view rest = node.implementation;
    const auto next = [&rest] {
      const size_t end = std::min(rest.find(kSeparator), rest.size());
      std::string part(rest.substr(0, end));
      rest.remove_prefix(std::min(end + kSeparator.size(), rest.size()));
      return part;
    };
    const std::string name = node.kernel.substr(0, node.kernel.find('+')) + " by " + next();
    Chosen& chosen = by_name[name];
    chosen.name = name;
    ++chosen.nodes;
    while (!rest.empty()) ++chosen.refusals[next()];
  }
  std::vector<Chosen> rows;
  rows.reserve(by_name.size());
  for (auto& [name, chosen] : by_name) rows.push_back(std::move(chosen));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Chosen& a, const Chosen& b) { return a.nodes > b.nodes; });
  const char* label = "chosen  ";
  for (const Chosen& row : rows) {
    print_line(fitted(fmt::format("{}  {:>5}  {}", label, row.nodes, row.name)));
    for (const auto& [reason, nodes] : row.refusals)
      print_line(fitted(fmt::format("          {:>11}  {}", nodes, reason)));
    label = "        ";
  }
}

void print_nodes(const Explanation& explanation) {
  Table table({{"OPERATOR"},
               {"DEVICE"},
               {"PROVIDER"},
               {"KERNEL"},
               {"TIME", Table::Align::kRight},
               {"NODE"},
               {"REASON"}});
  for (const NodePlacement& node : explanation.placement.nodes) {
    const std::string domain = node.domain.empty() ? "" : node.domain + "::";
    const auto time = explanation.time_ns.find(node.node);
    table.add({domain + node.op_type,
               node.device.empty() ? paint("none", Color::kBad) : node.device, node.provider,
               node.kernel, time == explanation.time_ns.end() ? "" : format_time(time->second),
               node.node, node.reason});
  }
  if (explanation.placement.nodes.empty()) return;
  print_line("");
  table.print();
}

void print(const Explanation& explanation, const ExplainOptions& options) {
  const Placement& placement = explanation.placement;
  const auto refused = std::count_if(placement.nodes.begin(), placement.nodes.end(),
                                     [](const NodePlacement& node) { return node.device.empty(); });
  print_line(fmt::format("model     {}", explanation.model));
  print_line(placement.compatible
                 ? "verdict   " + paint("runs", Color::kGood) + " on " + placement.wanted
                 : fmt::format("verdict   {} on {}: {} of {} nodes have no device",
                               paint("does not run", Color::kBad), placement.wanted, refused,
                               placement.nodes.size()));
  print_fallback(placement);
  print_line("counts    " + count_text(placement));
  print_devices(placement);
  print_implementations(placement);
  print_copies(placement);
  print_memory(explanation);
  print_compiled_cache(explanation.artefact);
  print_slowest(explanation);
  print_warnings(placement);
  if (options.page.empty()) {
    print_nodes(explanation);
  } else {
    print_line("page      " + options.page);
  }
}

Status explain(const ExplainOptions& options) {
  const auto runtime = make_runtime(options);
  const Explanation explanation = explain_model(*runtime, options);
  if (!options.page.empty()) write_page(options.page, explanation);
  if (options.json) {
    print_json(to_json(explanation));
  } else {
    print(explanation, options);
  }
  return explanation.placement.compatible ? kGood : kNo;
}

}  // namespace

void add_explain(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command =
      app.add_subcommand("explain", "Which node runs where and why, copies, memory, time");
  add_model_options(*command, *options);
  command
      ->add_option("--html", options->page,
                   "Write a page that shows the graph: one file that any browser opens")
      ->type_name("FILE");
  command->add_flag("--run", options->run,
                    "Run once with the inputs below, so that the plan's memory is known");
  CLI::Option* measure =
      command
          ->add_option("--measure", options->measure,
                       "Run that often and tell each node's time; inputs not given are random")
          ->type_name("N")
          ->check(CLI::Range(1, 100000));
  command
      ->add_option("--profile", options->trace_file,
                   "Take each node's time from a trace that gantry bench --profile wrote")
      ->type_name("FILE")
      ->excludes(measure);
  add_input_options(*command, options->inputs);
  command->callback([options, &chosen] {
    if (options->measure > 0) options->inputs.random = true;
    chosen = [options] { return explain(*options); };
  });
}

}  // namespace gantry::cli
