// SPDX-License-Identifier: Apache-2.0
// Times gantry::check, which reads a model file, infers types and asks the providers for claims but
// compiles nothing; and the placement alone, of a graph in memory.
//
// tools/bench/make_models.py FOLDER && gantry_placement_bench FOLDER [Google Benchmark's options]
#include <gantry/gantry.h>

#include <benchmark/benchmark.h>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "session/plan/plan_model.h"
#include "session/plan/preference.h"
#include "session/runtime_impl.h"

namespace {

std::string model_folder;

gantry::Runtime& runtime() {
  static gantry::Runtime instance;
  return instance;
}

void check_resnet50(benchmark::State& state) {
  gantry::SessionOptions options;
  options.device = "CPU";
  for (auto _ : state) {
    const gantry::Placement placement =
        gantry::check(runtime(), model_folder + "/resnet50.onnx", options);
    if (!placement.compatible) state.SkipWithError("resnet50.onnx cannot run on CPU");
  }
}
BENCHMARK(check_resnet50)->Unit(benchmark::kMillisecond);

/// 1: CPU; 3: SIM:0 preferred, a third of the nodes sent to SIM:1, the rest on CPU.
gantry::SessionOptions options_for(int device_count) {
  gantry::SessionOptions options;
  options.config_json = device_count == 1 ? R"({"placement": {"prefer": ["CPU"]}})"
                                          : R"({"placement": {"prefer": ["SIM:0", "CPU"],
      "rules": [{"op_type": "Neg", "device": "CPU"}, {"name": "right/*", "device": "SIM:1"}]}})";
  return options;
}

std::string mixed_model(const benchmark::State& state) {
  return model_folder + "/mixed_" + std::to_string(state.range(0)) + ".onnx";
}

void require_devices(benchmark::State& state, const gantry::Placement& placement, int count) {
  std::set<std::string> devices;
  for (const auto& node : placement.nodes) devices.insert(node.device);
  if (devices.size() != static_cast<size_t>(count))
    state.SkipWithError("the nodes are not on the devices that were asked for");
}

void check_mixed(benchmark::State& state, int device_count) {
  for (auto _ : state) {
    const gantry::Placement placement =
        gantry::check(runtime(), mixed_model(state), options_for(device_count));
    require_devices(state, placement, device_count);
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK_CAPTURE(check_mixed, one_device, 1)
    ->Unit(benchmark::kMillisecond)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Complexity(benchmark::oN);
BENCHMARK_CAPTURE(check_mixed, three_devices, 3)
    ->Unit(benchmark::kMillisecond)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Complexity(benchmark::oN);

void place_mixed(benchmark::State& state) {
  gantry::Runtime::Impl& shared = runtime().impl();
  const gantry::Config config = shared.session_config(options_for(3));
  const gantry::Preference preference = gantry::resolve_preference(shared.registry, config, "");
  const gantry::OnnxModel model(mixed_model(state));
  const std::unique_ptr<gantry::Graph> graph = model.to_graph();
  for (auto _ : state)
    benchmark::DoNotOptimize(gantry::place(*graph, preference.candidates, preference.policy));
  require_devices(
      state, gantry::describe(*gantry::place(*graph, preference.candidates, preference.policy)), 3);
  state.SetComplexityN(state.range(0));
}
BENCHMARK(place_mixed)
    ->Unit(benchmark::kMillisecond)
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Complexity(benchmark::oN);

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr,
                 "usage: gantry_placement_bench FOLDER, which tools/bench/make_models.py fills\n");
    return 2;
  }
  model_folder = argv[1];
  try {
    benchmark::RunSpecifiedBenchmarks();
  } catch (const gantry::Error& error) {
    std::fprintf(stderr, "gantry_placement_bench: %s\n", error.what());
    return 3;
  }
  benchmark::Shutdown();
  return 0;
}
