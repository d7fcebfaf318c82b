// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gantry_openvino {
namespace {

namespace sdk = gantry::sdk;

constexpr size_t kMostSeen = 64;

ov_element_type_e element_type(uint32_t dtype) {
  switch (dtype) {
    case GANTRY_FLOAT:
      return F32;
    case GANTRY_INT32:
      return I32;
    case GANTRY_INT64:
      return I64;
    case GANTRY_BOOL:
      return BOOLEAN;
    case GANTRY_FLOAT16:
      return F16;
    case GANTRY_INT8:
      return I8;
    case GANTRY_UINT8:
      return U8;
    default:
      return DYNAMIC;
  }
}

// A view of the host's memory.
Owned<ov_tensor_t> view(const Library& library, const gantry_tensor& tensor) {
  static std::array<int64_t, 1> nothing;  // a tensor without elements may have no memory
  ov_tensor_t* handle = nullptr;
  const ov_shape_t shape = {static_cast<int64_t>(tensor.rank), const_cast<int64_t*>(tensor.shape)};
  library.check(library.ov_tensor_create_from_host_ptr(
                    element_type(tensor.dtype), shape,
                    tensor.data ? tensor.data : static_cast<void*>(nothing.data()), &handle),
                "a tensor in the host's memory");
  return {handle, library.ov_tensor_free};
}

}  // namespace

// Infer requests for the models that one context used recently.
class FragmentKernel::Context : public sdk::KernelContext {
 public:
  Context(const Library& library, size_t most) : library_(library), most_(most) {}

  ov_infer_request_t* request(const Compiled& model) {
    const auto found = std::find_if(requests_.begin(), requests_.end(),
                                    [&](const auto& item) { return item.first == model; });
    if (found != requests_.end()) {
      requests_.splice(requests_.begin(), requests_, found);
      return requests_.front().second.get();
    }
    ov_infer_request_t* made = nullptr;
    library_.check(library_.ov_compiled_model_create_infer_request(model->handle.get(), &made),
                   "a request");
    requests_.emplace_front(model, Owned<ov_infer_request_t>{made, library_.ov_infer_request_free});
    if (requests_.size() > most_) requests_.pop_back();
    return made;
  }

  Shapes shapes;  // of the run; reused to avoid allocations

 private:
  const Library& library_;
  size_t most_;
  std::list<std::pair<Compiled, Owned<ov_infer_request_t>>> requests_;
};

FragmentKernel::FragmentKernel(const Engine& engine, const gantry_host* host,
                               const gantry_compile& args, Options options)
    : library_(engine.library()),
      options_(std::move(options)),
      threads_(options_.num_threads > 0 ? options_.num_threads : args.threads),
      model_(engine, host, args, add_slots(args)) {
  general_ = model_.compile(options_, threads_);
  check_types();
}

namespace {

// For each value, whether a node or the caller reads it; values that nobody reads are not outputs
// of the model.
std::vector<bool> find_read(const gantry_graph& graph) {
  std::vector<bool> is_read(graph.value_count, false);
  const auto mark = [&](uint32_t value) {
    if (value < graph.value_count) is_read[value] = true;
  };
  for (uint32_t i = 0; i < graph.node_count; ++i) {
    const gantry_node& node = *graph.nodes[i];
    std::for_each(node.inputs, node.inputs + node.input_count, mark);
    std::for_each(node.captures, node.captures + node.capture_count, mark);
  }
  std::for_each(graph.outputs, graph.outputs + graph.output_count, mark);
  return is_read;
}

}  // namespace

// Records the slots that are tensors of the model, each value once.
TensorNames FragmentKernel::add_slots(const gantry_compile& args) {
  TensorNames names;
  std::vector<uint32_t> known;
  for (uint32_t i = 0; i < args.input_count; ++i) {
    const uint32_t id = args.inputs[i];
    if (id == GANTRY_NONE || std::find(known.begin(), known.end(), id) != known.end()) continue;
    const gantry_value_info& value = *args.graph->values[id];
    if (value.constant) continue;
    known.push_back(id);
    names.inputs.emplace_back(sdk::to_view(value.name));
    inputs_.push_back({static_cast<int>(i), value.dtype});
    for (int32_t axis = 0; axis < value.rank; ++axis)
      is_static_ = is_static_ && value.shape[axis] >= 0;
  }
  const std::vector<bool> is_read = find_read(*args.graph);
  for (uint32_t i = 0; i < args.output_count; ++i) {
    if (args.outputs[i] == GANTRY_NONE || !is_read[args.outputs[i]]) continue;
    const gantry_value_info& value = *args.graph->values[args.outputs[i]];
    names.outputs.emplace_back(sdk::to_view(value.name));
    outputs_.push_back({static_cast<int>(i), value.dtype});
  }
  return names;
}

