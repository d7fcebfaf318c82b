// SPDX-License-Identifier: Apache-2.0
// Times provider discovery and loading: reading and checking 50 manifests without opening a
// library, and opening a provider whose library is already mapped.
//
// gantry_loading_bench [Google Benchmark's options]
#include <gantry/gantry.h>

#include <benchmark/benchmark.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

namespace fs = std::filesystem;

/// A folder with copies of one provider, each with its manifest, as the only search path.
class Providers {
 public:
  explicit Providers(int count) {
    std::string pattern = (fs::temp_directory_path() / "gantry-bench-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder " + pattern);
    folder_ = pattern;
    for (int i = 0; i < count; ++i) {
      const std::string name = "sim" + std::to_string(i);
      fs::copy_file(GANTRY_BENCH_PROVIDER, folder_ / (name + ".so"));
      std::ofstream(folder_ / (name + ".json"))
          << R"({"manifest_version": 1, "version": "1", "abi": {"major": 1, "minor": 0}, )"
          << R"("devices": ["SIM"], "name": ")" << name << R"(", "library": ")" << name
          << R"(.so"})";
    }
    setenv("GANTRY_PROVIDER_FILES", folder_.c_str(), 1);
    setenv("GANTRY_PROBE_CACHE", (folder_ / "cache").c_str(), 1);
  }
  ~Providers() {
    unsetenv("GANTRY_PROVIDER_FILES");
    unsetenv("GANTRY_PROBE_CACHE");
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Providers(const Providers&) = delete;
  Providers& operator=(const Providers&) = delete;

 private:
  fs::path folder_;
};

gantry::RuntimeOptions untried() {
  gantry::RuntimeOptions options;
  options.config_json = R"({"providers": {"probe": "never"}})";
  return options;
}

void find_manifests(benchmark::State& state) {
  const Providers providers(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    gantry::Runtime runtime(untried());
    benchmark::DoNotOptimize(&runtime);
  }
  gantry::Runtime runtime(untried());
  for (const gantry::ProviderReport& row : runtime.report())
    if (row.state != "not opened") state.SkipWithError(row.message.c_str());
}
BENCHMARK(find_manifests)->Arg(0)->Arg(1)->Arg(50)->Unit(benchmark::kMicrosecond);

void open_and_negotiate(benchmark::State& state) {
  const Providers providers(1);
  (void)gantry::Runtime(untried()).report(true);  // the linker's part; the library stays mapped
  for (auto _ : state) {
    state.PauseTiming();
    auto runtime = std::make_unique<gantry::Runtime>(untried());
    state.ResumeTiming();
    if (runtime->report(true)[0].state != "ready") state.SkipWithError("it could not be opened");
    state.PauseTiming();
    runtime.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(open_and_negotiate)->Unit(benchmark::kMicrosecond);

void open_in_a_child_first(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    const Providers providers(1);  // a new file each time, so that nothing is cached
    gantry::Runtime runtime;
    state.ResumeTiming();
    if (runtime.report(true)[0].state != "ready") state.SkipWithError("it could not be opened");
  }
}
BENCHMARK(open_in_a_child_first)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
