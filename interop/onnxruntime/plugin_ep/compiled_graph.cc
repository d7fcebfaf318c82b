// SPDX-License-Identifier: Apache-2.0
#include "plugin_ep/compiled_graph.h"

#include <algorithm>
#include <cstring>
#include <malloc.h>
#include <map>
#include <span>
#include <utility>

#include "plugin_ep/host_types.h"

namespace gantry::ort {
namespace {

host::Status* use_self(ComputeInfo* self, host::ComputeContext*, void** state) noexcept {
  *state = self;
  return nullptr;
}

/// Copies, as ONNX Runtime may free its initializers once the graph is compiled.
std::map<std::string, Value> copies_of(const std::map<std::string, Value>& values) {
  std::map<std::string, Value> copies;
  for (const auto& [name, value] : values) {
    const Tensor tensor = value.tensor();
    if (tensor.dtype() == DType::kString) {
      copies[name] = tensor;
      continue;
    }
    Tensor copy(tensor.dtype(), tensor.shape());
    if (tensor.size_bytes() > 0) std::memcpy(copy.data(), tensor.data(), tensor.size_bytes());
    copies[name] = copy;
  }
  return copies;
}

/// A tensor of numbers whose shape is known before a run.
bool is_fixed(const ValueInfo& info) {
  return info.kind == Kind::kTensor && info.dtype != DType::kString && info.has_rank &&
         std::all_of(info.shape.begin(), info.shape.end(),
                     [](int64_t extent) { return extent >= 0; });
}

}  // namespace

CompiledGraph::CompiledGraph(const HostApi& api, const host::Graph* graph, const host::Node* fused,
                             const std::set<std::string>& trusted,
                             const std::shared_ptr<Runtime>& runtime, const EpOptions& options)
    : ComputeInfo{kStructVersion, use_self,
                  [](ComputeInfo*, void* state, host::KernelContext* context) noexcept {
                    auto* self = static_cast<CompiledGraph*>(static_cast<ComputeInfo*>(state));
                    return guarded_by(self->api_, [&] { self->run(context); });
                  },
                  [](ComputeInfo*, void*) noexcept {}},
      api_(api),
      runtime_(runtime) {
  const NodeValues values = values_of(api, fused);
  GraphModel model(api, graph, trusted);
  for (const host::Node* node : nodes_of(api, graph)) model.add(node);
  std::vector<std::string> outputs;
  for (const std::string& name : values.outputs) {
    if (!name.empty()) outputs.push_back(name);
  }
  model.finish(outputs);
  bytes_ = model.model().SerializeAsString();
  SessionOptions settings = session_options(options);
  settings.initializers = copies_of(model.initializers());
  session_ = std::make_unique<Session>(*runtime_, ModelSource{std::as_bytes(std::span(bytes_)), {}},
                                       settings);

  // ONNX Runtime's fused node may have inputs that gantry has as constants, or found to be unused.
  for (const ValueInfo& input : session_->inputs()) {
    const auto found = std::find(values.inputs.begin(), values.inputs.end(), input.name);
    if (found == values.inputs.end()) continue;
    inputs_.push_back({input.name, static_cast<size_t>(found - values.inputs.begin()), {}});
  }
  for (const ValueInfo& output : session_->outputs()) {
    const auto found = std::find(values.outputs.begin(), values.outputs.end(), output.name);
    outputs_.push_back({output.name, static_cast<size_t>(found - values.outputs.begin()), {}});
  }
}

std::unique_ptr<Binding> CompiledGraph::take() {
  const sdk::MutexLock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Binding>(*session_);
  std::unique_ptr<Binding> binding = std::move(idle_.back());
  idle_.pop_back();
  return binding;
}

void CompiledGraph::put_back(std::unique_ptr<Binding> binding) {
  const sdk::MutexLock lock(mutex_);
  idle_.push_back(std::move(binding));
}

void CompiledGraph::run(host::KernelContext* context) {
  // The weights that ONNX Runtime has freed since the graph was compiled would stay with the heap.
  std::call_once(first_run_, [] { malloc_trim(0); });
  // A binding that was kept writes to the outputs of its last run, so without new ones for all of
  // them a run has a binding of its own. One that failed is not used again.
  const std::optional<std::vector<Tensor>> given = targets(context);
  std::unique_ptr<Binding> binding = given ? take() : std::make_unique<Binding>(*session_);
  for (const Port& input : inputs_) {
    const auto* value =
        api_.value<const host::AnyValue*>(Slot::kKernelContextGetInput, context, input.index);
    binding->input(input.name, tensor_of(api_, value));
  }
  std::set<size_t> written;
  for (size_t i = 0; given && i < given->size(); ++i) {
    binding->output(in_place_[i].name, (*given)[i]);
    written.insert(in_place_[i].index);
  }
  binding->run();
  for (const Port& output : outputs_) {
    if (written.count(output.index) == 0)
      give(context, output.index, binding->result(output.name).tensor());
  }
  if (given) {
    put_back(std::move(binding));
  } else {
    learn(*binding);
  }
}

std::optional<std::vector<Tensor>> CompiledGraph::targets(host::KernelContext* context) const {
  if (!has_run_) return std::nullopt;
  std::vector<Tensor> all;
  for (const Port& output : in_place_) {
    const auto* value =
        api_.value<host::AnyValue*>(Slot::kKernelContextGetOutput, context, output.index,
                                    output.shape.data(), output.shape.size());
    all.push_back(tensor_of(api_, value));
    if (all.back().data() != api_.value<void*>(Slot::kGetTensorMutableData, value))
      return std::nullopt;
  }
  return all;
}

void CompiledGraph::learn(const Binding& binding) {
  const sdk::MutexLock lock(mutex_);
  if (has_run_) return;
  const std::vector<ValueInfo>& infos = session_->outputs();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_fixed(infos[i])) continue;
    Port output = outputs_[i];
    output.shape = infos[i].shape;
    if (binding.result(output.name).tensor().shape() == output.shape)
      in_place_.push_back(std::move(output));
  }
  has_run_ = true;
}

void CompiledGraph::give(host::KernelContext* context, size_t index, const Tensor& tensor) const {
  const std::vector<int64_t>& shape = tensor.shape();
  auto* value = api_.value<host::AnyValue*>(Slot::kKernelContextGetOutput, context, index,
                                            shape.data(), shape.size());
  if (tensor.dtype() == DType::kString) {
    for (size_t i = 0; i < tensor.strings().size(); ++i) {
      const std::string& text = tensor.strings()[i];
      char* target =
          api_.value<char*>(Slot::kGetResizedStringTensorElementBuffer, value, i, text.size());
      std::copy(text.begin(), text.end(), target);
    }
  } else if (tensor.size_bytes() > 0) {
    std::memcpy(api_.value<void*>(Slot::kGetTensorMutableData, value), tensor.data(),
                tensor.size_bytes());
  }
}

}  // namespace gantry::ort