void FragmentKernel::check_types() const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (general_->outputs[i].type == element_type(outputs_[i].dtype)) continue;
    throw sdk::Error(GANTRY_UNSUPPORTED,
                     "output " + std::to_string(i) + " of the fragment: expected element type " +
                         std::to_string(outputs_[i].dtype) +
                         " (ONNX TensorProto number), found another one in OpenVINO's model");
  }
}

std::unique_ptr<sdk::KernelContext> FragmentKernel::make_context() const {
  return std::make_unique<Context>(library_, options_.shapes + size_t{1});
}

FragmentKernel::Compiled FragmentKernel::choose(sdk::Call& call, Context& context) const {
  if (is_static_ || options_.shapes == 0) return general_;
  context.shapes.resize(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const sdk::Shape shape = call.shape(inputs_[i].index);
    context.shapes[i].assign(shape.data, shape.data + shape.rank);
  }
  return compiled_for(context.shapes);
}

FragmentKernel::Compiled FragmentKernel::compiled_for(const Shapes& shapes) const {
  const sdk::MutexLock lock(mutex_);
  const auto found = std::find_if(special_.begin(), special_.end(),
                                  [&](const auto& item) { return item.first == shapes; });
  if (found != special_.end()) {
    special_.splice(special_.begin(), special_, found);
    return special_.front().second;
  }
  const auto before = std::find(seen_.begin(), seen_.end(), shapes);
  if (before == seen_.end()) {
    seen_.push_front(shapes);
    if (seen_.size() > kMostSeen) seen_.pop_back();
    return general_;
  }
  seen_.erase(before);
  Compiled compiled = general_;  // the fallback if compiling for a shape fails
  try {
    model_.reshape(shapes);
    compiled = model_.compile(options_, threads_);
  } catch (const sdk::Error&) {
  }
  special_.emplace_front(shapes, compiled);
  if (special_.size() > options_.shapes) special_.pop_back();
  return compiled;
}

void FragmentKernel::bind_inputs(sdk::Call& call, const CompiledModel& model,
                                 ov_infer_request_t* request) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Owned<ov_tensor_t> tensor = view(library_, call.input(inputs_[i].index));
    library_.check(library_.ov_infer_request_set_tensor_by_const_port(
                       request, model.inputs[i].handle.get(), tensor.get()),
                   "an input");
  }
}

// Binds outputs with known shape to the host's memory. For each output, true if it is bound.
std::vector<bool> FragmentKernel::bind_outputs(sdk::Call& call, const CompiledModel& model,
                                               ov_infer_request_t* request) const {
  std::vector<bool> is_bound(outputs_.size(), false);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Port& port = model.outputs[i];
    if (!port.is_static || !call.wants(outputs_[i].index)) continue;
    const sdk::Shape shape(port.shape.data(), static_cast<int>(port.shape.size()));
    const gantry_tensor& output = call.output(outputs_[i].index, outputs_[i].dtype, shape);
    const Owned<ov_tensor_t> tensor = view(library_, output);
    library_.check(library_.ov_infer_request_set_tensor_by_const_port(request, port.handle.get(),
                                                                      tensor.get()),
                   "an output");
    is_bound[i] = true;
  }
  return is_bound;
}

void FragmentKernel::copy_output(sdk::Call& call, const Port& port, const Slot& slot,
                                 ov_infer_request_t* request) const {
  ov_tensor_t* handle = nullptr;
  library_.check(
      library_.ov_infer_request_get_tensor_by_const_port(request, port.handle.get(), &handle),
      "an output");
  const Owned<ov_tensor_t> tensor(handle, library_.ov_tensor_free);
  ov_shape_t extents = {};
  library_.check(library_.ov_tensor_get_shape(handle, &extents), "an output's shape");
  const std::vector<int64_t> shape(extents.dims, extents.dims + extents.rank);
  library_.ov_shape_free(&extents);
  void* data = nullptr;
  library_.check(library_.ov_tensor_data(handle, &data), "an output's elements");
  const gantry_tensor& output =
      call.output(slot.index, slot.dtype, sdk::Shape(shape.data(), static_cast<int>(shape.size())));
  if (output.size_bytes > 0) std::memcpy(output.data, data, output.size_bytes);
}

void FragmentKernel::run(sdk::Call& call) const {
  auto& context = *static_cast<Context*>(call.context());
  const Compiled model = choose(call, context);
  ov_infer_request_t* const request = context.request(model);
  bind_inputs(call, *model, request);
  const std::vector<bool> is_bound = bind_outputs(call, *model, request);
  library_.check(library_.ov_infer_request_infer(request), "a run");
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_bound[i] && call.wants(outputs_[i].index))
      copy_output(call, model->outputs[i], outputs_[i], request);
  }
}

}  // namespace gantry_openvino
