// SPDX-License-Identifier: Apache-2.0
// Scan: iterates a body over slices of tensors. Version 8 runs once for each batch; version 9 and
// later has no batch and may choose axes and directions.
#include <algorithm>
#include <cstring>

#include "schedule/execution_context.h"

namespace gantry {
namespace {

// How a tensor [.., T, ..] is cut along one axis: `outer` rows, each with T pieces of
// `piece_bytes`.
struct Cut {
  int64_t outer = 1;
  int64_t extent = 1;
  uint64_t piece_bytes = 0;

  Cut(const std::vector<int64_t>& shape, size_t axis, uint64_t element_bytes) {
    for (size_t i = 0; i < axis; ++i) outer *= shape[i];
    extent = shape[axis];
    piece_bytes = element_bytes;
    for (size_t i = axis + 1; i < shape.size(); ++i) piece_bytes *= static_cast<uint64_t>(shape[i]);
  }
  [[nodiscard]] uint64_t slice_bytes() const { return static_cast<uint64_t>(outer) * piece_bytes; }
  void read(const void* whole, int64_t index, void* slice) const {
    copy(static_cast<const std::byte*>(whole) + static_cast<uint64_t>(index) * piece_bytes,
         static_cast<uint64_t>(extent) * piece_bytes, slice, piece_bytes);
  }
  void write(void* whole, int64_t index, const void* slice) const {
    copy(slice, piece_bytes,
         static_cast<std::byte*>(whole) + static_cast<uint64_t>(index) * piece_bytes,
         static_cast<uint64_t>(extent) * piece_bytes);
  }

 private:
  void copy(const void* from, uint64_t from_pitch, void* to, uint64_t to_pitch) const {
    if (piece_bytes == 0) return;
    for (int64_t row = 0; row < outer; ++row) {
      std::memcpy(static_cast<std::byte*>(to) + static_cast<uint64_t>(row) * to_pitch,
                  static_cast<const std::byte*>(from) + static_cast<uint64_t>(row) * from_pitch,
                  piece_bytes);
    }
  }
};

class ScanRun {
 public:
  ScanRun(Frame& frame, uint32_t step_index)
      : frame_(frame),
        step_(frame.program().steps()[step_index]),
        node_(*step_.control),
        body_(frame.child(step_index, 0)),
        state_(frame.control(step_index)),
        has_batch_(node_.since_version < 9) {
    first_input_ = has_batch_ ? 1 : 0;  // version 8 starts with the optional sequence lengths
    const size_t data_inputs = node_.inputs.size() - first_input_;
    const auto scans = node_.get<int64_t>("num_scan_inputs", 0);
    if (scans < 1 || static_cast<size_t>(scans) > data_inputs ||
        body_.program().inputs().size() != data_inputs) {
      throw Error(Code::kInvalidModel, step_.label + ": num_scan_inputs is " +
                                           std::to_string(scans) + ", the node has " +
                                           std::to_string(data_inputs) + " inputs and its body " +
                                           std::to_string(body_.program().inputs().size()));
    }
    scan_inputs_ = static_cast<size_t>(scans);
    states_ = data_inputs - scan_inputs_;
    if (body_.program().outputs().size() < states_ ||
        body_.program().outputs().size() != step_.outputs.size()) {
      throw Error(Code::kInvalidModel, step_.label + ": the body has " +
                                           std::to_string(body_.program().outputs().size()) +
                                           " outputs, the node " +
                                           std::to_string(step_.outputs.size()));
    }
    scan_outputs_ = step_.outputs.size() - states_;
    if (state_.carried.size() != states_ || state_.collected.size() != scan_inputs_) {
      state_.carried = std::vector<Slot>(states_);
      state_.next = std::vector<Slot>(states_);
      state_.collected = std::vector<Slot>(scan_inputs_);
    }
  }

  void run() {
    const int64_t batches = has_batch_ ? extent_of(0, 0) : 1;
    for (int64_t batch = 0; batch < batches; ++batch) run_batch(batch, batches);
    if (batches == 0) make_outputs_without_iterations(0);
    for (Slot& slot : state_.carried) clear_slot(slot);
    for (Slot& slot : state_.collected) clear_slot(slot);
  }

