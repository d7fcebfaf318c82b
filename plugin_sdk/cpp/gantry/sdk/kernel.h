// SPDX-License-Identifier: Apache-2.0
// A kernel in C++ and what it sees of one run. A Kernel is immutable after construction and may run
// on several threads at once; mutable state belongs in its KernelContext or in the run's scratch
// memory.
#pragma once

#include <gantry/sdk/error.h>
#include <gantry/sdk/parallel_body.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace gantry::sdk {

/// Extents of a tensor, borrowed.
struct Shape {
  const int64_t* data = nullptr;
  int rank = 0;

  Shape() = default;
  Shape(const int64_t* extents, int count) : data(extents), rank(count) {}
  explicit Shape(const gantry_tensor& tensor)
      : data(tensor.shape), rank(static_cast<int>(tensor.rank)) {}

  [[nodiscard]] int64_t operator[](int axis) const { return data[axis]; }
  [[nodiscard]] int64_t element_count() const { return count(0, rank); }
  /// Product of the extents of axes [first, last).
  [[nodiscard]] int64_t count(int first, int last) const {
    int64_t product = 1;
    for (int i = first; i < last; ++i) product *= data[i];
    return product;
  }
  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i) {
      if (a.data[i] != b.data[i]) return false;
    }
    return true;
  }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }
};

/// A named span in the trace, if one is being taken: from construction to destruction, which must
/// be on one thread. For the main parts of a kernel, outside inner loops.
class Span {
 public:
  Span(const gantry_host* host, gantry_run* run, std::string_view name)
      : host_(host->trace_begin ? host : nullptr), run_(run) {
    if (host_) host_->trace_begin(run_, {name.data(), name.size()});
  }
  ~Span() {
    if (host_) host_->trace_end(run_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  const gantry_host* host_;
  gantry_run* run_;
};

/// Mutable state of a kernel, one object per execution context of the host. Two runs never use one
/// object at the same time.
class KernelContext {
 public:
  KernelContext() = default;
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;
  virtual ~KernelContext() = default;
};

/// One run of a kernel: its inputs, outputs and the host's run services. Valid until Kernel::run
/// returns. Used by the calling thread only, except that parallel_for bodies may read from it.
class Call {
 public:
  Call(const gantry_host* host, const gantry_call* call, void* context)
      : host_(host), call_(call), context_(context) {}

  [[nodiscard]] int input_count() const { return static_cast<int>(call_->input_count); }
  [[nodiscard]] int output_count() const { return static_cast<int>(call_->output_count); }
  [[nodiscard]] bool has_input(int slot) const {
    return slot < input_count() && call_->values[slot];
  }
  /// Tensor in an input slot. Requires has_input(slot) and a tensor value, as the model's types
  /// say.
  [[nodiscard]] const gantry_tensor& input(int slot) const { return *call_->inputs[slot]; }
  [[nodiscard]] const gantry_value* value(int slot) const { return call_->values[slot]; }
  /// Dense elements of an input slot.
  template <class T>
  [[nodiscard]] const T* data(int slot) const {
    return static_cast<const T*>(call_->inputs[slot]->data);
  }
  [[nodiscard]] Shape shape(int slot) const { return Shape(*call_->inputs[slot]); }

  [[nodiscard]] bool wants(int slot) const { return slot < output_count() && call_->wanted[slot]; }
  /// Asks the host for the memory of output `slot`; see gantry_host.output. Throws the host's
  /// error.
  gantry_tensor& output(int slot, uint32_t dtype, Shape shape) {
    gantry_tensor* tensor = nullptr;
    check(host_, host_->output(call_->run, static_cast<uint32_t>(slot), dtype,
                               static_cast<uint32_t>(shape.rank), shape.data, &tensor));
    return *tensor;
  }
  gantry_tensor& output(int slot, uint32_t dtype, std::initializer_list<int64_t> shape) {
    return output(slot, dtype, Shape(shape.begin(), static_cast<int>(shape.size())));
  }
  void output_value(int slot, const gantry_value* value) {
    check(host_, host_->output_value(call_->run, static_cast<uint32_t>(slot), value));
  }

  /// Uninitialised memory of the kernel's device for `count` elements of a trivial type, valid
  /// until the kernel's work is complete.
  template <class T>
  [[nodiscard]] T* scratch(int64_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "scratch memory is not destroyed");
    void* memory = nullptr;
    check(host_, host_->scratch(call_->run, static_cast<uint64_t>(count) * sizeof(T), &memory));
    return static_cast<T*>(memory);
  }

  /// Calls body(begin, end) on disjoint ranges that cover [0, count), of at least `grain` items
  /// each but the last, and returns when all are done; see gantry_host.parallel_for. If a body
  /// throws, ranges that have not begun are left out, and the first exception is thrown from here.
  template <class Body>
  void parallel_for(int64_t count, int64_t grain, Body&& body) {
    if (count <= grain) {
      if (count > 0) body(int64_t{0}, count);
      return;
    }
    using B = ParallelBody<std::remove_reference_t<Body>>;
    B guarded(body);
    host_->parallel_for(
        call_->run, count, grain,
        [](void* arg, int64_t begin, int64_t end) { static_cast<B*>(arg)->call(begin, end); },
        &guarded);
    guarded.rethrow();
  }
  [[nodiscard]] int thread_count() const {
    return static_cast<int>(host_->thread_count(call_->run));
  }

  /// A span in the trace; see Span. [any thread of a parallel_for body too]
  [[nodiscard]] Span span(std::string_view name) const { return {host_, call_->run, name}; }

  /// Throws CANCELLED or DEADLINE_EXCEEDED if the run is to stop; for long loops.
  void poll() const {
    if (const uint32_t code = host_->should_stop(call_->run)) {
      throw Error(static_cast<gantry_code>(code), "the run was stopped by its caller");
    }
  }

  [[nodiscard]] const gantry_host* host() const { return host_; }
  [[nodiscard]] gantry_stream* stream() const { return call_->stream; }
  [[nodiscard]] gantry_run* run() const { return call_->run; }
  /// What the kernel's make_context returned; null without one.
  [[nodiscard]] KernelContext* context() const { return static_cast<KernelContext*>(context_); }

 private:
  const gantry_host* host_;
  const gantry_call* call_;
  void* context_;
};

/// A compiled claim. The factory of a row makes it from the node; the host destroys it after the
/// last run.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  virtual void run(Call& call) const = 0;
  /// State for one execution context, found in Call::context; null: none is needed.
  [[nodiscard]] virtual std::unique_ptr<KernelContext> make_context() const { return nullptr; }

  /// gantry_kernel.implementation: the implementation that computes the claim, and why a preferred
  /// one does not. Empty: not reported.
  [[nodiscard]] const std::string& implementation() const { return implementation_; }
  /// Requires that the claim is still being compiled.
  void set_implementation(std::string text) { implementation_ = std::move(text); }

 private:
  std::string implementation_;
};

}  // namespace gantry::sdk
