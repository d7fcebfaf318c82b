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
  /// set to true by another thread: loading ends with CANCELLED
  const std::atomic<bool>* cancel = nullptr;
  /// Loading ends with DEADLINE_EXCEEDED after that time; looked at between its parts, such as the
  /// compilation of two kernels.
  std::optional<uint64_t> timeout_ns = {};
};

/// Time one step took on the host (for a device that works on its own: to hand it over), added
/// over the runs since the last reset.
struct NodeTime {
  std::string node;  ///< of several nodes run as one kernel the first; else as in NodePlacement
  std::string op_type;
  std::string provider;
  std::string device;
  uint64_t runs = 0;
  uint64_t total_ns = 0;  ///< of a control-flow node its bodies included
  uint32_t depth = 0;     ///< how many bodies the node is in
};

/// Memory that a session holds, in bytes.
struct MemoryUse {
  uint64_t weights = 0;  ///< constants: mapped or owned
  uint64_t arena = 0;    ///< planned memory of all contexts
  uint64_t pool = 0;     ///< memory beside the plan
};

/// Options of one run.
struct RunOptions {
  /// set to true by another thread: the run ends with CANCELLED
  const std::atomic<bool>* cancel = nullptr;
  std::optional<uint64_t> timeout_ns;  ///< DEADLINE_EXCEEDED after that time
};

using Inputs = std::map<std::string, Value>;

/// A dense tensor that another library has in the memory of a device.
struct ForeignMemory {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  void* data = nullptr;
  std::shared_ptr<const void> owner;  ///< keeps it
};

