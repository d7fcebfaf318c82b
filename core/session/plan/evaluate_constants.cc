// SPDX-License-Identifier: Apache-2.0
#include "session/plan/evaluate_constants.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/run_limits.h"
#include "base/thread_pool.h"
#include "placement/placement.h"
#include "program/program.h"
#include "run/executor.h"
#include "session/config/precision.h"

namespace gantry {
namespace {

// One thread for a small graph: it is done before other threads have woken.
uint32_t threads_for(const Graph& graph) {
  constexpr uint64_t kParallelFromBytes = uint64_t{1} << 20;
  uint64_t size_bytes = 0;
  for (const auto& value : graph.values()) {
    const std::vector<int64_t>& shape = value->type.shape;
    const bool is_known =
        value->type.has_rank && std::find(shape.begin(), shape.end(), -1) == shape.end();
    if (is_known) size_bytes += bytes_of(value->type.dtype, element_count(shape));
  }
  return size_bytes < kParallelFromBytes ? 1 : hardware_threads();
}

}  // namespace

HostPreference folding_host(ProviderRegistry& registry, const Config& config) {
  Config exact = config;  // constants are folded at full precision
  exact.session.precision = kFullPrecision;
  return [&registry, exact = std::move(exact)] { return cpu_alone(registry, exact); };
}

std::vector<ValueRef> evaluate_constants(const HostPreference& find_host, const Graph& graph,
                                         uint64_t& left_bytes) {
  poll_load("constants were computed");
  try {
    const Preference host = find_host();
    const std::unique_ptr<GraphPlacement> placement = place(graph, host.candidates, {});
    if (!placement->complete()) return {};
    auto devices = std::make_shared<DeviceTable>(std::make_shared<MemoryBudget>(left_bytes));
    const uint32_t threads = threads_for(graph);
    auto program = std::make_unique<Program>(*placement, *devices, host.owners,
                                             BuildOptions{.threads = threads});
    Executor executor(std::move(program), std::move(devices), threads, nullptr, {});
    std::vector<ValueRef> outputs(graph.outputs().size());
    // The budget does not count outputs, which belong to the caller, so they are counted here.
    uint64_t left = left_bytes;
    const MakeOutput make = [&left](DType dtype, std::span<const int64_t> shape) {
      const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
      if (size_bytes > left)
        throw Error(Code::kOutOfMemory, "constants take more than session.memory_limit_bytes");
      left -= size_bytes;
      return make_tensor(dtype, {shape.begin(), shape.end()});
    };
    const RunLimits* limits = load_limits();
    executor.run({}, outputs, limits ? limits->remaining() : RunOptions(), &make);
    // The mapped constants read here are most often not read again.
    for (const auto& value : graph.values()) {
      if (value->constant) drop_pages(*value->constant);
    }
    left_bytes = left;
    return outputs;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace gantry
