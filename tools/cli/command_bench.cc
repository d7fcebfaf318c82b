// SPDX-License-Identifier: Apache-2.0
// gantry bench: latency percentiles, throughput, load time, memory; a trace.
#include <gantry/model.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fmt/core.h>
#include <future>
#include <numeric>
#include <sched.h>
#include <system_error>
#include <tuple>

#include "command.h"
#include "inputs.h"
#include "options.h"
#include "output.h"
#include "process_memory.h"

namespace gantry::cli {
namespace {

struct BenchOptions : ModelOptions {
  InputOptions inputs;
  double seconds = 3;
  double warm_up_seconds = 0.5;
  bool nodes = false;
  std::string trace_file;  // empty: none
  uint64_t runs = 0;       // to measure; 0: as many as fit into `seconds`
  std::string vary;        // NAME=FROM:TO; empty: one set of inputs
  int callers = 1;         // threads that run the session concurrently
};

/// Times in nanoseconds. A sample is the mean of `runs_per_sample` runs: runs too short for the
/// clock are timed in groups.
struct Latency {
  std::vector<double> samples;  // sorted; of all callers
  uint64_t runs_per_sample = 1;
  double elapsed = 0;

  [[nodiscard]] uint64_t runs() const { return samples.size() * runs_per_sample; }
  [[nodiscard]] double runs_per_second() const {
    return 1e9 * static_cast<double>(runs()) / elapsed;
  }

  [[nodiscard]] double percentile(double percent) const {
    const auto last = static_cast<double>(samples.size() - 1);
    return samples[static_cast<size_t>(std::lround(percent / 100 * last))];
  }
  [[nodiscard]] double mean() const {
    return std::accumulate(samples.begin(), samples.end(), 0.0) /
           static_cast<double>(samples.size());
  }
};

struct Measurement {
  double load_ms = 0;
  double first_run_ms = 0;
  Latency latency;
  uint64_t resident_growth = 0;  // bytes, from before loading to after the last run
  uint64_t peak_growth = 0;
  uint64_t model_weights = 0;  // bytes in the model file
  MemoryUse memory;
  MemoryUse early_memory;  // after the first runs of every set of inputs
  std::vector<NodeTime> nodes;
  size_t traced_runs = 0;
};

/// Runs the sets of inputs in turn. With a single set, inputs and outputs are bound if all are
/// tensors that can be bound.
class Runner {
 public:
  /// Runs several sets three times each: the first run records shapes, the second plans memory, the
  /// third may capture. Runs a single set once.
  Runner(Session& session, std::vector<Inputs> sets) : session_(session), sets_(std::move(sets)) {
    std::vector<Value> outputs;
    for (int round = 0; round < (sets_.size() > 1 ? 3 : 1); ++round) {
      for (const Inputs& inputs : sets_) outputs = session_.run_values(inputs);
      runs_ += sets_.size();
    }
    if (sets_.size() > 1) return;
    const auto is_bindable = [](const Value& value) {
      return value.kind() == Kind::kTensor && value.tensor().dtype() != DType::kString;
    };
    const Inputs& inputs = sets_.front();
    const bool bindable = std::all_of(outputs.begin(), outputs.end(), is_bindable) &&
                          std::all_of(inputs.begin(), inputs.end(),
                                      [&](const auto& input) { return is_bindable(input.second); });
    if (!bindable) return;
    binding_ = std::make_unique<Binding>(session_);
    for (const auto& [name, value] : inputs) binding_->input(name, value);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor like = outputs[i].tensor();
      binding_->output(session_.outputs()[i].name, Tensor(like.dtype(), like.shape()));
    }
  }
  void run() {
    ++runs_;
    if (binding_) {
      binding_->run();
    } else {
      session_.run_values(sets_[next_++ % sets_.size()]);
    }
  }
  /// So far, those of the constructor included.
  [[nodiscard]] size_t runs() const { return runs_; }

 private:
  Session& session_;
  std::vector<Inputs> sets_;
  size_t next_ = 0;
  size_t runs_ = 0;
  std::unique_ptr<Binding> binding_;
};

double nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

using Runners = std::vector<std::unique_ptr<Runner>>;

// Calls body(i) for each runner, each on its own thread. Rethrows an exception after all have
// finished.
template <class Body>
void for_each_caller(const Runners& runners, Body&& body) {
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < runners.size(); ++i)
    others.push_back(std::async(std::launch::async, [&body, i] { body(i); }));
  body(0);
  for (std::future<void>& other : others) other.get();
}

// Runs for `seconds`, at least once; returns the mean time of a run in nanoseconds.
double warm_up(Runner& runner, double seconds) {
  const Clock::time_point start = Clock::now();
  uint64_t runs = 0;
  do {
    runner.run();
    ++runs;
  } while (nanoseconds_since(start) < 1e9 * seconds);
  return nanoseconds_since(start) / static_cast<double>(runs);
}

