// SPDX-License-Identifier: Apache-2.0
// Kernel templates for element-wise operators: they add dtype dispatch, broadcasting and threads to
// the functors of element_loops.h. Immutable, any thread.
#pragma once

#include <gantry/sdk/graph.h>
#include <gantry/sdk/kernel.h>
#include <gantry/sdk/rows.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "broadcast.h"
#include "dispatch.h"
#include "elementwise/alignment.h"
#include "elementwise/element_loops.h"
#include "node_kernel.h"
#include "types.h"

namespace gantry::cpu {

/// Constructs the functor, from its node if its constructor takes one.
template <class Op>
Op make_op(const sdk::NodeView& node) {
  if constexpr (std::is_constructible_v<Op, const sdk::NodeView&>) {
    return Op(node);
  } else {
    return Op();
  }
}

/// y = op(x), of the same shape; the type of y is that of x unless `Out` is given.
template <class Op, class Types, class Out = void>
class Unary final : public NodeKernel {
 public:
  explicit Unary(const sdk::NodeView& node) : NodeKernel(node), op_(make_op<Op>(node)) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& x = call.input(0);
    const sdk::Shape shape(x);
    dispatch<Types>(x.dtype, [&](auto type) {
      using T = typename decltype(type)::type;
      using U = std::conditional_t<std::is_void_v<Out>, T, Out>;
      const auto* source = static_cast<const T*>(x.data);
      auto* target = static_cast<U*>(call.output(0, kDType<U>, shape).data);
      call.parallel_for(shape.element_count(), grain_of<Op, T>(), [&](int64_t begin, int64_t end) {
        map_elements(op_, source + begin, target + begin, end - begin);
      });
    });
  }

 private:
  Op op_;
};

/// target = op(a, b), broadcast by `plan`, on the threads of the run. Arrays are dense.
template <class Op, class A, class B, class U>
void zip_broadcast(sdk::Call& call, const Op& op, const A* a, const B* b, U* target,
                   const Broadcast<2>& plan) {
  const int64_t a_stride = plan.inner_stride(0);
  const int64_t b_stride = plan.inner_stride(1);
  call.parallel_for(plan.count(), grain_of<Op, A>(), [&](int64_t begin, int64_t end) {
    plan.for_each_run(begin, end, [&](const auto& run) {
      zip_elements(op, a + run.inputs[0], a_stride, b + run.inputs[1], b_stride,
                   target + run.output, run.count);
    });
  });
}

/// y = op(a, b) with broadcasting; the type of y is that of a unless `Out` is given.
template <class Op, class Types, class Out = void>
class Binary final : public NodeKernel {
 public:
  explicit Binary(const sdk::NodeView& node, Alignment alignment = {})
      : NodeKernel(node), op_(make_op<Op>(node)), alignment_(alignment) {}

  void run(sdk::Call& call) const override {
    const gantry_tensor& a = call.input(0);
    const gantry_tensor& b = call.input(1);
    if (a.dtype != b.dtype) fail("the inputs must have one element type");
    dispatch<Types>(a.dtype,
                    [&](auto type) { run_typed<typename decltype(type)::type>(call, a, b); });
  }

 private:
  template <class T>
  void run_typed(sdk::Call& call, const gantry_tensor& a, const gantry_tensor& b) const {
    using U = std::conditional_t<std::is_void_v<Out>, T, Out>;
    const auto* a_data = static_cast<const T*>(a.data);
    const auto* b_data = static_cast<const T*>(b.data);
    const sdk::Shape shape(a);
    if (shape == sdk::Shape(b)) {
      auto* target = static_cast<U*>(call.output(0, kDType<U>, shape).data);
      call.parallel_for(shape.element_count(), grain_of<Op, T>(), [&](int64_t begin, int64_t end) {
        zip_elements(op_, a_data + begin, 1, b_data + begin, 1, target + begin, end - begin);
      });
      return;
    }
    int64_t extents[kMaxRank];
    const Broadcast<2> plan({shape, alignment_.align(shape, sdk::Shape(b), extents, label())},
                            label());
    auto* target = static_cast<U*>(call.output(0, kDType<U>, plan.shape()).data);
    zip_broadcast(call, op_, a_data, b_data, target, plan);
  }

  Op op_;
  Alignment alignment_;
};

/// Factory of a Binary of an operator version below 7, with attributes `broadcast` and `axis`.
template <class K>
std::unique_ptr<sdk::Kernel> make_with_axis(const sdk::NodeView& node) {
  return std::make_unique<K>(node, Alignment::from_axis(node));
}

/// The output may share the memory of input 0, or of either input 0 or input 1.
inline constexpr sdk::Marks kOverFirst = {.overwrites = 1};
inline constexpr sdk::Marks kOverEither = {.overwrites = 3};

}  // namespace gantry::cpu
