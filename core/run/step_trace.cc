// SPDX-License-Identifier: Apache-2.0
#include "run/step_trace.h"

#include <array>

#include "base/trace.h"
#include "run/frame.h"
#include "run/run_resources.h"

namespace gantry {
namespace {

constexpr size_t kMostTensors = 32;
constexpr size_t kMostRank = 16;
constexpr int64_t kNoTensor = -1;

/// Formats the payload of a record on the stack, so that recording allocates nothing.
struct TraceNumbers {
  std::array<int64_t, 2 + kMostTensors*(2 + kMostRank)> values;
  size_t count = 0;

  void add(int64_t number) { values[count++] = number; }
  void add(const gantry_tensor* tensor) {
    if (!tensor || tensor->rank > kMostRank) {
      add(kNoTensor);
      return;
    }
    add(static_cast<int64_t>(tensor->dtype));
    add(static_cast<int64_t>(tensor->rank));
    for (uint32_t i = 0; i < tensor->rank; ++i) add(tensor->shape[i]);
  }
};

std::optional<TracedTensor> read_tensor(std::span<const int64_t> payload, size_t& at) {
  const int64_t dtype = payload[at++];
  if (dtype == kNoTensor) return std::nullopt;
  const auto rank = static_cast<size_t>(payload[at++]);
  TracedTensor tensor{static_cast<DType>(dtype), {}};
  for (size_t i = 0; i < rank; ++i) tensor.shape.push_back(payload[at++]);
  return tensor;
}

}  // namespace

TracedCall read_call(std::span<const int64_t> payload) {
  TracedCall call;
  size_t at = 2;
  call.inputs.resize(static_cast<size_t>(payload[0]));
  call.outputs.resize(static_cast<size_t>(payload[1]));
  for (auto& input : call.inputs) input = read_tensor(payload, at);
  for (auto& output : call.outputs) output = read_tensor(payload, at);
  return call;
}

void Frame::note_step(const Step& step, StepCall& call, uint64_t start_ns) {
  Trace& trace = *resources_.trace();
  const uint64_t end_ns = Trace::now();
  call.total_ns += end_ns - start_ns;
  ++call.runs;
  if (!trace.keeps_records()) return;
  const size_t inputs = std::min(step.inputs.size(), kMostTensors / 2);
  const size_t outputs = std::min(step.outputs.size(), kMostTensors / 2);
  TraceNumbers numbers;
  numbers.add(static_cast<int64_t>(inputs));
  numbers.add(static_cast<int64_t>(outputs));
  const auto add_slot = [&](uint32_t slot) {
    const gantry_value* value = slot == kNoSlot ? nullptr : &slots_[slot].get();
    numbers.add(value && value->kind == GANTRY_KIND_TENSOR ? &value->view : nullptr);
  };
  for (size_t i = 0; i < inputs; ++i) add_slot(step.inputs[i]);
  for (size_t i = 0; i < outputs; ++i) add_slot(step.wanted[i] ? step.outputs[i] : kNoSlot);
  trace.add(TraceKind::kStep, &step, 0, start_ns, end_ns, {numbers.values.data(), numbers.count});
  if (step.space != 0) resources_.note_on_stream(step, start_ns);
  resources_.note_memory();
}

/// The steps of a launched capture have one record, as their own times cannot be measured. The time
/// is not added to the profile of the steps.
void Frame::note_replay(const Step& head, uint64_t start_ns) {
  Trace& trace = *resources_.trace();
  if (!trace.keeps_records()) return;
  const std::array<int64_t, 1> payload = {static_cast<int64_t>(head.capturable_steps)};
  trace.add(TraceKind::kReplay, &head, 0, start_ns, Trace::now(), payload);
  resources_.note_on_stream(head, start_ns, head.capturable_steps);
  resources_.note_memory();
}

}  // namespace gantry