// `runs`: total of all callers; 0: as many as fit into `seconds`.
Latency measure(const Runners& runners, double seconds, uint64_t runs, double expected_ns) {
  constexpr double kLeastSample = 20'000;  // ns; reading the clock is far below 1% of it
  Latency latency;
  latency.runs_per_sample =
      runs > 0 ? 1 : std::max<uint64_t>(1, static_cast<uint64_t>(kLeastSample / expected_ns));
  const double sample_ns = std::max(expected_ns, kLeastSample);
  std::vector<std::vector<double>> samples(runners.size());
  for (std::vector<double>& each : samples)
    each.reserve(static_cast<size_t>(2e9 * seconds / sample_ns) + 1);
  Progress progress("measuring");
  std::atomic<uint64_t> begun = 0;
  const Clock::time_point start = Clock::now();
  for_each_caller(runners, [&](size_t caller) {
    while (runs == 0 || begun.fetch_add(1) < runs) {
      const Clock::time_point sample = Clock::now();
      for (uint64_t i = 0; i < latency.runs_per_sample; ++i) runners[caller]->run();
      samples[caller].push_back(nanoseconds_since(sample) /
                                static_cast<double>(latency.runs_per_sample));
      const double elapsed = nanoseconds_since(start);
      if (caller == 0) {
        progress.show(runs > 0 ? static_cast<double>(begun) / static_cast<double>(runs)
                               : elapsed / (1e9 * seconds));
      }
      if (runs == 0 && elapsed >= 1e9 * seconds) break;
    }
  });
  latency.elapsed = nanoseconds_since(start);
  for (const std::vector<double>& each : samples)
    latency.samples.insert(latency.samples.end(), each.begin(), each.end());
  std::sort(latency.samples.begin(), latency.samples.end());
  return latency;
}

Measurement measure_model(Runtime& runtime, const BenchOptions& options) {
  Measurement result;
  SessionOptions session_with = session_options(options);
  session_with.profile = options.nodes;
  const uint64_t before = resident_bytes();
  Clock::time_point start = Clock::now();
  Session session(runtime, options.model, session_with);
  result.load_ms = milliseconds(Clock::now() - start);
  const std::vector<Inputs> sets = make_input_sets(session.inputs(), options.inputs, options.vary);
  start = Clock::now();
  session.run_values(sets.front());
  result.first_run_ms = milliseconds(Clock::now() - start);
  Runners runners;
  for (int i = 0; i < options.callers; ++i)
    runners.push_back(std::make_unique<Runner>(session, sets));
  result.early_memory = session.memory();
  double expected_ns = 0;
  for_each_caller(runners, [&](size_t caller) {
    const double mean = warm_up(*runners[caller], options.warm_up_seconds);
    if (caller == 0) expected_ns = mean;
  });
  // Before samples are stored, which are not memory of the model.
  result.resident_growth = resident_bytes() - std::min(before, resident_bytes());
  result.peak_growth = peak_resident_bytes() - std::min(before, peak_resident_bytes());
  session.reset_profile();
  result.latency = measure(runners, options.seconds, options.runs, expected_ns);
  result.memory = session.memory();
  result.model_weights = inspect(options.model).weight_bytes;
  if (options.nodes) result.nodes = session.profile();
  return result;
}

// Loads and runs the model again for the trace, so that the measured runs are without tracing.
// Returns the number of traced runs.
size_t take_trace(Runtime& runtime, const BenchOptions& options) {
  constexpr int kRuns = 20;
  BenchOptions traced = options;
  traced.profile = options.trace_file;
  size_t runs = 0;
  {
    Session session(runtime, options.model, session_options(traced));
    Runner runner(session, make_input_sets(session.inputs(), options.inputs, options.vary));
    for (int i = 0; i < kRuns; ++i) runner.run();
    runs = runner.runs();
  }
  // The session writes the file in its destructor, which cannot report errors.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(options.trace_file, ignored)) {
    throw Error(Code::kUnavailable, "the trace was not written; the log says why")
        .in(options.trace_file);
  }
  return runs;
}

