// SPDX-License-Identifier: Apache-2.0
#include "backend_provider.h"

#include <gantry/sdk/provider.h>
#include <gantry/session.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "gil.h"
#include "graph_description.h"
#include "process_runtime.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

// A provider entry function has no context argument, so each backend needs its own entry function.
constexpr size_t kMostBackends = 32;

struct Backend {
  std::string device_type;
  nb::object adapter;  // a BackendAdapter of gantry/backend_devices.py; reset at exit
  std::string manifest;
  gantry_provider_entry entry = nullptr;
};

/// Rows are only appended and never move.
struct Backends {
  std::mutex registering;  // held while one is added, without the GIL; locked before `mutex`
  std::mutex mutex;
  std::array<Backend, kMostBackends> rows;
  size_t count = 0;
};

Backends& backends() {
  static auto* const all = new Backends;  // providers may use it until the process ends
  return *all;
}

/// Runs `ask` with the GIL. A Python exception becomes an error with the code that the adapter
/// assigns; its message names the class.
template <class Ask>
void ask_python(const Backend& backend, const char* method, const std::string& subject, Ask&& ask) {
  const sdk::Error ending(GANTRY_UNAVAILABLE, backend.device_type + ": the program is ending");
  if (!Py_IsInitialized()) throw ending;
  const GilAcquire locked;
  if (!backend.adapter.is_valid()) throw ending;
  try {
    ask();
  } catch (nb::python_error& error) {
    const nb::object said = backend.adapter.attr("describe_error")(error.value(), method, subject);
    // Signals again, so that the program gets KeyboardInterrupt after the error of the run.
    if (error.matches(PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    throw sdk::Error(static_cast<gantry_code>(nb::cast<uint32_t>(said[0])),
                     nb::cast<std::string>(said[1]));
  }
}

std::string label_of(const gantry_node& node) {
  return std::string(sdk::to_view(node.op_type)) + " \"" + std::string(sdk::to_view(node.name)) +
         "\"";
}

std::string label_of(const gantry_compile& args) {
  const auto label = [&](uint32_t i) { return label_of(*args.graph->nodes[args.nodes[i]]); };
  if (args.node_count == 1) return label(0);
  return "the " + std::to_string(args.node_count) + " nodes from " + label(0) + " to " +
         label(args.node_count - 1);
}

/// The tensors that a run passes to the class.
struct GivenTensors {
  std::vector<Tensor> tensors;
  // One for each tensor, referenced by every array over its memory.
  std::vector<std::shared_ptr<const void>> owners;
};

/// A kernel that runs a part of the graph prepared by the class.
class BackendKernel final : public sdk::Kernel {
 public:
  BackendKernel(const Backend& backend, const gantry_host* host, const gantry_compile& args)
      : backend_(backend), subject_(label_of(args)) {
    ask_python(backend_, "prepare", subject_, [&] { prepare(host, args); });
  }
  /// A prepared part may refer to the session that owns this kernel, a cycle that Python's garbage
  /// collector cannot see. At exit, every kernel releases its part.
  static void forget_all_parts() {
    for (BackendKernel* kernel : kernels()) kernel->part_ = nb::object();
  }
  ~BackendKernel() override {
    if (!Py_IsInitialized()) {
      static_cast<void>(part_.release());
      return;
    }
    const GilAcquire locked;
    kernels().erase(this);
    part_ = nb::object();
  }

  void run(sdk::Call& call) const override {
    ask_python(backend_, "run", subject_, [&] {
      GivenTensors given;
      nb::object results;
      {
        nb::list arrays;
        for (const int slot : input_slots_) arrays.append(array_of_input(call, slot, given));
        results = part_.attr("run")(arrays);
      }
      for (size_t i = 0; i < output_slots_.size(); ++i) {
        if (call.wants(output_slots_[i])) take(call, i, results[i]);
      }
      results = nb::object();
      warn_of_retained_inputs(given);
    });
  }

 private:
  /// All existing kernels; guarded by the GIL.
  static std::set<BackendKernel*>& kernels() {
    static auto* const all = new std::set<BackendKernel*>;
    return *all;
  }

  void prepare(const gantry_host* host, const gantry_compile& args) {
    std::string model;
    sdk::check(host, host->fragment_model(args.fragment, &model,
                                          [](void* target, const void* data, uint64_t size_bytes) {
                                            static_cast<std::string*>(target)->append(
                                                static_cast<const char*>(data), size_bytes);
                                          }));
    const nb::object weight = nb::cpp_function([&](uint64_t index) {
      const void* data = nullptr;
      uint64_t size_bytes = 0;
      sdk::check(host, host->fragment_weight(args.fragment, index, &data, &size_bytes));
      return nb::bytes(data, size_bytes);
    });
    part_ = backend_.adapter.attr("prepare")(nb::bytes(model.data(), model.size()), weight);
    input_slots_ = slots_of(args, args.inputs, args.input_count, part_.attr("inputs"));
    output_slots_ = slots_of(args, args.outputs, args.output_count, part_.attr("outputs"));
    kernels().insert(this);
  }

  // The first slot of each name.
  static std::vector<int> slots_of(const gantry_compile& args, const uint32_t* values,
                                   uint32_t count, const nb::object& names) {
    std::vector<int> slots;
    for (const nb::handle name : names) {
      const auto wanted = nb::cast<std::string>(name);
      const auto* const found = std::find_if(values, values + count, [&](uint32_t value) {
        return value != GANTRY_NONE && sdk::to_view(args.graph->values[value]->name) == wanted;
      });
      slots.push_back(static_cast<int>(found - values));
    }
    return slots;
  }

  nb::object array_of_input(sdk::Call& call, int slot, GivenTensors& given) const {
    const gantry_tensor& tensor = call.input(slot);
    if (tensor.dtype == GANTRY_STRING || copies_inputs_)
      return copied_array(call.host(), call.value(slot));
    given.owners.push_back(std::make_shared<int>(slot));
    given.tensors.push_back(Tensor::borrow(static_cast<DType>(tensor.dtype),
                                           {tensor.shape, tensor.shape + tensor.rank}, tensor.data,
                                           tensor.size_bytes, given.owners.back()));
    nb::object array = array_of(given.tensors.back());
    if (nb::hasattr(array, "setflags")) array.attr("setflags")(nb::arg("write") = false);
    return array;
  }

  void take(sdk::Call& call, size_t output, const nb::object& result) const {
    ValueInfo expected;
    expected.name = nb::cast<std::string>(part_.attr("outputs")[output]);
    const Tensor tensor = to_host_tensor(result, expected);
    const int slot = output_slots_[output];
    if (tensor.dtype() == DType::kString) return take_strings(call, slot, tensor);
    const gantry_tensor& target =
        call.output(slot, static_cast<uint32_t>(tensor.dtype()),
                    {tensor.shape().data(), static_cast<int>(tensor.shape().size())});
    if (tensor.size_bytes() > 0) std::memcpy(target.data, tensor.data(), tensor.size_bytes());
  }

  static void take_strings(sdk::Call& call, int slot, const Tensor& tensor) {
    const gantry_host* host = call.host();
    gantry_value* value = nullptr;
    gantry_tensor* made = nullptr;
    sdk::check(
        host, host->value_create_tensor(GANTRY_STRING, static_cast<uint32_t>(tensor.shape().size()),
                                        tensor.shape().data(), &value, &made));
    const std::unique_ptr<gantry_value, void (*)(gantry_value*)> owned(value, host->value_release);
    const std::vector<std::string>& strings = tensor.strings();
    for (size_t i = 0; i < strings.size(); ++i)
      sdk::check(host, host->value_set_string(value, i, sdk::to_str(strings[i])));
    call.output_value(slot, value);
  }

  // After a run the session reuses the memory of inputs, so a class that retains the arrays gets
  // copies from then on. The first run passes copies, which may be retained.
  void warn_of_retained_inputs(GivenTensors& given) const {
    given.tensors.clear();
    const bool is_kept = std::any_of(given.owners.begin(), given.owners.end(),
                                     [](const auto& owner) { return owner.use_count() > 1; });
    if (!is_kept) return;
    copies_inputs_ = true;
    backend_.adapter.attr("warn_of_kept_inputs")(subject_);
  }

  const Backend& backend_;
  std::string subject_;
  nb::object part_;  // a Part of gantry/backend_devices.py
  std::vector<int> input_slots_;
  std::vector<int> output_slots_;
  mutable std::atomic<bool> copies_inputs_ = false;
};

/// A provider of one device in host memory, implemented by a Python class.
class BackendProvider : public sdk::Provider {
 public:
  BackendProvider(const gantry_offer& offer, const Backend& backend)
      : Provider(offer, backend.device_type, {}), backend_(backend) {}

  void devices(const gantry_device_sink& sink) override {
    std::string name;
    ask_python(backend_, "name", "its device",
               [&] { name = nb::cast<std::string>(backend_.adapter.attr("name")); });
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str(backend_.device_type);
    info.flags = GANTRY_DEVICE_HOST_MEMORY;
    info.name = sdk::to_str(name);
    sink.device(sink.self, &info);
  }

  void claim(const gantry_claim_request& request) const override {
    const gantry_graph& graph = *request.graph;
    ask_python(backend_, "is_compatible", "the graph", [&] {
      const nb::object answer = backend_.adapter.attr("claim")(describe_graph(host(), graph));
      for (const nb::handle nodes : answer[0])
        claim_nodes(request, nb::cast<std::vector<uint32_t>>(nodes));
      for (const auto& [node, reason] : nb::cast<nb::dict>(answer[1])) {
        const auto text = nb::cast<std::string>(reason);
        request.sink->refuse(request.sink->self, nb::cast<uint32_t>(node), sdk::to_str(text));
      }
    });
  }

  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile(const gantry_compile& args) const override {
    return std::make_unique<BackendKernel>(backend_, host(), args);
  }

 private:
  void claim_nodes(const gantry_claim_request& request, const std::vector<uint32_t>& nodes) const {
    gantry_claim claim = {};
    claim.size = sizeof(claim);
    claim.flags = nodes.size() > 1 ? GANTRY_CLAIM_DIVISIBLE : 0;
    claim.nodes = nodes.data();
    claim.node_count = static_cast<uint32_t>(nodes.size());
    claim.port_size = sizeof(gantry_port);
    claim.time_ns = -1;
    claim.kernel = sdk::to_str(backend_.device_type);
    request.sink->claim(request.sink->self, &claim);
  }

  const Backend& backend_;
};

template <size_t kRow>
class ProviderOfRow final : public BackendProvider {
 public:
  explicit ProviderOfRow(const gantry_offer& offer)
      : BackendProvider(offer, backends().rows[kRow]) {}
};

template <size_t... kRows>
constexpr std::array<gantry_provider_entry, kMostBackends> entries_of(
    std::index_sequence<kRows...> /*rows*/) {
  return {sdk::enter<ProviderOfRow<kRows>>...};
}

constexpr auto kEntries = entries_of(std::make_index_sequence<kMostBackends>());

/// Fills the row of a new backend and returns its index; the caller increments `count`.
size_t add_row(Backends& all, const std::string& device_type, nb::object adapter,
               const std::string& manifest) {
  const std::lock_guard lock(all.mutex);
  if (all.count == kMostBackends) {
    throw Error(Code::kUnsupported, "register_backend: " + std::to_string(kMostBackends) +
                                        " backends are registered, expected at most that many");
  }
  all.rows[all.count] = {device_type, std::move(adapter), manifest, kEntries[all.count]};
  return all.count;
}

void register_backend(const std::string& device_type, nb::object adapter,
                      const std::string& manifest) {
  Backends& all = backends();
  const GilRelease unlocked;
  const std::lock_guard one_at_a_time(all.registering);
  size_t row = 0;
  {
    const GilAcquire locked;  // `adapter` is an object of Python
    row = add_row(all, device_type, std::move(adapter), manifest);
  }
  runtime().add_provider(reinterpret_cast<void*>(all.rows[row].entry), manifest);
  const std::lock_guard lock(all.mutex);
  all.count = row + 1;
}

}  // namespace

void add_backend_providers(Runtime& runtime) {
  Backends& all = backends();
  size_t count = 0;
  {
    const std::lock_guard lock(all.mutex);
    count = all.count;
  }
  for (size_t row = 0; row < count; ++row)
    runtime.add_provider(reinterpret_cast<void*>(all.rows[row].entry), all.rows[row].manifest);
}

void bind_backend_provider(nb::module_& module) {
  // Otherwise objects of the class would outlive the interpreter.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    Backends& all = backends();
    for (size_t row = 0; row < all.count; ++row) all.rows[row].adapter = nb::object();
    BackendKernel::forget_all_parts();
  }));
  module.def(
      "register_backend", register_backend, nb::arg("device_type"), nb::arg("adapter"),
      nb::arg("manifest"),
      nb::sig("def register_backend(device_type: str, adapter: object, manifest: str) -> None"),
      "What gantry.register_backend calls.");
}

}  // namespace gantry::python
