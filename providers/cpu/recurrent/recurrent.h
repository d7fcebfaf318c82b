// SPDX-License-Identifier: Apache-2.0
// Shared by LSTM, GRU and RNN: attributes, checks of the inputs, and the loop over directions and
// time steps, with sequences of different lengths. The derived kernel computes one step. 16-bit
// floats are computed in f32. Immutable, any thread.
#pragma once

#include <gantry/sdk/rows.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "convert.h"
#include "dispatch.h"
#include "linear_algebra/blas.h"
#include "linear_algebra/skinny_gemm.h"
#include "node_kernel.h"

namespace gantry::cpu {

/// An activation function with its parameters.
struct Activation {
  enum class Kind {
    kRelu,
    kTanh,
    kSigmoid,
    kAffine,
    kLeakyRelu,
    kThresholdedRelu,
    kScaledTanh,
    kHardSigmoid,
    kElu,
    kSoftsign,
    kSoftplus
  };
  Kind kind = Kind::kTanh;
  float alpha = 0;
  float beta = 0;

  /// x = f(x)
  void apply(float* x, int64_t count) const;
  void apply(double* x, int64_t count) const;
};

/// Least number of gate elements of a step for another thread.
inline constexpr int64_t kCellGrain = 4096;

class Recurrent : public NodeKernel {
 protected:
  /// `gates` is the number of gates whose matrices are stacked in W and R; `defaults` names the
  /// default activations of one direction. Throws INVALID_MODEL for bad attributes.
  Recurrent(const sdk::NodeView& node, int gates, const std::vector<std::string>& defaults);

  struct Sizes {
    int64_t steps;
    int64_t batch;
    int64_t input;
    int64_t hidden;
  };
  /// Checks the shapes of inputs 0 to 5, which all three operators have: X, W, R, B, sequence_lens,
  /// initial_h. Throws INVALID_ARGUMENT.
  [[nodiscard]] Sizes resolve(sdk::Call& call) const;
  void require_shape(sdk::Call& call, int slot, std::initializer_list<int64_t> shape) const;
  void require_state(sdk::Call& call, int slot, const Sizes& sizes) const;

  [[nodiscard]] const Activation& activation(int direction, int index) const {
    const int position = direction * activation_count_ + index;
    return activations_[static_cast<size_t>(position)];
  }
  [[nodiscard]] bool is_reverse(int direction) const { return direction == 1 || starts_reverse_; }

  /// Clips x to [-clip, clip] if attribute clip is given, then applies the activation in place.
  template <class C>
  void activate(int direction, int index, C* x, int64_t count) const {
    clip(x, count);
    activation(direction, index).apply(x, count);
  }
  template <class C>
  void clip(C* x, int64_t count) const {
    if (clip_ <= 0) return;
    const C limit = static_cast<C>(clip_);
    for (int64_t i = 0; i < count; ++i) x[i] = std::min(std::max(x[i], -limit), limit);
  }

  // Row indices in X, Y and the states, whose axis order depends on attribute layout.
  [[nodiscard]] int64_t sequence_row(const Sizes& s, int64_t step, int64_t item) const {
    return batch_first_ ? item * s.steps + step : step * s.batch + item;
  }
  [[nodiscard]] int64_t output_row(const Sizes& s, int64_t step, int64_t direction,
                                   int64_t item) const {
    return batch_first_ ? (item * s.steps + step) * directions_ + direction
                        : (step * directions_ + direction) * s.batch + item;
  }
  [[nodiscard]] int64_t state_row(const Sizes& s, int64_t direction, int64_t item) const {
    return batch_first_ ? item * directions_ + direction : direction * s.batch + item;
  }

