// SPDX-License-Identifier: Apache-2.0
#include "plan/early_plan.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace gantry::cuda {
namespace {

// Inputs as the graph describes them. Values in host memory are copied, because constants may be
// unaligned.
struct EarlyInputs {
  std::vector<InputMetadata> info;
  std::vector<std::vector<std::max_align_t>> values;
};

bool is_whole(const sdk::ValueView& value) {
  if (value.kind() != GANTRY_KIND_TENSOR || value.dtype() == GANTRY_UNDEFINED || value.rank() < 0)
    return false;
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (value.extent(axis) < 0) return false;
  }
  return true;
}

// nullopt: a shape, or a value in host memory, is unknown.
std::optional<EarlyInputs> inputs_of(const gantry_host* host, const gantry_compile& args,
                                     const PlannedKernel& kernel) {
  EarlyInputs inputs;
  inputs.info.resize(args.input_count);
  for (uint32_t slot = 0; slot < args.input_count; ++slot) {
    if (args.inputs[slot] == GANTRY_NONE) continue;
    const sdk::ValueView value(host, args.graph->values[args.inputs[slot]]);
    if (!is_whole(value)) return std::nullopt;
    InputMetadata& info = inputs.info[slot];
    info.is_present = true;
    info.dtype = value.dtype();
    for (int axis = 0; axis < value.rank(); ++axis) info.shape.push_back(value.extent(axis));
    if (!kernel.is_host_input(static_cast<int>(slot))) continue;
    const gantry_tensor* const constant = value.constant();
    if (!constant || !constant->data) return std::nullopt;
    std::vector<std::max_align_t>& copy =
        inputs.values.emplace_back(constant->size_bytes / sizeof(std::max_align_t) + 1);
    const auto* const bytes = static_cast<const std::byte*>(constant->data);
    std::copy(bytes, bytes + constant->size_bytes, reinterpret_cast<std::byte*>(copy.data()));
    info.host_data = copy.data();
  }
  return inputs;
}

}  // namespace

std::vector<const Program*> expected_programs(const gantry_host* host, const gantry_compile& args,
                                              const PlannedKernel& kernel, Programs& programs,
                                              const EarlyDevice& device) {
  std::optional<EarlyInputs> inputs = inputs_of(host, args, kernel);
  if (!inputs) return {};
  std::vector<uint8_t> wanted(args.output_count);
  for (uint32_t slot = 0; slot < args.output_count; ++slot)
    wanted[slot] = args.outputs[slot] == GANTRY_NONE ? 0 : 1;
  LibrarySupport libraries;
  if (device.has_blas) libraries.supports_matmul = [](const MatmulShape&) { return true; };
  if (device.has_dnn) {
    libraries.supports_conv = [](const ConvShape&, uint64_t& out_workspace_bytes) {
      out_workspace_bytes = 0;
      return true;
    };
  }
  std::vector<const Program*> found;
  try {
    Planner planner(programs, std::move(inputs->info), std::move(wanted), device.multiprocessors,
                    std::move(libraries));
    kernel.operation().plan(planner);
    for_each_program(std::move(planner).finish().steps,
                     [&](const Program& program) { found.push_back(&program); });
  } catch (const sdk::Error&) {
    return {};
  }
  return found;
}

}  // namespace gantry::cuda