 private:
  [[nodiscard]] const gantry_value& input(size_t i) const {
    const gantry_value& value = frame_.slot(step_.inputs[first_input_ + i]).get();
    if (value.kind != GANTRY_KIND_TENSOR || bits_of(value.dtype) < 8) {
      throw Error(Code::kUnsupported, step_.label + ": cannot scan over a " + describe(value));
    }
    return value;
  }
  [[nodiscard]] int64_t extent_of(size_t i, size_t axis) const {
    const gantry_value& value = input(i);
    if (axis >= value.shape.size()) {
      throw Error(Code::kInvalidModel, step_.label + ": input " + std::to_string(i) +
                                           " has no axis " + std::to_string(axis) + ", it is " +
                                           describe(value));
    }
    return value.shape[axis];
  }
  static uint64_t element_bytes(const gantry_value& value) { return bits_of(value.dtype) / 8; }

  [[nodiscard]] size_t axis_of(const char* attribute, size_t scan, size_t rank) const {
    const auto axes = node_.get<std::vector<int64_t>>(attribute, {});
    int64_t axis = scan < axes.size() ? axes[scan] : 0;
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (axis < 0 || axis >= static_cast<int64_t>(rank)) {
      throw Error(Code::kInvalidModel, step_.label + ": " + attribute + " names axis " +
                                           std::to_string(axis) + " of a rank-" +
                                           std::to_string(rank) + " tensor");
    }
    return static_cast<size_t>(axis);
  }
  [[nodiscard]] bool is_reverse(const char* attribute, size_t scan) const {
    const auto directions = node_.get<std::vector<int64_t>>(attribute, {});
    return scan < directions.size() && directions[scan] == 1;
  }

  // Shape and address of one batch's part of an input: without batches all of it.
  struct Part {
    std::vector<int64_t> shape;
    const std::byte* data;
  };
  [[nodiscard]] Part part_of(size_t i, int64_t batch, int64_t batches) const {
    const gantry_value& value = input(i);
    Part part{value.shape, static_cast<const std::byte*>(value.view.data)};
    if (has_batch_) {
      if (extent_of(i, 0) != batches) {
        throw Error(Code::kInvalidModel, step_.label + ": inputs differ in their batch extent");
      }
      part.shape.erase(part.shape.begin());
      part.data +=
          static_cast<uint64_t>(batch) * (value.view.size_bytes / static_cast<uint64_t>(batches));
    }
    return part;
  }

  void run_batch(int64_t batch, int64_t batches) {
    for (size_t i = 0; i < states_; ++i) {
      const Part part = part_of(i, batch, batches);
      Slot& slot = state_.carried[i];
      clear_slot(slot);
      const uint64_t bytes = bytes_of(input(i).dtype, element_count(part.shape));
      slot.value.set_tensor(input(i).dtype, part.shape.data(), part.shape.size(),
                            const_cast<std::byte*>(part.data), bytes);
    }
    const int64_t length = sequence_length(batch, batches);
    for (int64_t t = 0; t < length; ++t) iterate(t, length, batch, batches);
    if (length == 0) make_outputs_without_iterations(batches);
    for (size_t i = 0; i < states_; ++i) {
      if (step_.wanted[i] && !is_handed_out_) hand_out_state(i, batch, batches);
    }
  }

  [[nodiscard]] int64_t sequence_length(int64_t batch, int64_t batches) const {
    const bool has_lengths = has_batch_ && step_.inputs[0] != kNoSlot;
    int64_t length = -1;
    for (size_t k = 0; k < scan_inputs_; ++k) {
      const size_t rank = input(states_ + k).shape.size();
      const size_t axis = has_batch_ ? 1 : axis_of("scan_input_axes", k, rank);
      const int64_t extent = extent_of(states_ + k, axis);
      if (length >= 0 && extent != length) {
        throw Error(Code::kInvalidModel, step_.label + ": scan inputs differ in length, " +
                                             std::to_string(length) + " and " +
                                             std::to_string(extent));
      }
      length = extent;
    }
    if (!has_lengths) return length;
    const gantry_value& lengths = frame_.slot(step_.inputs[0]).get();
    if (lengths.view.size_bytes != static_cast<uint64_t>(batches) * sizeof(int64_t)) {
      throw Error(Code::kInvalidModel, step_.label + ": sequence_lens must have one entry a batch");
    }
    const int64_t wanted = static_cast<const int64_t*>(lengths.view.data)[batch];
    if (wanted < 0 || wanted > length) {
      throw Error(Code::kInvalidModel, step_.label + ": sequence_lens names " +
                                           std::to_string(wanted) + " of " +
                                           std::to_string(length));
    }
    return wanted;
  }