  /// The inputs of one run in their compute type.
  template <class C>
  struct Operands {
    const C* x;
    const C* w;
    const C* r;
    const C* b;              ///< null: none
    const int32_t* lengths;  ///< null: all steps
    const C* initial_h;      ///< null: zeros
  };
  template <class T>
  Operands<Compute<T>> operands(sdk::Call& call) const {
    Operands<Compute<T>> result = {};
    result.x = widened<T>(call, call.input(0));
    result.w = widened<T>(call, call.input(1));
    result.r = widened<T>(call, call.input(2));
    if (call.has_input(3)) result.b = widened<T>(call, call.input(3));
    if (call.has_input(4)) result.lengths = call.data<int32_t>(4);
    if (call.has_input(5)) result.initial_h = widened<T>(call, call.input(5));
    return result;
  }

  /// An optional output in its compute type; null pointers if the graph does not use it.
  template <class T>
  struct Result {
    gantry_tensor* tensor = nullptr;
    Compute<T>* data = nullptr;
    void finish(sdk::Call& call) const {
      if (tensor) narrow<T>(call, data, *tensor);
    }
  };
  template <class T>
  Result<T> sequence_result(sdk::Call& call, int slot, const Sizes& s) const {
    Result<T> result;
    if (!call.wants(slot)) return result;
    const int64_t d = directions_;
    result.tensor = batch_first_ ? &call.output(slot, kDType<T>, {s.batch, s.steps, d, s.hidden})
                                 : &call.output(slot, kDType<T>, {s.steps, d, s.batch, s.hidden});
    result.data = wide_output<T>(call, *result.tensor);
    return result;
  }
  template <class T>
  Result<T> state_result(sdk::Call& call, int slot, const Sizes& s) const {
    Result<T> result;
    if (!call.wants(slot)) return result;
    const int64_t d = directions_;
    result.tensor = batch_first_ ? &call.output(slot, kDType<T>, {s.batch, d, s.hidden})
                                 : &call.output(slot, kDType<T>, {d, s.batch, s.hidden});
    result.data = wide_output<T>(call, *result.tensor);
    return result;
  }

  /// Scratch memory of one direction.
  template <class C>
  struct Work {
    C* projected;  ///< [rows of X, gates * hidden]: X W^T with biases
    C* gates;      ///< [batch, gates * hidden]: of the current step
    C* state;      ///< [batch, hidden]: the output of the previous step
    C* extra;      ///< for the derived kernel
  };

  template <class C>
  void load_state(const Sizes& s, int direction, const C* initial, C* state) const {
    for (int64_t n = 0; n < s.batch; ++n) {
      C* target = state + n * s.hidden;
      if (initial) {
        std::copy_n(initial + state_row(s, direction, n) * s.hidden, s.hidden, target);
      } else {
        std::fill_n(target, s.hidden, C{0});
      }
    }
  }
  template <class C>
  void store_state(const Sizes& s, int direction, const C* state, C* target) const {
    if (!target) return;
    for (int64_t n = 0; n < s.batch; ++n) {
      std::copy_n(state + n * s.hidden, s.hidden, target + state_row(s, direction, n) * s.hidden);
    }
  }

  /// projected = x w^T + biases. `recurrent_bias_gates`: the gates, from the first, whose recurrent
  /// bias is included.
  template <class C>
  void project(sdk::Call& call, const Sizes& s, int direction, const Operands<C>& in,
               int recurrent_bias_gates, C* projected) const {
    const int64_t width = gates_ * s.hidden;
    const int64_t rows = s.steps * s.batch;
    GemmArgs<C> args =
        dense_gemm<C>(rows, width, s.input, in.x, in.w + direction * width * s.input, projected);
    args.transpose_b = true;
    args.ldb = std::max<int64_t>(s.input, 1);
    if (in.b && rows > 0) {
      const C* bias = in.b + direction * 2 * width;
      for (int64_t i = 0; i < width; ++i) {
        projected[i] = bias[i] + (i < recurrent_bias_gates * s.hidden ? bias[width + i] : C{0});
      }
      for (int64_t row = 1; row < rows; ++row)
        std::copy_n(projected, width, projected + row * width);
      args.beta = C{1};
    }
    gemm(call, args);
  }

