// SPDX-License-Identifier: Apache-2.0
// ai.onnx Scan: iterates a body over slices of tensors. Version 8 runs once for each batch; version
// 9 and later have no batch and may choose axes and directions.
#include <algorithm>
#include <cstring>

#include "base/elements.h"
#include "run/control_flow.h"
#include "run/run_resources.h"

namespace gantry {
namespace {

using Shape = std::vector<int64_t>;

// How a tensor [.., T, ..] is cut along one axis into T slices, each of `outer` contiguous pieces
// of `length` elements. In batches, [B, T, ..], a slice is of one batch.
struct Cut {
  size_t axis = 0;
  int64_t extent = 0;
  int64_t outer = 1;
  int64_t length = 1;
  Shape slice;  // its shape

  Cut() = default;
  Cut(const Shape& shape, size_t axis, bool has_batch) : axis(axis), extent(shape[axis]) {
    for (size_t i = has_batch ? axis : 0; i < axis; ++i) outer *= shape[i];
    for (size_t i = axis + 1; i < shape.size(); ++i) length *= shape[i];
    for (size_t i = has_batch ? 1 : 0; i < shape.size(); ++i) {
      if (i != axis) slice.push_back(shape[i]);
    }
  }
  // The pieces of slice `index` in the tensor, and in a dense tensor of the slice alone.
  [[nodiscard]] StridedSegments inside(int64_t batch, int64_t index) const {
    return {(batch * extent + index) * length, extent * length};
  }
  [[nodiscard]] StridedSegments alone() const { return {0, length}; }
};

struct ScanInput {
  Cut cut;
  bool is_reverse = false;
};

struct ScanOutput {
  Cut cut;
  bool is_reverse = false;
  bool is_made = false;
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
      invalid("num_scan_inputs is " + std::to_string(scans) + ", the node has " +
              std::to_string(data_inputs) + " inputs and its body " +
              std::to_string(body_.program().inputs().size()));
    }
    inputs_.resize(static_cast<size_t>(scans));
    states_ = data_inputs - inputs_.size();
    if (body_.program().outputs().size() < states_ ||
        body_.program().outputs().size() != step_.outputs.size()) {
      invalid("the body has " + std::to_string(body_.program().outputs().size()) +
              " outputs, the node " + std::to_string(step_.outputs.size()));
    }
    outputs_.resize(step_.outputs.size() - states_);
    if (state_.carried.size() != states_ || state_.collected.size() != inputs_.size()) {
      state_.carried = std::vector<Slot>(states_);
      state_.next = std::vector<Slot>(states_);
      state_.collected = std::vector<Slot>(inputs_.size());
    }
  }