// Threads that a run may use: the requested number, or every core available to this process.
int threads_of(const BenchOptions& options) {
  if (options.threads > 0) return options.threads;
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

// Sum over the main graph; the times of its nodes include their subgraphs.
double total_ns(const std::vector<NodeTime>& nodes) {
  return std::accumulate(nodes.begin(), nodes.end(), 0.0, [](double sum, const NodeTime& node) {
    return node.depth > 0 ? sum : sum + static_cast<double>(node.total_ns);
  });
}

Json times_to_json(const std::vector<NodeTime>& nodes) {
  const double total = std::max(total_ns(nodes), 1.0);
  Json json = Json::array();
  for (const NodeTime& node : nodes) {
    json.push_back({{"node", node.node},
                    {"op_type", node.op_type},
                    {"provider", node.provider},
                    {"device", node.device},
                    {"runs", node.runs},
                    {"depth", node.depth},
                    {"total_us", static_cast<double>(node.total_ns) / 1e3},
                    {"share", static_cast<double>(node.total_ns) / total}});
  }
  return json;
}

Json measurement_to_json(const Measurement& result, const BenchOptions& options) {
  const Latency& latency = result.latency;
  Json json{{"model", options.model},
            {"device", device_text(options)},
            {"threads", threads_of(options)},
            {"load_ms", result.load_ms},
            {"first_run_ms", result.first_run_ms},
            {"callers", options.callers},
            {"runs", latency.runs()},
            {"runs_per_second", latency.runs_per_second()},
            {"runs_per_sample", latency.runs_per_sample},
            {"latency_us",
             {{"min", latency.samples.front() / 1e3},
              {"p50", latency.percentile(50) / 1e3},
              {"p90", latency.percentile(90) / 1e3},
              {"p99", latency.percentile(99) / 1e3},
              {"max", latency.samples.back() / 1e3},
              {"mean", latency.mean() / 1e3}}},
            {"resident_growth_bytes", result.resident_growth},
            {"peak_growth_bytes", result.peak_growth},
            {"model_weights_bytes", result.model_weights},
            {"memory", to_json(result.memory)}};
  if (!options.vary.empty()) json["early_memory"] = to_json(result.early_memory);
  if (options.nodes) json["nodes"] = times_to_json(result.nodes);
  if (!options.trace_file.empty()) json["profile"] = options.trace_file;
  return json;
}

void print_nodes(const Measurement& result) {
  constexpr auto kRight = Table::Align::kRight;
  const double total = std::max(total_ns(result.nodes), 1.0);
  Table table(
      {{"TIME", kRight}, {"SHARE", kRight}, {"OPERATOR"}, {"DEVICE"}, {"PROVIDER"}, {"NODE"}});
  for (const NodeTime& node : result.nodes) {
    const auto time = static_cast<double>(node.total_ns);
    table.add({format_time(time / static_cast<double>(std::max<uint64_t>(node.runs, 1))),
               fmt::format("{:.1f}%", 100 * time / total), node.op_type, node.device, node.provider,
               node.node});
  }
  print_line("");
  table.print();
}

void print(const Measurement& result, const BenchOptions& options) {
  const Latency& latency = result.latency;
  const std::string callers =
      options.callers > 1 ? fmt::format(" for each of {} callers", options.callers) : "";
  print_line(fmt::format("device    {}, {} thread{}{}", device_text(options), threads_of(options),
                         threads_of(options) == 1 ? "" : "s", callers));
  print_line("load      " + format_time(1e6 * result.load_ms));
  print_line("first run " + format_time(1e6 * result.first_run_ms));
  print_line(fmt::format("latency   min {}  p50 {}  p90 {}  p99 {}  ({} runs)",
                         format_time(latency.samples.front()), format_time(latency.percentile(50)),
                         format_time(latency.percentile(90)), format_time(latency.percentile(99)),
                         latency.runs()));
  if (options.callers > 1)
    print_line(fmt::format("through   {:.1f} runs a second", latency.runs_per_second()));
  print_line(fmt::format("memory    {} grown, {} at its peak; arena {}, pool {}",
                         format_bytes(result.resident_growth), format_bytes(result.peak_growth),
                         format_bytes(result.memory.arena), format_bytes(result.memory.pool)));
  print_line("weights   " + weights_text(result.model_weights, result.memory));
  if (!options.trace_file.empty())
    print_line(fmt::format("trace     {}, of a load and {} runs after these", options.trace_file,
                           result.traced_runs));
  if (options.nodes) print_nodes(result);
}

Status bench(const BenchOptions& options) {
  const auto runtime = make_runtime(options);
  // Device discovery happens once per process and is not part of loading a model.
  std::ignore = runtime->supports_device(options.device.empty() ? "CPU" : options.device);
  Measurement result = measure_model(*runtime, options);
  if (!options.trace_file.empty()) result.traced_runs = take_trace(*runtime, options);
  if (options.json) {
    print_json(measurement_to_json(result, options));
  } else {
    print(result, options);
  }
  return kGood;
}

}  // namespace

void add_bench(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Latency percentiles, load time, memory; inputs not given are random");
  add_model_options(*command, *options);
  add_input_options(*command, options->inputs);
  options->inputs.random = true;
  command->add_option("--seconds", options->seconds, "How long to measure; default: 3")
      ->type_name("S")
      ->check(number_between(0, 86400));
  command
      ->add_option("--warm-up", options->warm_up_seconds,
                   "How long to run before that; default: 0.5")
      ->type_name("S")
      ->check(number_between(0, 86400));
  command->add_option("--runs", options->runs, "Measure that many runs, however long they take")
      ->type_name("N")
      ->check(CLI::Range(1, 100'000'000));
  command
      ->add_option("--callers", options->callers,
                   "Run the session from that many threads at once; default: 1. For throughput, as "
                   "many as there are cores, with --threads 1")
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--vary", options->vary,
                   "Give an extent, named as for --dim, each of these numbers in turn, run by run")
      ->type_name("NAME=FROM:TO");
  command->add_flag("--nodes", options->nodes,
                    "Print the time of each node; taking them costs some time itself");
  command
      ->add_option("--profile", options->trace_file,
                   "Then load and run the model anew and write a trace of that, in the Trace Event "
                   "Format that Perfetto reads")
      ->type_name("FILE");
  command->callback([options, &chosen] { chosen = [options] { return bench(*options); }; });
}

}  // namespace gantry::cli
