// SPDX-License-Identifier: Apache-2.0
// A fragment as an OpenVINO model: read from the host's ONNX model, and compiled for shapes.
#pragma once

#include <gantry/provider.h>
#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "library.h"
#include "options.h"

namespace gantry_openvino {

/// Owns OpenVINO's core object, which is created for the first fragment, since it loads plugins.
/// Any thread.
class Engine {
 public:
  explicit Engine(const Library& library) : library_(library) {}
  [[nodiscard]] const Library& library() const { return library_; }
  [[nodiscard]] ov_core_t* core() const;

 private:
  const Library& library_;
  mutable gantry::sdk::Mutex mutex_;
  mutable Owned<ov_core_t> core_ GANTRY_GUARDED_BY(mutex_){nullptr, nullptr};
};

/// An input or output of a compiled fragment.
struct Port {
  Owned<ov_output_const_port_t> handle;
  ov_element_type_e type;
  bool is_static;
  std::vector<int64_t> shape;  ///< if it is static
};

/// A fragment compiled for one set of static shapes, or for dynamic ones. Immutable; any thread.
struct CompiledModel {
  Owned<ov_compiled_model_t> handle;
  std::vector<Port> inputs;   ///< in the order of TensorNames
  std::vector<Port> outputs;  ///< likewise
};

/// Names of the tensors that are shared with the host, in the order of their slots.
struct TensorNames {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// A fragment as an OpenVINO model. Calls must not overlap.
class Model {
 public:
  /// Reads the fragment of a compile call. Throws UNSUPPORTED, with OpenVINO's reason, if OpenVINO
  /// cannot read it.
  Model(const Engine& engine, const gantry_host* host, const gantry_compile& args,
        TensorNames names);

  /// Compiles the model for its current shapes. `threads`: threads of a run; 0: OpenVINO chooses.
  [[nodiscard]] std::shared_ptr<const CompiledModel> compile(const Options& options,
                                                             uint32_t threads) const;
  /// Sets the shapes of the inputs, in the order of TensorNames.
  void reshape(const std::vector<std::vector<int64_t>>& shapes);

 private:
  const Engine& engine_;
  TensorNames names_;
  Owned<ov_model_t> model_;
};

}  // namespace gantry_openvino
