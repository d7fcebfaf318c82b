// SPDX-License-Identifier: Apache-2.0
// A session: a model placed on devices, compiled and ready to run; and the questions that can be
// asked before making one.
#pragma once

#include <gantry/artefacts.h>  // IWYU pragma: export
#include <gantry/placement.h>  // IWYU pragma: export
#include <gantry/runtime.h>
#include <gantry/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry {

/// A model to load: a path, or the bytes of a serialized ModelProto (borrowed until the session is
/// destroyed).
struct ModelSource {
  std::filesystem::path path;
  std::span<const std::byte> bytes;
  // Implicit: a call names "model.onnx".
  ModelSource(const char* file) : path(file) {}
  ModelSource(const std::string& file) : path(file) {}
  ModelSource(std::filesystem::path file) : path(std::move(file)) {}
  /// `folder`: where external data is looked for; empty: the model may have none.
  ModelSource(std::span<const std::byte> model, std::filesystem::path folder)
      : path(std::move(folder)), bytes(model) {}
};

/// Every member has an initializer, so that {.device = "CPU"} draws no compiler warning.
struct SessionOptions {
  /// "TYPE" or "TYPE:id"; empty: the configuration's placement.prefer, else "CPU".
  std::string device = {};
  std::string config_json = {};  ///< members override the runtime's configuration; empty: none
  std::string config_file = {};  ///< as in RuntimeOptions
  /// take per-node times in every run; see Session::profile. The configuration's session.profile
  /// takes them too.
  bool profile = false;
  /// The session's outputs, in this order: any values of the model's main graph, as an intermediate
  /// tensor that is to be looked at. Only what they need is computed. Empty: the model's outputs.
  std::vector<std::string> outputs = {};
  /// Tensors in place of the model's initializers of these names, of the same element type and
  /// shape, in host memory. The session shares their memory, which must not change.
  std::map<std::string, Value> initializers = {};
  /// set to true by another thread: loading ends with CANCELLED
  const std::atomic<bool>* cancel = nullptr;
  /// Loading ends with DEADLINE_EXCEEDED after that time; checked between the steps of loading,
  /// such as the compilation of two kernels.
  std::optional<uint64_t> timeout_ns = {};
};

/// Host time of one step, summed over the runs since the last reset. For a device with streams it
/// is the time to enqueue the step, not to execute it.
struct NodeTime {
  std::string node;  ///< as in NodePlacement; of several nodes run as one kernel the first
  std::string op_type;
  std::string provider;
  std::string device;
  uint64_t runs = 0;
  uint64_t total_ns = 0;  ///< of a control-flow node: with its bodies
  uint32_t depth = 0;     ///< number of bodies that enclose the node; 0: main graph
};

/// Memory that a session holds, in bytes.
struct MemoryUse {
  uint64_t weights = 0;  ///< constants: mapped or owned
  uint64_t arena = 0;    ///< planned memory of all contexts
  uint64_t pool = 0;     ///< memory allocated outside the plan
};

/// Options of one run.
struct RunOptions {
  /// set to true by another thread: the run ends with CANCELLED
  const std::atomic<bool>* cancel = nullptr;
  std::optional<uint64_t> timeout_ns;  ///< DEADLINE_EXCEEDED after that time
};

using Inputs = std::map<std::string, Value>;

/// A dense tensor of another library in the memory of a device.
struct ForeignMemory {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  void* data = nullptr;
  std::shared_ptr<const void> owner;  ///< keeps the memory alive
};

