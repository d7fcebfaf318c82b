// SPDX-License-Identifier: Apache-2.0
// Times gantry's overhead: runs whose kernels do almost nothing; and the time and memory of
// loading.
//
// tools/bench/make_models.py FOLDER && gantry_overhead_bench FOLDER [Google Benchmark's options]
#include <gantry/gantry.h>

#include <benchmark/benchmark.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int64_t kElements = 16;

std::string model_folder;

std::string model(const std::string& name) { return model_folder + "/" + name; }

gantry::Runtime& runtime() {
  static gantry::Runtime instance;
  return instance;
}

// One thread: measures the dispatch of kernels, not parallel work.
gantry::SessionOptions one_thread() {
  gantry::SessionOptions options;
  options.config_json = R"({"session": {"threads": 1}})";
  return options;
}

uint64_t resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kibibytes = 0;
    if (word == "VmRSS:" && status >> kibibytes) return 1024 * kibibytes;
  }
  return 0;
}

/// Runs a model with bound inputs and outputs of 16 floats. `nodes`: nodes of the model, to report
/// the time for each.
void run_bound(benchmark::State& state, const std::string& name, double nodes) {
  gantry::Session session(runtime(), model(name), one_thread());
  gantry::Binding binding(session);
  binding.input("x", gantry::Tensor({kElements}, std::vector<float>(kElements, 1.0f)));
  binding.output("y", gantry::Tensor(gantry::DType::kFloat, {kElements}));
  binding.run();
  for (auto _ : state) binding.run();
  using benchmark::Counter;
  state.counters["time_per_node"] =
      Counter(nodes, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

void one_node(benchmark::State& state) { run_bound(state, "one_node.onnx", 1); }
BENCHMARK(one_node);

void one_node_by_name(benchmark::State& state) {
  gantry::Session session(runtime(), model("one_node.onnx"), one_thread());
  const gantry::Inputs inputs{
      {"x", gantry::Tensor({kElements}, std::vector<float>(kElements, 1.0f))}};
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
}
BENCHMARK(one_node_by_name);

void chained_adds(benchmark::State& state) { run_bound(state, "chained_adds.onnx", 1000); }
BENCHMARK(chained_adds);

void load_resnet50(benchmark::State& state) {
  const uint64_t before = resident_bytes();
  uint64_t growth = 0;
  // All but some thousandths of the file are weights.
  const uint64_t weights = std::filesystem::file_size(model("resnet50.onnx"));
  for (auto _ : state) {
    gantry::Session session(runtime(), model("resnet50.onnx"), one_thread());
    state.PauseTiming();
    if (growth == 0) {  // of the first session only: memory that it frees may be reused by the next
      const auto& info = session.inputs().front();
      session.run({{info.name, gantry::Tensor(info.dtype, info.shape)}});
      growth = resident_bytes() - before;
    }
    state.ResumeTiming();
  }
  state.counters["weight_bytes"] = static_cast<double>(weights);
  state.counters["growth_bytes"] = static_cast<double>(growth);
  state.counters["growth_per_weight_byte"] =
      static_cast<double>(growth) / static_cast<double>(weights);
}
BENCHMARK(load_resnet50)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: gantry_overhead_bench FOLDER, which tools/bench/make_models.py fills\n");
    return 2;
  }
  model_folder = argv[1];
  try {
    benchmark::RunSpecifiedBenchmarks();
  } catch (const gantry::Error& error) {
    std::fprintf(stderr, "gantry_overhead_bench: %s\n", error.what());
    return 3;
  }
  benchmark::Shutdown();
  return 0;
}