  void iterate(int64_t t, int64_t length, int64_t batch, int64_t batches) {
    if (const Code code = frame_.context().stop_code(); code != Code::kOk)
      throw Error(code, step_.label + ": the run was stopped");
    const std::vector<uint32_t>& inputs = body_.program().inputs();
    for (size_t i = 0; i < states_; ++i) body_.set_from(inputs[i], state_.carried[i]);
    for (size_t k = 0; k < scan_inputs_; ++k) pass_slice(k, t, length, batch, batches);
    const std::vector<uint32_t>& captures = body_.program().captures();
    for (size_t i = 0; i < captures.size(); ++i) {
      if (captures[i] != kNoSlot)
        body_.set_from(captures[i], frame_.slot(step_.inputs[node_.inputs.size() + i]));
    }
    const std::vector<OutputSource>& outputs = body_.program().outputs();
    // What the last iteration makes goes where it stays.
    const bool is_last = !has_batch_ && t + 1 == length;
    for (size_t i = 0; is_last && i < states_; ++i) {
      if (step_.wanted[i]) body_.deliver(outputs[i].slot, frame_, step_.outputs[i]);
    }
    const TraceSpan span(frame_.context().trace(), "control flow", "iteration");
    body_.run();
    body_.wait_for_outputs();
    for (size_t k = 0; k < scan_outputs_; ++k) {
      if (step_.wanted[states_ + k])
        put_slice(k, t, length, batch, batches, body_.slot(outputs[states_ + k].slot).get());
    }
    for (size_t i = 0; i < states_; ++i) {
      if (!is_last) copy_into(state_.next[i], body_.slot(outputs[i].slot).get());
      if (is_last && step_.wanted[i]) frame_.take_output(step_.outputs[i], body_, outputs[i].slot);
    }
    is_handed_out_ = is_last;
    body_.reset();
    for (Slot& slot : state_.carried) clear_slot(slot);
    state_.carried.swap(state_.next);
  }

  // A dense copy of a tensor in memory of its own.
  void copy_into(Slot& target, const gantry_value& value) {
    clear_slot(target);
    if (value.kind != GANTRY_KIND_TENSOR || value.dtype == DType::kString) {
      throw Error(Code::kUnsupported, step_.label + ": cannot carry a " + describe(value));
    }
    target.block = frame_.context().pool(0).allocate(std::max<uint64_t>(value.view.size_bytes, 1));
    if (value.view.size_bytes > 0)
      std::memcpy(target.block->data, value.view.data, value.view.size_bytes);
    target.value.set_tensor(value.dtype, value.view.shape, value.view.rank, target.block->data,
                            value.view.size_bytes);
  }

  void pass_slice(size_t k, int64_t t, int64_t length, int64_t batch, int64_t batches) {
    const Part part = part_of(states_ + k, batch, batches);
    const gantry_value& whole = input(states_ + k);
    const size_t axis = has_batch_ ? 0 : axis_of("scan_input_axes", k, part.shape.size());
    const Cut cut(part.shape, axis, element_bytes(whole));
    Slot& slice = state_.collected[k];
    if (!slice.block || slice.block->size_bytes < cut.slice_bytes()) {
      clear_slot(slice);
      slice.block = frame_.context().pool(0).allocate(std::max<uint64_t>(cut.slice_bytes(), 1));
    }
    const bool reverse = is_reverse(has_batch_ ? "directions" : "scan_input_directions", k);
    cut.read(part.data, reverse ? length - 1 - t : t, slice.block->data);
    std::vector<int64_t> shape = part.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    slice.value.set_tensor(whole.dtype, shape.data(), shape.size(), slice.block->data,
                           cut.slice_bytes());
    body_.set_view(body_.program().inputs()[states_ + k], slice.value);
  }

