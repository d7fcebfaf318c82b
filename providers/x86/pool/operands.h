// SPDX-License-Identifier: Apache-2.0
// Operands of pooling, which all its implementations share: the node's attributes, the tensors of a
// run, and the arguments of the compiled loops.
#pragma once

#include <gantry/sdk/kernel.h>

#include <string>

#include "conv/window.h"
#include "fuse/kernels.h"
#include "pool/loops.h"

namespace gantry::x86 {

/// The attributes of a pooling node, or of a ReduceMean or ReduceMax over all spatial axes. Pure.
struct PoolShape {
  PoolShape(const GraphIndex& index, const Fusion& fusion);

  Window window;  ///< not set for a global pool
  bool is_global = false;
  bool keeps_axes = true;  ///< keepdims
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  std::string fault;  ///< why the provider refuses it; empty: it does not

 private:
  [[nodiscard]] std::string check_quantized(const Fusion& fusion) const;
  std::string read(const sdk::NodeView& node);
};

/// Immutable. Borrows nothing.
struct PoolOperands {
  explicit PoolOperands(const KernelArgs& args);

  /// What follows from an input shape.
  struct Placed {
    Dims input;     ///< [N, C, spatial...]
    Dims output;    ///< [N, C, spatial...]
    Window window;  ///< for a global pool, over the whole input
    Window::Placed at;
    bool is_empty = false;  ///< the output has no elements
  };
  /// Errors: INVALID_ARGUMENT for a spatial extent of 0.
  [[nodiscard]] Placed place(const Dims& input) const;

  /// Allocates the output of this run; call it once.
  [[nodiscard]] void* target_of(sdk::Call& call, const Placed& placed) const;

  [[nodiscard]] PoolLoops loops_of(const Placed& placed) const;
  /// Pools by loops on the threads of the call; reorders tensors that are not channels-last.
  void run_loops(sdk::Call& call, const PoolLoops& loops, const void* source, void* target) const;

  [[nodiscard]] bool is_max() const { return shape.algorithm == dnnl::algorithm::pooling_max; }
  /// True of f32 max pooling, where oneDNN loses NaN and infinity.
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
  Dims known_input;               ///< the input's extents; empty: one is dynamic or 0
  bool has_dynamic_size = false;  ///< a spatial extent is dynamic
};

}  // namespace gantry::x86