  void run() {
    batches_ = has_batch_ ? extent_of(0, 0) : 1;
    cut_inputs();
    for (int64_t batch = 0; batch < batches_; ++batch) run_batch(batch);
    for (size_t i = 0; batches_ == 0 && i < states_; ++i) {
      if (step_.wanted[i]) make_output(i, input(i).dtype, input(i).shape);
    }
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (step_.wanted[states_ + k] && !outputs_[k].is_made) make_without_iterations(k);
    }
    for (Slot& slot : state_.carried) clear_slot(slot);
    for (Slot& slot : state_.collected) clear_slot(slot);
  }

 private:
  [[noreturn]] void invalid(const std::string& what) const {
    throw Error(Code::kInvalidModel, step_.label + ": " + what);
  }

  [[nodiscard]] const gantry_value& input(size_t i) const {
    const gantry_value& value = frame_.slot(step_.inputs[first_input_ + i]).get();
    if (value.kind != GANTRY_KIND_TENSOR)
      invalid("input " + std::to_string(i) + " must be a tensor, found a " + describe(value));
    return value;
  }
  [[nodiscard]] int64_t extent_of(size_t i, size_t axis) const {
    const gantry_value& value = input(i);
    if (axis >= value.shape.size()) {
      invalid("input " + std::to_string(i) + " has no axis " + std::to_string(axis) + ", it is " +
              describe(value));
    }
    return value.shape[axis];
  }

  [[nodiscard]] size_t axis_of(const char* attribute, size_t scan, size_t rank) const {
    const auto axes = node_.get<std::vector<int64_t>>(attribute, {});
    const int64_t given = scan < axes.size() ? axes[scan] : 0;
    const auto end = static_cast<int64_t>(rank);
    if (given < -end || given >= end) {
      invalid(std::string(attribute) + " names axis " + std::to_string(given) + " of a rank-" +
              std::to_string(rank) + " tensor");
    }
    return static_cast<size_t>(given < 0 ? given + end : given);
  }
  [[nodiscard]] bool is_reverse(const char* attribute, size_t scan) const {
    const auto directions = node_.get<std::vector<int64_t>>(attribute, {});
    return scan < directions.size() && directions[scan] == 1;
  }

  void cut_inputs() {
    for (size_t i = 0; has_batch_ && i < states_ + inputs_.size(); ++i) {
      if (extent_of(i, 0) != batches_) invalid("inputs differ in their batch extent");
    }
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const gantry_value& whole = input(states_ + k);
      const size_t axis = has_batch_ ? 1 : axis_of("scan_input_axes", k, whole.shape.size());
      const int64_t extent = extent_of(states_ + k, axis);
      if (k > 0 && extent != length_) {
        invalid("scan inputs differ in length, " + std::to_string(length_) + " and " +
                std::to_string(extent));
      }
      length_ = extent;
      inputs_[k] = {Cut(whole.shape, axis, has_batch_),
                    is_reverse(has_batch_ ? "directions" : "scan_input_directions", k)};
    }
  }

  void run_batch(int64_t batch) {
    for (size_t i = 0; i < states_; ++i) begin_state(i, batch);
    const int64_t length = sequence_length(batch);
    for (int64_t t = 0; t < length; ++t) iterate(t, length, batch);
    for (size_t i = 0; i < states_; ++i) {
      if (step_.wanted[i] && !is_handed_out_) hand_out_state(i, batch);
    }
  }

  // Without batches the state is a view of the input, else a copy of one batch of it.
  void begin_state(size_t i, int64_t batch) {
    const Slot& source = frame_.slot(step_.inputs[first_input_ + i]);
    const gantry_value& whole = input(i);
    Slot& slot = state_.carried[i];
    if (has_batch_) {
      const Shape shape(whole.shape.begin() + 1, whole.shape.end());
      const int64_t count = element_count(shape);
      copy_elements(whole, {batch * count, 0}, make_slot(slot, whole.dtype, shape), {}, 1, count);
      return;
    }
    clear_slot(slot);
    slot.ref = source.ref;
    if (!source.ref) {
      slot.value.set_tensor(whole.dtype, whole.view.shape, whole.view.rank, whole.view.data,
                            whole.view.size_bytes);
    }
  }

  [[nodiscard]] int64_t sequence_length(int64_t batch) const {
    if (!has_batch_ || step_.inputs[0] == kNoSlot) return length_;
    const gantry_value& lengths = frame_.slot(step_.inputs[0]).get();
    if (lengths.view.size_bytes != static_cast<uint64_t>(batches_) * sizeof(int64_t))
      invalid("sequence_lens must have one entry a batch");
    const int64_t wanted = static_cast<const int64_t*>(lengths.view.data)[batch];
    if (wanted < 0 || wanted > length_) {
      invalid("sequence_lens names " + std::to_string(wanted) + " of " + std::to_string(length_));
    }
    return wanted;
  }

  void iterate(int64_t t, int64_t length, int64_t batch) {
    if (const Code code = frame_.resources().stop_code(); code != Code::kOk)
      throw Error(code, step_.label + ": the run was stopped");
    const std::vector<uint32_t>& inputs = body_.program().inputs();
    for (size_t i = 0; i < states_; ++i) body_.set_from(inputs[i], state_.carried[i]);
    for (size_t k = 0; k < inputs_.size(); ++k)
      pass_slice(k, batch, inputs_[k].is_reverse ? length - 1 - t : t);
    pass_captures(frame_, step_, body_);
    const std::vector<OutputSource>& outputs = body_.program().outputs();
    // The last iteration makes its outputs in their final memory.
    const bool is_last = !has_batch_ && t + 1 == length;
    for (size_t i = 0; is_last && i < states_; ++i) {
      if (step_.wanted[i]) body_.deliver(outputs[i].slot, frame_, step_.outputs[i]);
    }
    const TraceSpan span(frame_.resources().trace(), "control flow", "iteration");
    body_.run();
    body_.wait_for_outputs();
    for (size_t k = 0; k < outputs_.size(); ++k) {
      if (step_.wanted[states_ + k])
        put_slice(k, batch, t, body_.slot(outputs[states_ + k].slot).get());
    }
    for (size_t i = 0; i < states_; ++i) {
      if (!is_last) keep(body_, body_.slot(outputs[i].slot), state_.next[i]);
      if (is_last && step_.wanted[i]) frame_.take_output(step_.outputs[i], body_, outputs[i].slot);
    }
    is_handed_out_ = is_last;
    body_.reset();
    for (Slot& slot : state_.carried) clear_slot(slot);
    state_.carried.swap(state_.next);
  }

  // Makes a slot that belongs to no frame a tensor with memory of its own, the old one if that is
  // large enough.
  gantry_value& make_slot(Slot& slot, DType dtype, const Shape& shape) {
    if (dtype == DType::kString) {  // a new one each time: others may hold the last one
      clear_slot(slot);
      slot.ref = make_tensor(dtype, shape);
      return *slot.ref;
    }
    const uint64_t size_bytes = bytes_of(dtype, element_count(shape));
    if (!slot.block || slot.block->size_bytes < size_bytes) {
      clear_slot(slot);
      slot.block = frame_.resources().pool(0).allocate(std::max<uint64_t>(size_bytes, 1));
    }
    slot.value.set_tensor(dtype, shape.data(), shape.size(), slot.block->data, size_bytes);
    clear_padding(slot.value);
    return slot.value;
  }

  // The last byte of a packed type may have bits that no element writes.
  static void clear_padding(gantry_value& value) {
    if (bits_of(value.dtype) < 8 && value.view.size_bytes > 0)
      static_cast<uint8_t*>(value.view.data)[value.view.size_bytes - 1] = 0;
  }

  // A tensor in an output of the node. Slices that no iteration writes are zero, or empty strings.
  gantry_value& make_output(size_t i, DType dtype, const Shape& shape) {
    const uint32_t slot = step_.outputs[i];
    if (dtype == DType::kString) {
      frame_.set_ref(slot, make_tensor(dtype, shape));
      return *frame_.slot(slot).ref;
    }
    frame_.allocate(slot, dtype, static_cast<uint32_t>(shape.size()), shape.data());
    gantry_value& made = output(i);
    if (has_batch_ && made.view.size_bytes > 0)
      std::memset(made.view.data, 0, made.view.size_bytes);
    clear_padding(made);
    return made;
  }
  [[nodiscard]] gantry_value& output(size_t i) {
    Slot& slot = frame_.slot(step_.outputs[i]);
    return slot.ref ? *slot.ref : slot.value;
  }

  void pass_slice(size_t k, int64_t batch, int64_t index) {
    const gantry_value& whole = input(states_ + k);
    const Cut& cut = inputs_[k].cut;
    Slot& slice = state_.collected[k];
    copy_elements(whole, cut.inside(batch, index), make_slot(slice, whole.dtype, cut.slice),
                  cut.alone(), cut.outer, cut.length);
    body_.set_from(body_.program().inputs()[states_ + k], slice);
  }

  void put_slice(size_t k, int64_t batch, int64_t t, const gantry_value& value) {
    if (value.kind != GANTRY_KIND_TENSOR) {
      invalid("scan output " + std::to_string(k) + " must be made of tensors, found a " +
              describe(value));
    }
    ScanOutput& target = outputs_[k];
    if (!target.is_made) make_scan_output(k, value.dtype, value.shape, length_);
    if (target.cut.slice != value.shape) {
      invalid("scan output " + std::to_string(k) + " changed its shape to " + describe(value));
    }
    const Cut& cut = target.cut;
    copy_elements(value, cut.alone(), output(states_ + k),
                  cut.inside(batch, target.is_reverse ? length_ - 1 - t : t), cut.outer,
                  cut.length);
  }

  void make_scan_output(size_t k, DType dtype, Shape shape, int64_t extent) {
    const size_t axis = has_batch_ ? 0 : axis_of("scan_output_axes", k, shape.size() + 1);
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extent);
    if (has_batch_) shape.insert(shape.begin(), batches_);
    make_output(states_ + k, dtype, shape);
    outputs_[k] = {Cut(shape, has_batch_ ? 1 : axis, has_batch_),
                   !has_batch_ && is_reverse("scan_output_directions", k), true};
  }

  // The shape of a slice that no iteration made is known from the body's types only.
  void make_without_iterations(size_t k) {
    const TypeInfo& type =
        *body_.program().slots()[body_.program().outputs()[states_ + k].slot].type;
    Shape slice;
    for (const int64_t extent : type.shape) slice.push_back(std::max<int64_t>(extent, 0));
    make_scan_output(k, type.dtype, std::move(slice), length_);
  }

  void hand_out_state(size_t i, int64_t batch) {
    const gantry_value& value = state_.carried[i].get();
    if (value.kind != GANTRY_KIND_TENSOR)
      invalid("state " + std::to_string(i) + " must be a tensor, found a " + describe(value));
    Shape shape = value.shape;
    if (has_batch_) shape.insert(shape.begin(), batches_);
    if (batch == 0) make_output(i, value.dtype, shape);
    if (output(i).shape != shape) {
      invalid("state " + std::to_string(i) + " of batch " + std::to_string(batch) + " is " +
              describe(value) + ", others have another shape");
    }
    const int64_t count = element_count(value.shape);
    copy_elements(value, {}, output(i), {batch * count, 0}, 1, count);
  }

  Frame& frame_;
  const Step& step_;
  const Node& node_;
  Frame& body_;
  ControlState& state_;
  bool has_batch_;
  size_t first_input_ = 0;
  size_t states_ = 0;
  std::vector<ScanInput> inputs_;
  std::vector<ScanOutput> outputs_;
  int64_t batches_ = 1;
  int64_t length_ = 0;          // extent of the scan axis, the same in every scan input
  bool is_handed_out_ = false;  // the states are in the outputs of the node
};

}  // namespace

void run_scan(Frame& frame, uint32_t step_index) { ScanRun(frame, step_index).run(); }

}  // namespace gantry