  void put_slice(size_t k, int64_t t, int64_t length, int64_t batch, int64_t batches,
                 const gantry_value& value) {
    if (value.kind != GANTRY_KIND_TENSOR || bits_of(value.dtype) < 8) {
      throw Error(Code::kUnsupported, step_.label + ": cannot stack a " + describe(value));
    }
    const uint32_t slot = step_.outputs[states_ + k];
    std::vector<int64_t> shape = value.shape;
    const size_t axis = has_batch_ ? 0 : axis_of("scan_output_axes", k, shape.size() + 1);
    const int64_t extent = has_batch_ ? extent_of(states_, 1) : length;
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extent);
    const uint64_t bytes = bytes_of(value.dtype, element_count(shape));
    std::vector<int64_t> full = shape;
    if (has_batch_) full.insert(full.begin(), batches);
    if (t == 0 && batch == 0) {
      const gantry_tensor* made =
          frame_.allocate(slot, value.dtype, static_cast<uint32_t>(full.size()), full.data());
      // A batch may be shorter than others; what it does not reach is zero.
      if (has_batch_ && made->size_bytes > 0) std::memset(made->data, 0, made->size_bytes);
    }
    const gantry_value& target = frame_.slot(slot).get();
    if (target.shape != full) {
      throw Error(Code::kInvalidModel, step_.label + ": scan output " + std::to_string(k) +
                                           " changed its shape to " + describe(value));
    }
    const bool reverse = !has_batch_ && is_reverse("scan_output_directions", k);
    Cut(shape, axis, element_bytes(value))
        .write(static_cast<std::byte*>(target.view.data) + static_cast<uint64_t>(batch) * bytes,
               reverse ? length - 1 - t : t, value.view.data);
  }

  void hand_out_state(size_t i, int64_t batch, int64_t batches) {
    const uint32_t slot = step_.outputs[i];
    const gantry_value& value = state_.carried[i].get();
    if (batch == 0) {
      std::vector<int64_t> shape = value.shape;
      if (has_batch_) shape.insert(shape.begin(), batches);
      frame_.allocate(slot, value.dtype, static_cast<uint32_t>(shape.size()), shape.data());
    }
    if (value.view.size_bytes > 0) {
      std::memcpy(static_cast<std::byte*>(frame_.slot(slot).get().view.data) +
                      static_cast<uint64_t>(batch) * value.view.size_bytes,
                  value.view.data, value.view.size_bytes);
    }
  }

  // Scan outputs of a scan over nothing: their shape is known from the body's types only.
  void make_outputs_without_iterations(int64_t batches) {
    for (size_t k = 0; k < scan_outputs_; ++k) {
      if (!step_.wanted[states_ + k] || frame_.slot(step_.outputs[states_ + k]).block) continue;
      const TypeInfo& type =
          *body_.program().slots()[body_.program().outputs()[states_ + k].slot].type;
      std::vector<int64_t> shape;
      for (const int64_t extent : type.shape) shape.push_back(std::max<int64_t>(extent, 0));
      const size_t axis = has_batch_ ? 0 : axis_of("scan_output_axes", k, shape.size() + 1);
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 0);
      if (has_batch_) shape.insert(shape.begin(), batches);
      frame_.allocate(step_.outputs[states_ + k], type.dtype, static_cast<uint32_t>(shape.size()),
                      shape.data());
    }
  }

  Frame& frame_;
  const Step& step_;
  const Node& node_;
  Frame& body_;
  ControlState& state_;
  bool has_batch_;
  size_t first_input_ = 0;
  size_t states_ = 0;
  size_t scan_inputs_ = 0;
  size_t scan_outputs_ = 0;
  bool is_handed_out_ = false;  // the states: they stand in their outputs
};

}  // namespace

void run_scan(Frame& frame, uint32_t step_index) { ScanRun(frame, step_index).run(); }

}  // namespace gantry
