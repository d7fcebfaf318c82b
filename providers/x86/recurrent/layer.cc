// SPDX-License-Identifier: Apache-2.0
#include "recurrent/layer.h"

#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "onednn/threads.h"
#include "simd/blocking.h"

namespace gantry::x86 {
namespace {

float* floats(sdk::Call& call, int slot, std::initializer_list<int64_t> shape) {
  return static_cast<float*>(call.output(slot, GANTRY_FLOAT, shape).data);
}

/// Stride from sequence to sequence of a state, in elements.
int64_t state_stride(const LayerForm& form) { return unit_blocks_of(form.hidden) * kUnitBlock; }

/// True if attribute `activations` is absent or names the operator's default functions.
bool has_default_activations(const sdk::NodeView& node, std::string_view op_type) {
  const std::vector<std::string> names = node.get_strings("activations");
  const bool is_rnn = op_type == "RNN";
  const size_t each = is_rnn ? 1 : op_type == "LSTM" ? 3 : 2;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i];
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (name != (i % each == 0 && !is_rnn ? "sigmoid" : "tanh")) return false;
  }
  const std::string direction = node.get_string("direction", "forward");
  return names.empty() || names.size() == (direction == "bidirectional" ? 2 * each : each);
}

}  // namespace

LayerForm::LayerForm(CellKind cell, int64_t all_gates, const sdk::NodeView& node)
    : kind(cell),
      gates(all_gates),
      is_batch_first(node.get_int("layout", 0) != 0),
      starts_reverse(node.get_string("direction", "forward") == "reverse"),
      directions(node.get_string("direction", "forward") == "bidirectional" ? 2 : 1) {}

bool has_shape(const sdk::ValueView& value, std::initializer_list<int64_t> extents) {
  int axis = 0;
  return value.rank() == static_cast<int>(extents.size()) &&
         std::all_of(extents.begin(), extents.end(),
                     [&](int64_t extent) { return value.extent(axis++) == extent; });
}

std::string layer_refusal(const sdk::NodeView& node, std::string_view op_type) {
  const bool is_lstm = op_type == "LSTM";
  if (node.input(kLayerLengths).present()) return "its sequences may differ in length";
  if (is_lstm && node.input(kLayerPeepholes).present()) return "its cells are seen by its gates";
  if (!has_default_activations(node, op_type))
    return "it has other functions than Sigmoid and Tanh";
  if (node.has("clip")) return "its sums are limited";
  if (is_lstm && node.get_int("input_forget", 0) != 0) return "its gates are coupled";
  return {};
}

void RecurrentLayer::run(sdk::Call& call) const {
  const Sizes sizes = resolve(call);
  const int64_t rows = sizes.steps * sizes.batch;
  const int64_t d = form_.directions;
  const int64_t h = form_.hidden;
  Results to;
  if (call.wants(kY)) {
    to.y = form_.is_batch_first ? floats(call, kY, {sizes.batch, sizes.steps, d, h})
                                : floats(call, kY, {sizes.steps, d, sizes.batch, h});
  }
  const auto state = [&](int slot) {
    return form_.is_batch_first ? floats(call, slot, {sizes.batch, d, h})
                                : floats(call, slot, {d, sizes.batch, h});
  };
  if (call.wants(kYH)) to.last_h = state(kYH);
  if (call.wants(kYC)) to.last_c = state(kYC);
  if (sizes.batch == 0) return;
  auto* projected = call.scratch<float>(rows * d * form_.projected.width);
  if (rows > 0) project(call, rows, projected);
  run_tasks(call, sizes, projected, to);
}

int64_t RecurrentLayer::step_bytes(int64_t) const { return 0; }

RecurrentLayer::Sizes RecurrentLayer::resolve(const sdk::Call& call) const {
  const sdk::Shape x = call.shape(kLayerX);
  if (x.rank != 3 || x[2] != form_.input) {
    throw sdk::Error(
        GANTRY_INVALID_ARGUMENT,
        label_ + ": input 0 was expected to have three axes, the last of extent " +
            std::to_string(form_.input) + " as the weights have it, and has " +
            (x.rank == 3 ? "extent " + std::to_string(x[2]) : std::to_string(x.rank) + " axes"));
  }
  const Sizes sizes{x[form_.is_batch_first ? 1 : 0], x[form_.is_batch_first ? 0 : 1]};
  const std::array<int64_t, 3> wanted = {form_.is_batch_first ? sizes.batch : form_.directions,
                                         form_.is_batch_first ? form_.directions : sizes.batch,
                                         form_.hidden};
  for (const int slot : {kLayerInitialH, kLayerInitialC}) {
    if (!call.has_input(slot) || call.shape(slot) == sdk::Shape(wanted.data(), 3)) continue;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     label_ + ": input " + std::to_string(slot) +
                         ", an initial state, was expected to have shape [" +
                         std::to_string(wanted[0]) + ", " + std::to_string(wanted[1]) + ", " +
                         std::to_string(wanted[2]) + "]");
  }
  return sizes;
}

