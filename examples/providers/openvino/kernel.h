// SPDX-License-Identifier: Apache-2.0
// The kernel of a fragment: OpenVINO's compiled models by input shapes, and an infer request for
// each execution context of the host.
#pragma once

#include <gantry/sdk/kernel.h>
#include <gantry/sdk/mutex.h>

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "model.h"

namespace gantry_openvino {

/// Any thread. A fragment with unknown extents is compiled once for dynamic shapes, and again for a
/// static shape when the shape occurs a second time. The most recent static ones are cached.
class FragmentKernel : public gantry::sdk::Kernel {
 public:
  /// Throws UNSUPPORTED, with OpenVINO's reason, if OpenVINO cannot compile the fragment.
  FragmentKernel(const Engine& engine, const gantry_host* host, const gantry_compile& args,
                 Options options);

  void run(gantry::sdk::Call& call) const override;
  [[nodiscard]] std::unique_ptr<gantry::sdk::KernelContext> make_context() const override;

 private:
  using Shapes = std::vector<std::vector<int64_t>>;
  using Compiled = std::shared_ptr<const CompiledModel>;
  class Context;
  struct Slot {
    int index;  ///< slot of the fragment
    uint32_t dtype;
  };

  TensorNames add_slots(const gantry_compile& args);
  void check_types() const;
  Compiled choose(gantry::sdk::Call& call, Context& context) const;
  Compiled compiled_for(const Shapes& shapes) const;
  void bind_inputs(gantry::sdk::Call& call, const CompiledModel& model,
                   ov_infer_request_t* request) const;
  std::vector<bool> bind_outputs(gantry::sdk::Call& call, const CompiledModel& model,
                                 ov_infer_request_t* request) const;
  void copy_output(gantry::sdk::Call& call, const Port& port, const Slot& slot,
                   ov_infer_request_t* request) const;

  const Library& library_;
  Options options_;
  uint32_t threads_;
  std::vector<Slot> inputs_;
  std::vector<Slot> outputs_;
  bool is_static_ = true;
  Compiled general_;  // for the shapes of the graph, possibly dynamic

  mutable gantry::sdk::Mutex mutex_;
  mutable Model model_ GANTRY_GUARDED_BY(mutex_);
  mutable std::list<std::pair<Shapes, Compiled>> special_
      GANTRY_GUARDED_BY(mutex_);                              // most recent first
  mutable std::list<Shapes> seen_ GANTRY_GUARDED_BY(mutex_);  // shapes seen once, most recent first
};

}  // namespace gantry_openvino