/// A model ready to run. run() may be called from several threads; each run uses an execution
/// context from a capped pool. Const methods (profile, memory, write_trace, ...) and
/// reset_profile() may be called during runs; they see the steps that have ended. One that was
/// moved from takes another session or is destroyed; anything else is INVALID_ARGUMENT.
class Session {
 public:
  /// Loads, checks, places and compiles the model. NOT_FOUND: no such file or device;
  /// INVALID_MODEL; INVALID_ARGUMENT: the configuration, an output or an initializer of `options`
  /// is wrong; UNSUPPORTED: nodes that the device refuses and the fallback policy does not allow
  /// elsewhere, each with the reason; UNAVAILABLE: the device is absent, or the process was forked;
  /// CANCELLED, DEADLINE_EXCEEDED: as `options` ask; OUT_OF_MEMORY: also by
  /// session.memory_limit_bytes; DEVICE_ERROR, DEVICE_LOST, PROVIDER_CRASHED.
  Session(Runtime& runtime, const ModelSource& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const;
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const;

  /// Runs the model: outputs in the model's order, in memory of their own. An input that is not
  /// required may be omitted; it then has the model's default value. INVALID_ARGUMENT: a required
  /// input is missing; an input is unknown or has another type, rank or shape than declared; or an
  /// output is no tensor (use run_values). INVALID_MODEL: a file of the model has changed since it
  /// was loaded. CANCELLED, DEADLINE_EXCEEDED: as `options` ask. OUT_OF_MEMORY: also by
  /// session.memory_limit_bytes. DEVICE_ERROR, DEVICE_LOST, PROVIDER_CRASHED: the device or its
  /// provider failed. UNAVAILABLE: the process was forked after the session was made.
  std::vector<Tensor> run(const Inputs& inputs, const RunOptions& options = {});
  std::vector<Value> run_values(const Inputs& inputs, const RunOptions& options = {});
  /// Begins a run on a thread of the session and returns. The future has what run() returns or
  /// throws. As many runs go on at once as the process has CPUs, and at least two; further ones are
  /// queued; options.timeout_ns counts from this call. The elements of `inputs` must not be
  /// written, and options.cancel must stay valid, until the run has ended; the session's destructor
  /// waits for it. UNAVAILABLE: no thread can be started.
  std::future<std::vector<Tensor>> run_async(Inputs inputs, const RunOptions& options = {});
  /// Likewise, but calls `done` once on that thread: with the outputs and null, or with no outputs
  /// and the exception. `done` must not throw, nor destroy the session. INVALID_ARGUMENT: it is
  /// empty.
  void run_async(Inputs inputs,
                 std::function<void(std::vector<Tensor> outputs, std::exception_ptr error)> done,
                 const RunOptions& options = {});

  /// An uninitialised tensor for the input or output of that name, in host memory that its provider
  /// uses without a copy: shared memory if the provider runs in a process of its own. May outlive
  /// the session. `shape`: of the runs that will use it; empty: the declared shape.
  /// INVALID_ARGUMENT: no such name, a string tensor or no tensor, or a shape that does not match
  /// the declaration.
  [[nodiscard]] Tensor allocate(const std::string& name, std::vector<int64_t> shape = {}) const;
  /// Memory for inputs that are not known yet: an uninitialised uint8 tensor [size_bytes], aligned
  /// to 64 bytes. It is shared memory if a provider in a process of its own reads an input or makes
  /// an output of the session, else heap memory. INVALID_ARGUMENT: 2^63 bytes or more.
  /// OUT_OF_MEMORY.
  [[nodiscard]] Tensor allocate_bytes(uint64_t size_bytes) const;

  /// An uninitialised tensor in the memory of a device that the session uses ("CUDA:0"). It may be
  /// an input or output of this session, and of other sessions of the same Runtime that use the
  /// device. If the model reads or makes the value on that device only, the tensor is used in
  /// place, so that one run's output is the next run's input without a copy; otherwise it is copied
  /// in each run. The tensor keeps its device open. INVALID_ARGUMENT: the session does not use that
  /// device, the device works in host memory, or the type is string or undefined or an extent
  /// negative. OUT_OF_MEMORY; session.memory_limit_bytes counts the tensor.
  [[nodiscard]] Tensor allocate_on(const std::string& device, DType dtype,
                                   std::vector<int64_t> shape) const;
  /// A view of the caller's memory on such a device: a dense tensor of `shape` at `data`. `owner`
  /// keeps the memory alive; without an owner the caller does. The session does not wait for other
  /// libraries' work on the memory. INVALID_ARGUMENT: as allocate_on, or an address that is not
  /// aligned as the device's kernels require.
  [[nodiscard]] Tensor borrow_on(const std::string& device, DType dtype, std::vector<int64_t> shape,
                                 void* data, std::shared_ptr<const void> owner = nullptr) const;
  /// Imports a tensor of another library on a device of the session: in place, or copied on the
  /// device if its address is not aligned as the device's kernels require. `hand_over` is called
  /// once, on this thread, with a stream handle as DLPack's __dlpack__ takes it. It must make that
  /// stream wait for the library's work on the memory; adopt() then waits for the stream.
  /// INVALID_ARGUMENT: the session does not use the device, or the device's memory cannot be
  /// shared. DEVICE_ERROR, DEVICE_LOST, OUT_OF_MEMORY; what `hand_over` throws.
  [[nodiscard]] Tensor adopt(DlpackDevice device,
                             const std::function<ForeignMemory(uintptr_t stream)>& hand_over) const;
  /// Copies the elements of one tensor to another of the same type and shape, and waits for the
  /// copy. Each may be in host memory or on a device of any session. INVALID_ARGUMENT: types or
  /// shapes differ, or string tensors. DEVICE_ERROR, DEVICE_LOST.
  static void copy(const Tensor& from, Tensor& to);

  [[nodiscard]] const Placement& placement() const;
  /// How the compiled-model cache was used when this session was made.
  [[nodiscard]] const ArtefactReport& artefact() const;
  /// Per-node times, nodes of bodies included, longest total time first. Empty unless
  /// SessionOptions::profile or the configuration's session.profile is set.
  [[nodiscard]] std::vector<NodeTime> profile() const;
  void reset_profile();
  /// Writes the trace taken so far, as JSON in the Trace Event Format, which Perfetto and Chrome
  /// read. The destructor writes it to the file that session.profile names. INVALID_ARGUMENT:
  /// session.profile is not set. UNAVAILABLE: the file cannot be written.
  void write_trace(const std::filesystem::path& file) const;
  [[nodiscard]] MemoryUse memory() const;
  /// The optimized graph that runs, as text.
  [[nodiscard]] std::string graph_text() const;

 private:
  friend class Binding;
  class Impl;
  [[nodiscard]] Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// Inputs and outputs bound once for many runs (as an ONNX Runtime IoBinding). A run looks up no
/// names, and allocates nothing if all outputs are bound and the shapes are those of an earlier
/// run. Device tensors must be the same ones too: up to 16 sets of them are remembered. One tensor
/// may be bound as an input and an output if the model writes the output over the input, as a
/// key-value cache, and nothing reads the input afterwards. Used by one thread at a time; must not
/// outlive its session.
class Binding {
 public:
  explicit Binding(Session& session);
  ~Binding();
  Binding(Binding&&) noexcept;
  /// Binds an input. The value is shared: later runs see later changes of its elements. Errors as
  /// Session::run.
  void input(const std::string& name, const Value& value);
  /// Binds the memory of an output. INVALID_ARGUMENT: no such output, or another type than its own.
  void output(const std::string& name, const Tensor& tensor);
  /// Keeps the output on a device that the session uses: each run makes a tensor there of the shape
  /// that it produces. A run reuses the previous tensor if the shape is equal and nobody else holds
  /// a handle of it. INVALID_ARGUMENT: no such output, a string output or no tensor, or no such
  /// device (as Session::allocate_on).
  void output_on(const std::string& name, const std::string& device);
  /// Errors as Session::run; INVALID_ARGUMENT: a required input is not bound, or a bound output has
  /// another shape than the run makes.
  void run(const RunOptions& options = {});
  /// An output of the last run, bound or not. INVALID_ARGUMENT: no such output, or nothing has run
  /// yet.
  [[nodiscard]] Value result(const std::string& name) const;

 private:
  class Impl;
  [[nodiscard]] Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

/// Places the model as a Session does, constant folding included, but compiles no kernels for runs.
/// Returns whether all nodes can run, and for each node its device and the reason. Errors as
/// Session; nodes that no device runs are no error.
Placement check(Runtime& runtime, const ModelSource& model, const SessionOptions& options = {});

/// Where write_optimized puts large tensors.
struct ExternalTensors {
  std::string file = {};        ///< name of a file beside the model; empty: in the model itself
  uint64_t least_bytes = 1024;  ///< smaller ones stay in the model
};

/// Writes the model to a file as a Session plans it: constants folded, what does nothing removed,
/// functions that no device takes as a whole in place of their calls. What providers do with the
/// nodes is theirs and in no model. Errors as Session; UNSUPPORTED: a model of 2 GiB or more
/// without external tensors; UNAVAILABLE: a file cannot be written. Files
/// of these names, also those of the model itself, are replaced once the new ones are complete.
void write_optimized(Runtime& runtime, const ModelSource& model, const std::filesystem::path& file,
                     const SessionOptions& options = {}, const ExternalTensors& external = {});

}  // namespace gantry