  /// out[batch, columns] += state r^T for `columns` rows of r.
  template <class C>
  static void recur(sdk::Call& call, const Sizes& s, const C* state, const C* r, int64_t columns,
                    C* out, int64_t ldc) {
    if constexpr (std::is_same_v<C, float>) {
      if (s.batch * columns * s.hidden < 2 * kGemmGrain)
        return simd::add_skinny_gemm(state, r, out, s.batch, columns, s.hidden, ldc);
    }
    GemmArgs<C> args = dense_gemm<C>(s.batch, columns, s.hidden, state, r, out);
    args.transpose_b = true;
    args.ldb = std::max<int64_t>(s.hidden, 1);
    args.beta = C{1};
    args.ldc = ldc;
    gemm(call, args);
  }

  /// Time index that step `i` of a batch item processes; -1 if its sequence has ended.
  template <class C>
  int64_t time_of(const Sizes& s, const Operands<C>& in, int direction, int64_t item,
                  int64_t i) const {
    const int64_t length = in.lengths ? in.lengths[item] : s.steps;
    if (i >= length) return -1;
    return is_reverse(direction) ? length - 1 - i : i;
  }

  /// Runs all steps of a direction and writes each state to y, if not null. In each step,
  /// step(gates) adds the recurrent part to work.gates, which holds the projections of all items.
  /// Then cell(item, gates, state) updates the state of each item whose sequence has not ended.
  template <class C, class Step, class Cell>
  void iterate(sdk::Call& call, const Sizes& s, int direction, const Operands<C>& in,
               const Work<C>& work, C* y, Step&& step, Cell&& cell) const {
    const int64_t width = gates_ * s.hidden;
    for (int64_t i = 0; i < s.steps; ++i) {
      for (int64_t n = 0; n < s.batch; ++n) {
        const int64_t time = time_of(s, in, direction, n, i);
        C* gates = work.gates + n * width;
        if (time >= 0) {
          std::copy_n(work.projected + sequence_row(s, time, n) * width, width, gates);
        } else {
          std::fill_n(gates, width, C{0});
        }
      }
      step(work.gates);
      const int64_t grain = std::max<int64_t>(1, kCellGrain / std::max<int64_t>(width, 1));
      call.parallel_for(s.batch, grain, [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end; ++n) {
          const int64_t time = time_of(s, in, direction, n, i);
          C* state = work.state + n * s.hidden;
          if (time >= 0) cell(n, work.gates + n * width, state);
          if (!y) continue;
          // Steps beyond the length of a short sequence are zero, whatever the direction.
          C* target = y + output_row(s, time >= 0 ? time : i, direction, n) * s.hidden;
          if (time >= 0) {
            std::copy_n(state, s.hidden, target);
          } else {
            std::fill_n(target, s.hidden, C{0});
          }
        }
      });
    }
  }

  /// Calls body(direction, work) for each direction, two directions in parallel if they are large.
  /// `extra`: elements of work.extra.
  template <class C, class Body>
  void for_each_direction(sdk::Call& call, const Sizes& s, int64_t extra, Body&& body) const {
    const int64_t width = gates_ * s.hidden;
    Work<C> work[2];
    for (int d = 0; d < directions_; ++d) {
      work[d].projected = call.scratch<C>(s.steps * s.batch * width);
      work[d].gates = call.scratch<C>(s.batch * width);
      work[d].state = call.scratch<C>(s.batch * s.hidden);
      work[d].extra = call.scratch<C>(extra);
    }
    const int64_t products = s.steps * s.batch * width;
    const int64_t grain = products > kGemmGrain / (s.input + s.hidden + 1) ? 1 : directions_;
    call.parallel_for(directions_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t d = begin; d < end; ++d) body(static_cast<int>(d), work[d]);
    });
  }

  int gates_;
  int directions_ = 1;

 private:
  void parse_direction(const sdk::NodeView& node);
  void parse_activations(const sdk::NodeView& node, const std::vector<std::string>& defaults);

  bool starts_reverse_ = false;
  bool batch_first_;
  int64_t hidden_;
  float clip_;
  int activation_count_;
  std::vector<Activation> activations_;
};

}  // namespace gantry::cpu