/// A model ready to run. run() may be called from several threads, each run uses a context from a
/// capped pool; what only asks (profile, memory, write_trace, ...) and reset_profile() may be
/// called while runs go on, and sees the steps that have ended.
class Session {
 public:
  /// Loads, checks, places and compiles. NOT_FOUND: no such file or device; INVALID_MODEL;
  /// UNSUPPORTED: nodes that the device refuses and the fallback policy does not allow elsewhere,
  /// each with the reason; UNAVAILABLE: the device is absent.
  Session(Runtime& runtime, const ModelSource& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  [[nodiscard]] const std::vector<ValueInfo>& inputs() const;
  [[nodiscard]] const std::vector<ValueInfo>& outputs() const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const;

  /// Runs the model: outputs in the model's order, in memory of their own. An input that is not
  /// required may be left out and then has the model's value. INVALID_ARGUMENT: a required input is
  /// missing, or one is unknown, or has another type, rank or shape than declared; or an output is
  /// no tensor (use run_values).
  std::vector<Tensor> run(const Inputs& inputs, const RunOptions& options = {});
  std::vector<Value> run_values(const Inputs& inputs, const RunOptions& options = {});
  /// Begins a run on a thread of the session's and returns. The future has what run() returns or
  /// throws. As many go on at once as the process has CPUs, further ones wait; options.timeout_ns
  /// counts from this call. `inputs` and options.cancel must be left alone until the run has ended,
  /// and the session's destructor waits for it. UNAVAILABLE: no thread can be started.
  std::future<std::vector<Tensor>> run_async(Inputs inputs, const RunOptions& options = {});
  /// Likewise, and calls `done` on that thread, once: with what run() returns and null, or with
  /// nothing and what it throws. `done` must not throw, nor destroy the session.
  void run_async(Inputs inputs,
                 std::function<void(std::vector<Tensor> outputs, std::exception_ptr error)> done,
                 const RunOptions& options = {});

  /// A tensor for the input or output of that name, not initialised, in memory that the provider
  /// which reads or fills it uses in place: for one in a process of its own memory that both see,
  /// so that nothing is copied. It may outlive the session. `shape`: as a run wants it; empty: as
  /// declared. INVALID_ARGUMENT: no such name, no tensor of numbers, or a shape that does not fit.
  [[nodiscard]] Tensor allocate(const std::string& name, std::vector<int64_t> shape = {}) const;
  /// Likewise, for what becomes an input only later: a uint8 tensor [size_bytes], aligned to 64
  /// bytes, in memory that a provider in a process of its own sees if one reads an input or makes
  /// an output of the session, else on the heap. INVALID_ARGUMENT: 2^63 bytes or more;
  /// OUT_OF_MEMORY.
  [[nodiscard]] Tensor allocate_bytes(uint64_t size_bytes) const;

  /// A tensor in the memory of a device that the session uses ("CUDA:0"), not initialised. It may
  /// be an input and an output of this session, and of others of the same Runtime that use the
  /// device: where the model reads or makes the value on that device, and nowhere else but there,
  /// it is used in place, so that what one run makes is read by the next without a copy; elsewhere
  /// it is copied in each run. The tensor keeps its device open. INVALID_ARGUMENT: the session does
  /// not use that device, or it works in host memory; or a shape or type that no tensor has.
  /// OUT_OF_MEMORY; session.memory_limit_bytes counts it.
  [[nodiscard]] Tensor allocate_on(const std::string& device, DType dtype,
                                   std::vector<int64_t> shape) const;
  /// A view of memory of such a device that the caller has otherwise: in it lies what `shape` says,
  /// dense, and `owner` keeps it; without an owner the caller does. Nothing waits for work of
  /// others on it. INVALID_ARGUMENT: as allocate_on, or an address that the device's kernels do not
  /// take.
  [[nodiscard]] Tensor borrow_on(const std::string& device, DType dtype, std::vector<int64_t> shape,
                                 void* data, std::shared_ptr<const void> owner = nullptr) const;
  /// A tensor of another library on a device of the session's, in place, or copied there if it lies
  /// at an address that the device's kernels do not take. `hand_over` is called once, on this
  /// thread, with the handle of a stream (as DLPack's method __dlpack__ takes one) that is to wait
  /// for the library's work on the memory; what the stream was given is then waited for.
  /// INVALID_ARGUMENT: the session does not use the device, or other libraries cannot use its
  /// memory; else what `hand_over` throws, DEVICE_ERROR, DEVICE_LOST, OUT_OF_MEMORY.
  [[nodiscard]] Tensor adopt(DlpackDevice device,
                             const std::function<ForeignMemory(uintptr_t stream)>& hand_over) const;
  /// Copies the elements of one tensor to another of the same type and shape, each in host memory
  /// or in that of a device, whichever session's, and waits for it. INVALID_ARGUMENT: they differ.
  /// DEVICE_ERROR, DEVICE_LOST.
  static void copy(const Tensor& from, Tensor& to);

  [[nodiscard]] const Placement& placement() const;
  /// What came of the artefact cache when this session was made.
  [[nodiscard]] const ArtefactReport& artefact() const;
  /// Per-node times, if SessionOptions::profile or the configuration's session.profile is set;
  /// bodies included; sorted by total time, longest first.
  [[nodiscard]] std::vector<NodeTime> profile() const;
  void reset_profile();
  /// Writes the trace taken so far, as JSON in the Trace Event Format, which Perfetto and Chrome
  /// read. The destructor does so with the file that session.profile names. INVALID_ARGUMENT:
  /// session.profile is not set. UNAVAILABLE: the file cannot be written.
  void write_trace(const std::filesystem::path& file) const;
  [[nodiscard]] MemoryUse memory() const;
  /// The graph as it runs, as text.
  [[nodiscard]] std::string graph_text() const;

 private:
  friend class Binding;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Inputs and outputs bound once for many runs: a run with the same shapes allocates nothing, if
/// its outputs are bound too, and looks up no names; of tensors in the memory of devices also with
/// the same ones, of which up to 16 different sets are remembered. One tensor may be an input and
/// an output where the model writes the second over the first, as a cache, and nothing reads the
/// input after that. Used by one thread at a time; must not outlive its session.
class Binding {
 public:
  explicit Binding(Session& session);
  ~Binding();
  Binding(Binding&&) noexcept;
  /// The value is shared: later changes of its elements are seen by later runs. Errors as
  /// Session::run.
  void input(const std::string& name, const Value& value);
  /// Output memory; its type must be the output's and its shape what the run produces
  /// (INVALID_ARGUMENT in run otherwise).
  void output(const std::string& name, const Tensor& tensor);
  /// Leaves the output on a device that the session uses: in a tensor that the run makes, of the
  /// shape that it has then. A later run writes into the same one again if the shape still fits and
  /// nobody else has a handle of it. INVALID_ARGUMENT: no such output, one that is no tensor of
  /// numbers, or no such device (as Session::allocate_on).
  void output_on(const std::string& name, const std::string& device);
  void run(const RunOptions& options = {});
  /// An output of the last run, bound or not. INVALID_ARGUMENT: no such output, or nothing has run
  /// yet.
  [[nodiscard]] Value result(const std::string& name) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Places the model as a Session does, constants folded, without compiling what runs: compatible or
/// not, and a verdict and reason per node.
Placement check(Runtime& runtime, const ModelSource& model, const SessionOptions& options = {});

}  // namespace gantry