void RecurrentLayer::run_tasks(sdk::Call& call, const Sizes& sizes, const float* projected,
                               const Results& to) const {
  const int threads = call.thread_count();
  const int64_t parts = std::clamp<int64_t>((threads + form_.directions - 1) / form_.directions, 1,
                                            std::max<int64_t>(1, sizes.batch / parting_.sequences));
  const int64_t tasks = form_.directions * parts;
  const int64_t stride = state_stride(form_);
  const int64_t of_state = sizes.batch * stride;
  auto* states = call.scratch<float>(form_.directions * 3 * of_state);
  const int64_t of_step = step_bytes(divided_up(sizes.batch, parts));
  auto* memory = call.scratch<std::byte>(tasks * of_step);
  const int64_t products = sizes.batch * form_.width() * form_.hidden / parts;
  const bool parts_units = tasks < threads && products >= parting_.products;
  const bool parts_tasks = products * sizes.steps >= parting_.products;
  call.parallel_for(tasks, parts_tasks ? 1 : tasks, [&](int64_t begin, int64_t end) {
    const FlushDenormals flush;
    for (int64_t index = begin; index < end; ++index) {
      const int64_t part = index % parts;
      Task task;
      task.direction = index / parts;
      task.first = part * sizes.batch / parts;
      task.rows = (part + 1) * sizes.batch / parts - task.first;
      float* own = states + task.direction * 3 * of_state + task.first * stride;
      task.before = own;
      task.after = own + of_state;
      task.cell = own + 2 * of_state;
      task.memory = memory + index * of_step;
      run_task(call, sizes, projected, to, task, parts_units ? threads : 1);
    }
  });
}

/// Row of a state tensor, [directions, batch] or, if is_batch_first, [batch, directions].
int64_t RecurrentLayer::state_row(const Sizes& sizes, int64_t direction, int64_t sequence) const {
  return form_.is_batch_first ? sequence * form_.directions + direction
                              : direction * sizes.batch + sequence;
}

void RecurrentLayer::load_state(sdk::Call& call, const Sizes& sizes, const Task& task, int slot,
                                float* state) const {
  const int64_t stride = state_stride(form_);
  for (int64_t row = 0; row < task.rows; ++row) {
    float* to = state + row * stride;
    if (call.has_input(slot)) {
      const int64_t from = state_row(sizes, task.direction, task.first + row);
      std::copy_n(call.data<float>(slot) + from * form_.hidden, form_.hidden, to);
    } else {
      std::fill_n(to, form_.hidden, 0.0F);
    }
  }
}

void RecurrentLayer::store_state(const Sizes& sizes, const Task& task, const float* state,
                                 float* to) const {
  if (!to) return;
  const int64_t stride = state_stride(form_);
  for (int64_t row = 0; row < task.rows; ++row) {
    const int64_t offset = state_row(sizes, task.direction, task.first + row);
    std::copy_n(state + row * stride, form_.hidden, to + offset * form_.hidden);
  }
}

void RecurrentLayer::run_task(sdk::Call& call, const Sizes& sizes, const float* projected,
                              const Results& to, Task task, int threads) const {
  load_state(call, sizes, task, kLayerInitialH, task.before);
  if (form_.kind == CellKind::kLstm) load_state(call, sizes, task, kLayerInitialC, task.cell);
  const int64_t d = form_.directions;
  const int64_t h = form_.hidden;
  const int64_t from_sequence = form_.is_batch_first ? sizes.steps : 1;
  const int64_t from_step = form_.is_batch_first ? 1 : sizes.batch;
  RecurrentStep step;
  step.kind = form_.kind;
  step.hidden = h;
  step.rows = task.rows;
  step.projected_stride = from_sequence * d * form_.projected.width;
  step.projected_layout = form_.projected;
  step.state_stride = state_stride(form_);
  step.result_stride = form_.is_batch_first ? sizes.steps * d * h : h;
  step.cell = task.cell;
  const bool is_reverse = form_.starts_reverse || task.direction == 1;
  for (int64_t i = 0; i < sizes.steps; ++i) {
    const int64_t time = is_reverse ? sizes.steps - 1 - i : i;
    const int64_t row = time * from_step + task.first * from_sequence;
    step.projected = projected + (row * d + task.direction) * form_.projected.width;
    if (to.y) {
      const int64_t offset = form_.is_batch_first
                                 ? (task.first * sizes.steps + time) * d + task.direction
                                 : (time * d + task.direction) * sizes.batch + task.first;
      step.result = to.y + offset * h;
    }
    step.before = task.before;
    step.after = task.after;
    run_step(call, step, task.direction, threads, task.memory);
    std::swap(task.before, task.after);
  }
  store_state(sizes, task, task.before, to.last_h);
  store_state(sizes, task, task.cell, to.last_c);
}

}  // namespace gantry::x86
