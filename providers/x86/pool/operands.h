// SPDX-License-Identifier: Apache-2.0
// What every implementation of a pool starts from: the node's attributes, the tensors of a run, and
// what is pooled by compiled loops.
#pragma once

#include <gantry/sdk/kernel.h>

#include <string>

#include "conv/window.h"
#include "fuse/kernels.h"
#include "pool/loops.h"

namespace gantry::x86 {

/// The attributes of a node. Pure.
struct PoolShape {
  PoolShape(const GraphIndex& index, const Fusion& fusion);

  Window window;  ///< of a global pool: nothing
  bool is_global = false;
  bool keeps_axes = true;  ///< those that are pooled away stay, with extent 1
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  std::string fault;  ///< why it is not taken

 private:
  [[nodiscard]] std::string check_quantized(const Fusion& fusion) const;
  std::string read(const sdk::NodeView& node);
};

/// Immutable. Borrows nothing.
struct PoolOperands {
  explicit PoolOperands(const KernelArgs& args);

  /// One shape of the input, [N, C, spatial...].
  struct Placed {
    Dims input;
    Dims output;
    Window window;  ///< over the whole plane, of a global pool
    Window::Placed at;
    bool is_empty = false;  ///< the output has no elements
  };
  /// Errors: INVALID_ARGUMENT for a spatial extent of 0, over which there is nothing to pool.
  [[nodiscard]] Placed place(const Dims& input) const;

  /// The elements of the run's output, whose shape is placed.output, or [N, C] if the axes that are
  /// pooled away do not stay.
  [[nodiscard]] void* target_of(sdk::Call& call, const Placed& placed) const;

  [[nodiscard]] PoolLoops loops_of(const Placed& placed) const;
  /// Pools by loops, on the threads of the call.
  void run_loops(sdk::Call& call, const PoolLoops& loops, const void* source, void* target) const;

  [[nodiscard]] bool is_max() const { return shape.algorithm == dnnl::algorithm::pooling_max; }
  /// Of a maximum of floats the library loses NaN and infinity.
  [[nodiscard]] bool is_max_of_floats() const { return source_type == Type::f32 && is_max(); }

  PoolShape shape;
  Fusion fusion;
  std::string label;  ///< for messages
  size_t source_slot;
  size_t target_slot;
  bool is_source_formatted;
  bool is_target_formatted;
  Type source_type;
  Type target_type;
  Dims known_input;            ///< empty: the model leaves an extent open, or one is 0
  bool has_open_size = false;  ///< the model does not say how large an image is
};

}  // namespace gantry::x86
