// SPDX-License-Identifier: Apache-2.0
// The CPU provider: one device, CPU:0, whose kernels read and write host memory.
#include <gantry/sdk/provider.h>
#include <gantry/sdk/work.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>

#include "families.h"
#include "fusions/fusions.h"

namespace gantry::cpu {
namespace {

/// The CPU model of the system ("AMD EPYC 9B45"), or "CPU" if it is unknown.
std::string cpu_model_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t text = line.find_first_not_of(" \t", line.find(':') + 1);
    if (text != std::string::npos) return line.substr(text);
  }
  return "CPU";
}

uint64_t physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && page_bytes > 0
             ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)
             : 0;
}

class CpuProvider final : public sdk::Provider {
 public:
  explicit CpuProvider(const gantry_offer& offer)
      : Provider(offer, "cpu", all_kernels(), fusions()) {}

  void devices(const gantry_device_sink& sink) override {
    const std::string name = cpu_model_name();
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("CPU");
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str(name);
    info.memory_bytes = physical_memory_bytes();
    sink.device(sink.self, &info);
  }

  // Roofline estimate for a few cores at half of their peak; placement needs the order of magnitude
  // only.
  [[nodiscard]] double estimated_ns(const sdk::NodeView& node, uint32_t) const override {
    constexpr double kStartNs = 500;
    constexpr double kOperationsPerNs = 50;
    constexpr double kBytesPerNs = 10;
    const sdk::Work work = sdk::work_of(node);
    if (!work.is_known) return -1;
    return kStartNs + std::max(work.operations / kOperationsPerNs, work.bytes / kBytesPerNs);
  }
};

}  // namespace
}  // namespace gantry::cpu

GANTRY_DEFINE_PROVIDER(gantry::cpu::CpuProvider)
