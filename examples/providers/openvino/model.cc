// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <gantry/sdk/error.h>

#include "addresses.h"

namespace gantry_openvino {
namespace {

namespace sdk = gantry::sdk;

std::string exported(const gantry_host* host, gantry_fragment* fragment) {
  std::string model;
  sdk::check(host, host->fragment_model(fragment, &model,
                                        [](void* target, const void* data, uint64_t size_bytes) {
                                          static_cast<std::string*>(target)->append(
                                              static_cast<const char*>(data), size_bytes);
                                        }));
  // The host keeps constants at their address for the lifetime of the kernel.
  return with_addresses(model, [&](uint64_t number) {
    Weight weight = {};
    sdk::check(host, host->fragment_weight(fragment, number, &weight.data, &weight.size_bytes));
    return weight;
  });
}

Owned<ov_model_t> read(const Engine& engine, const std::string& bytes) {
  ov_model_t* model = nullptr;
  const Library& library = engine.library();
  library.check(library.ov_core_read_model_from_memory_buffer(engine.core(), bytes.data(),
                                                              bytes.size(), nullptr, &model),
                "the fragment cannot be read");
  return {model, library.ov_model_free};
}

Port describe(const Library& library, ov_output_const_port_t* handle) {
  Port port{{handle, library.ov_output_const_port_free}, DYNAMIC, true, {}};
  library.check(library.ov_port_get_element_type(handle, &port.type), "an element type");
  ov_partial_shape_t shape = {};
  library.check(library.ov_port_get_partial_shape(handle, &shape), "a shape");
  port.is_static = shape.rank.min == shape.rank.max;
  for (int64_t axis = 0; port.is_static && axis < shape.rank.max; ++axis) {
    const ov_dimension_t& extent = shape.dims[axis];
    port.is_static = extent.min == extent.max;
    port.shape.push_back(extent.min);
  }
  library.ov_partial_shape_free(&shape);
  return port;
}

}  // namespace

ov_core_t* Engine::core() const {
  const sdk::MutexLock lock(mutex_);
  if (!core_) {
    ov_core_t* core = nullptr;
    library_.check(library_.ov_core_create(&core), "OpenVINO's core cannot be made");
    core_ = {core, library_.ov_core_free};
  }
  return core_.get();
}

Model::Model(const Engine& engine, const gantry_host* host, const gantry_compile& args,
             TensorNames names)
    : engine_(engine),
      names_(std::move(names)),
      model_(read(engine, exported(host, args.fragment))) {}

std::shared_ptr<const CompiledModel> Model::compile(const Options& options,
                                                    uint32_t threads) const {
  const Library& library = engine_.library();
  const std::string count = std::to_string(threads);
  // Optimise for latency: the host decides how many runs are concurrent.
  std::vector<ov_property_t> properties = {
      {"PERFORMANCE_HINT", "LATENCY"},
      {"NUM_STREAMS", "1"},
      {"INFERENCE_PRECISION_HINT", options.precision.c_str()},
  };
  if (threads > 0) properties.push_back({"INFERENCE_NUM_THREADS", count.c_str()});
  if (!options.cache_dir.empty()) properties.push_back({"CACHE_DIR", options.cache_dir.c_str()});
  ov_compiled_model_t* handle = nullptr;
  library.check(library.ov_core_compile_model_props(engine_.core(), model_.get(), "CPU",
                                                    properties.size(), properties.data(), &handle),
                "the fragment cannot be compiled");
  auto compiled = std::make_shared<CompiledModel>(
      CompiledModel{{handle, library.ov_compiled_model_free}, {}, {}});
  for (const std::string& name : names_.inputs) {
    ov_output_const_port_t* port = nullptr;
    library.check(library.ov_compiled_model_input_by_name(handle, name.c_str(), &port),
                  "input \"" + name + "\"");
    compiled->inputs.push_back(describe(library, port));
  }
  for (const std::string& name : names_.outputs) {
    ov_output_const_port_t* port = nullptr;
    library.check(library.ov_compiled_model_output_by_name(handle, name.c_str(), &port),
                  "output \"" + name + "\"");
    compiled->outputs.push_back(describe(library, port));
  }
  return compiled;
}

void Model::reshape(const std::vector<std::vector<int64_t>>& shapes) {
  const Library& library = engine_.library();
  std::vector<const char*> names;
  std::vector<ov_partial_shape_t> extents(shapes.size(), ov_partial_shape_t{});
  ov_status_e status = OK;
  for (size_t i = 0; i < shapes.size() && status == OK; ++i) {
    names.push_back(names_.inputs[i].c_str());
    status = library.ov_partial_shape_create_static(static_cast<int64_t>(shapes[i].size()),
                                                    shapes[i].data(), &extents[i]);
  }
  if (status == OK)
    status = library.ov_model_reshape(model_.get(), names.data(), extents.data(), names.size());
  for (ov_partial_shape_t& shape : extents) library.ov_partial_shape_free(&shape);
  library.check(status, "the fragment cannot be given shapes");
}

}  // namespace gantry_openvino
