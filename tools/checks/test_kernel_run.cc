// SPDX-License-Identifier: Apache-2.0
// One run of a test kernel: copies inputs to the device and the output back.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "host_table.h"
#include "test_kernel.h"

namespace gantry::checks {

// The resources of one run, released by the destructor.
class TestKernel::Execution {
 public:
  explicit Execution(const TestKernel& kernel) : kernel_(kernel) {
    host_.api = &kernel.provider_.api();
    host_.outputs.resize(1);
    const auto& flags = kernel.claim_.output_flags;
    host_.outputs[0].is_host = !flags.empty() && (flags[0] & GANTRY_PORT_HOST) != 0;
    if (kernel.device_) {
      host_.device = kernel.device_->get();
      expect_ok(api().stream_create(host_.device, &stream_), "stream_create");
    } else {
      host_.outputs[0].is_host = true;
    }
    if (kernel.kernel_.context_create)
      expect_ok(kernel.kernel_.context_create(kernel.kernel_.self, &context_), "context_create");
  }
  ~Execution() {
    if (context_ && kernel_.kernel_.context_destroy)
      kernel_.kernel_.context_destroy(kernel_.kernel_.self, context_);
    if (stream_) {
      take_error(api().stream_synchronize(stream_));
      api().stream_destroy(stream_);
    }
    for (void* block : host_.device_blocks) api().memory_free(host_.device, block);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  HostRun& host() { return host_; }

  Captured run_captured(const Result& known, int launches) {
    const size_t count = known.elements.size();
    host_.output_bytes = count * sizeof(float);
    expect_ok(api().memory_allocate(host_.device, host_.output_bytes, &host_.output_memory),
              "memory_allocate");
    host_.device_blocks.push_back(host_.output_memory);
    add_inputs();
    marks_.assign(count, kMark);
    mark_output();
    expect_ok(api().capture_begin(stream_), "capture_begin");
    Result recorded;
    call(recorded);
    gantry_capture* capture = nullptr;
    const std::string end = take_error(api().capture_end(stream_, &capture));
    const std::unique_ptr<gantry_capture, decltype(api().capture_destroy)> owner(
        capture, api().capture_destroy);
    expect(recorded.code == GANTRY_OK && end.empty(),
           "run of " + kernel_.op_type_ + " between capture_begin and capture_end: expected " +
               "success, found " + (recorded.error.empty() ? end : recorded.error),
           "flag a kernel that cannot be recorded with GANTRY_KERNEL_NO_CAPTURE");
    Captured captured;
    expect_ok(api().stream_synchronize(stream_), "stream_synchronize");
    read(recorded);
    captured.ran_while_recorded = recorded.elements != marks_;
    for (int i = 0; i < launches; ++i) {
      mark_output();
      Result& result = captured.launches.emplace_back();
      take(result, api().capture_launch(capture, stream_));
      if (result.code == GANTRY_OK) take(result, api().stream_synchronize(stream_));
      if (result.code == GANTRY_OK) read(result);
    }
    return captured;
  }

  Lent run_and_look_at_inputs() {
    std::vector<std::vector<char>> before;
    for (const std::shared_ptr<HostValue>& input : kernel_.inputs_) {
      const auto* bytes = static_cast<const char*>(input->tensor.data);
      before.emplace_back(bytes, bytes + input->tensor.size_bytes);
    }
    Lent lent;
    lent.result = run();
    for (size_t slot = 0; lent.result.code == GANTRY_OK && slot < before.size(); ++slot) {
      const std::vector<char> after = read_input(slot);
      for (size_t i = 0; i < after.size(); ++i)
        lent.changed_bytes += after[i] == before[slot][i] ? 0 : 1;
    }
    return lent;
  }

  Result run_and_close_memory() {
    host_.has_own_pages = true;
    Result result = run();
    for (const std::shared_ptr<PageMemory>& pages : host_.pages) pages->close();
    constexpr std::chrono::milliseconds kMoment{100};  // for threads that still run
    std::this_thread::sleep_for(kMoment);
    return result;
  }

  Result run() {
    add_inputs();
    Result result;
    call(result);
    if (stream_ && result.code == GANTRY_OK) take(result, api().stream_synchronize(stream_));
    if (result.code == GANTRY_OK) read(result);
    return result;
  }

 private:
  static constexpr float kMark = -12345.0F;

  void add_inputs() {
    for (size_t slot = 0; slot < kernel_.inputs_.size(); ++slot) add_input(slot);
  }

  void mark_output() {
    expect_ok(copy(GANTRY_COPY_HOST_TO_DEVICE, host_.output_memory, marks_.data(),
                   marks_.size() * sizeof(float)),
              "copy to the device");
    expect_ok(api().stream_synchronize(stream_), "stream_synchronize");
  }

  void call(Result& result) {
    std::vector<const gantry_tensor*> tensors;
    for (size_t slot = 0; slot < tensors_.size(); ++slot)
      tensors.push_back(values_[slot] ? &tensors_[slot] : nullptr);
    const uint8_t wanted = 1;
    gantry_call call = {};
    call.size = sizeof(call);
    call.inputs = tensors.data();
    call.values = values_.data();
    call.input_count = static_cast<uint32_t>(tensors.size());
    call.output_count = 1;
    call.wanted = &wanted;
    call.run = reinterpret_cast<gantry_run*>(&host_);
    call.stream = stream_;
    take(result, kernel_.kernel_.run(kernel_.kernel_.self, context_, &call));
  }

  [[nodiscard]] const gantry_provider_api& api() const { return kernel_.provider_.api(); }

  static void take(Result& result, gantry_error* error) {
    result.code = error ? host_table()->error_code(error) : static_cast<uint32_t>(GANTRY_OK);
    result.error = take_error(error);
  }

  gantry_error* copy(uint32_t kind, void* target, const void* source, uint64_t size_bytes) {
    const gantry_copy copy = plain_copy(kind, target, source, size_bytes);
    return api().copy(stream_, &copy);
  }

  void add_input(size_t slot) {
    const HostValue& value = *kernel_.inputs_[slot];
    const auto& flags = kernel_.claim_.input_flags;
    const bool is_host = !flags.empty() && (flags[slot] & GANTRY_PORT_HOST) != 0;
    const bool is_used_up = !flags.empty() && (flags[slot] & GANTRY_PORT_COMPILE_ONLY) != 0;
    tensors_.push_back(value.tensor);
    values_.push_back(is_used_up ? nullptr : to_boundary(value));
    if (host_.has_own_pages && !is_used_up) lend_pages(value);
    if (!stream_ || is_host || is_used_up) return;
    void* memory = nullptr;
    expect_ok(api().memory_allocate(host_.device, value.tensor.size_bytes, &memory),
              "memory_allocate");
    host_.device_blocks.push_back(memory);
    expect_ok(copy(GANTRY_COPY_HOST_TO_DEVICE, memory, value.tensor.data, value.tensor.size_bytes),
              "copy to the device");
    tensors_.back().data = memory;
    tensors_.back().device = 1;
  }

  // Moves the input that was added last to memory that can be made inaccessible.
  void lend_pages(const HostValue& value) {
    const std::shared_ptr<void> memory = host_.add_pages(value.tensor.size_bytes);
    std::memcpy(memory.get(), value.tensor.data, value.tensor.size_bytes);
    HostValue& lent = *lent_.emplace_back(std::make_shared<HostValue>(value));
    lent.memory = memory;
    lent.tensor.data = memory.get();
    lent.tensor.shape = lent.shape.data();
    tensors_.back() = lent.tensor;
    values_.back() = to_boundary(lent);
  }

  // Reads the elements of an input back from the memory that the run used.
  std::vector<char> read_input(size_t slot) {
    const gantry_tensor& tensor = tensors_[slot];
    std::vector<char> bytes(tensor.size_bytes);
    if (tensor.device == 0) {
      std::memcpy(bytes.data(), tensor.data, bytes.size());
      return bytes;
    }
    expect_ok(copy(GANTRY_COPY_DEVICE_TO_HOST, bytes.data(), tensor.data, bytes.size()),
              "copy from the device");
    expect_ok(api().stream_synchronize(stream_), "stream_synchronize");
    return bytes;
  }

  void read(Result& result) {
    const HostRun::Output& output = host_.outputs[0];
    expect(output.is_asked,
           "run of " + kernel_.op_type_ +
               ": expected it to ask for its output, "
               "found that it did not",
           "call gantry_host.output for each output that is wanted");
    result.shape = output.shape;
    elements_.resize(output.tensor.size_bytes / sizeof(float));
    if (output.is_host) {
      std::memcpy(elements_.data(), output.data, output.tensor.size_bytes);
      result.elements = elements_;
      return;
    }
    expect_ok(
        copy(GANTRY_COPY_DEVICE_TO_HOST, elements_.data(), output.data, output.tensor.size_bytes),
        "copy from the device");
    expect_ok(api().stream_synchronize(stream_), "stream_synchronize");
    result.elements = elements_;
  }

  const TestKernel& kernel_;
  HostRun host_;
  gantry_stream* stream_ = nullptr;
  void* context_ = nullptr;
  std::vector<std::shared_ptr<HostValue>> lent_;  // inputs in pages of their own
  std::vector<gantry_tensor> tensors_;
  std::vector<const gantry_value*> values_;
  std::vector<float> marks_;     // likewise
  std::vector<float> elements_;  // a copy may still write here while the destructor waits
};

TestKernel::Result TestKernel::run(const std::function<void(HostRun&)>& prepare) const {
  Execution execution(*this);
  if (prepare) prepare(execution.host());
  return execution.run();
}

TestKernel::Lent TestKernel::run_and_look_at_inputs() const {
  return Execution(*this).run_and_look_at_inputs();
}

TestKernel::Result TestKernel::run_and_close_memory() const {
  return Execution(*this).run_and_close_memory();
}

TestKernel::Captured TestKernel::run_captured(const Result& known, int launches) const {
  const std::vector<uint32_t>& ports = claim_.output_flags;
  const bool is_on_host = !device_ || (!ports.empty() && (ports[0] & GANTRY_PORT_HOST) != 0);
  if (is_on_host || (kernel_.flags & GANTRY_KERNEL_NO_CAPTURE) != 0)
    throw Skip(op_type_ + " says that it cannot be recorded");
  return Execution(*this).run_captured(known, launches);
}

}  // namespace gantry::checks
