// SPDX-License-Identifier: Apache-2.0
// OrtIoBinding: inputs and outputs bound once for many runs. One thread at a time.
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "c_api/guard.h"
#include "c_api/run_options.h"
#include "c_api/session.h"
#include "c_api/values.h"
#include "objects/memory.h"

namespace gantry::ort {
namespace {

struct IoBinding {
  explicit IoBinding(LoadedSession& of)
      : session(&of), binding(std::make_unique<Binding>(*of.session)) {}

  LoadedSession* session;
  std::unique_ptr<Binding> binding;
  std::map<std::string, gantry::Value> inputs;
  /// The bound outputs in the order of binding, and the memory that they are written to, if any.
  std::vector<std::pair<std::string, std::optional<Tensor>>> outputs;

  /// Makes `binding` anew, without what was cleared.
  void rebuild() {
    binding = std::make_unique<Binding>(*session->session);
    for (const auto& [name, value] : inputs) binding->input(name, value);
    for (const auto& [name, tensor] : outputs) {
      if (tensor) binding->output(name, *tensor);
    }
  }
};

Status* create(LoadedSession* session, IoBinding** out) {
  return guarded_call([&] { *out = new IoBinding(*session); });
}
void release(IoBinding* binding) { delete binding; }

Status* bind_input(IoBinding* binding, const char* name, const Value* value) {
  return guarded_call([&] {
    gantry::Value bound = to_gantry(*value);
    binding->binding->input(name, bound);
    binding->inputs[name] = std::move(bound);
  });
}

void set_output(IoBinding& binding, const std::string& name, std::optional<Tensor> tensor) {
  static_cast<void>(binding.session->output(name));
  if (tensor) binding.binding->output(name, *tensor);
  for (auto& [known, memory] : binding.outputs) {
    if (known != name) continue;
    const bool was_bound = memory.has_value();
    memory = std::move(tensor);
    if (was_bound && !memory) binding.rebuild();
    return;
  }
  binding.outputs.emplace_back(name, std::move(tensor));
}
Status* bind_output(IoBinding* binding, const char* name, const Value* value) {
  return guarded_call([&] {
    const gantry::Value bound = to_gantry(*value);
    if (bound.kind() != Kind::kTensor || bound.tensor().data() != value->data || !value->data) {
      throw ApiError(ErrorCode::kInvalidArgument,
                     "output \"" + std::string(name) +
                         "\": expected a tensor of numbers, aligned to its elements");
    }
    set_output(*binding, name, bound.tensor());
  });
}
// Whatever device the memory is said to be of: values of this API are in host memory.
Status* bind_output_to_device(IoBinding* binding, const char* name, const MemoryInfo*) {
  return guarded_call([&] { set_output(*binding, name, std::nullopt); });
}

// These two report no error; without memory the binding keeps what was bound until it is bound
// anew.
void clear_inputs(IoBinding* binding) {
  binding->inputs.clear();
  release_status(guarded_call([&] { binding->rebuild(); }));
}
void clear_outputs(IoBinding* binding) {
  binding->outputs.clear();
  release_status(guarded_call([&] { binding->rebuild(); }));
}

Status* run(LoadedSession*, const RunSettings* settings, const IoBinding* binding) {
  return guarded_call([&] {
    binding->binding->run({.cancel = settings ? &settings->is_ended : nullptr, .timeout_ns = {}});
  });
}

/// Room for `count` elements, which the program frees by `allocator`; null: none.
template <class T>
T* room_for(Allocator& allocator, size_t count) {
  if (count == 0) return nullptr;
  auto* room = static_cast<T*>(allocator.allocate(&allocator, count * sizeof(T)));
  if (!room) throw std::bad_alloc();
  return room;
}

// All names in one buffer, without zeros between them, and their lengths.
Status* get_output_names(const IoBinding* binding, Allocator* allocator, char** buffer,
                         size_t** lengths, size_t* count) {
  return guarded_call([&] {
    std::string all;
    for (const auto& [name, memory] : binding->outputs) all += name;
    *count = binding->outputs.size();
    *buffer = room_for<char>(*allocator, all.size());
    *lengths = room_for<size_t>(*allocator, *count);
    if (!all.empty()) std::memcpy(*buffer, all.data(), all.size());
    for (size_t i = 0; i < *count; ++i) (*lengths)[i] = binding->outputs[i].first.size();
  });
}
Status* get_output_values(const IoBinding* binding, Allocator* allocator, Value*** out,
                          size_t* count) {
  return guarded_call([&] {
    std::vector<std::unique_ptr<Value>> values;
    for (const auto& [name, memory] : binding->outputs)
      values.push_back(from_gantry(binding->binding->result(name)));
    *out = room_for<Value*>(*allocator, values.size());
    *count = values.size();
    for (size_t i = 0; i < values.size(); ++i) (*out)[i] = values[i].release();
  });
}

Status* synchronize(const IoBinding*) { return nullptr; }  // a run has ended when it returns

}  // namespace

void add_binding_functions(ApiTable& table) {
  table.set(Slot::kCreateIoBinding, create);
  table.set(Slot::kReleaseIoBinding, release);
  table.set(Slot::kBindInput, bind_input);
  table.set(Slot::kBindOutput, bind_output);
  table.set(Slot::kBindOutputToDevice, bind_output_to_device);
  table.set(Slot::kClearBoundInputs, clear_inputs);
  table.set(Slot::kClearBoundOutputs, clear_outputs);
  table.set(Slot::kRunWithBinding, run);
  table.set(Slot::kGetBoundOutputNames, get_output_names);
  table.set(Slot::kGetBoundOutputValues, get_output_values);
  table.set(Slot::kSynchronizeBoundInputs, synchronize);
  table.set(Slot::kSynchronizeBoundOutputs, synchronize);
}

}  // namespace gantry::ort
