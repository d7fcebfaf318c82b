// SPDX-License-Identifier: Apache-2.0
// GRU and RNN. Gates of GRU are in the order update, reset, hidden.
#include "families.h"
#include "recurrent/recurrent.h"

namespace gantry::cpu {
namespace {

class Gru final : public Recurrent {
 public:
  explicit Gru(const sdk::NodeView& node)
      : Recurrent(node, 3, {"Sigmoid", "Tanh"}),
        resets_after_(node.get_int("linear_before_reset", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const Sizes s = resolve(call);
    dispatch<FloatTypes>(call.input(0).dtype,
                         [&](auto type) { compute<typename decltype(type)::type>(call, s); });
  }

 private:
  template <class T>
  void compute(sdk::Call& call, const Sizes& s) const {
    using C = Compute<T>;
    const Operands<C> in = operands<T>(call);
    const Result<T> y = sequence_result<T>(call, 0, s);
    const Result<T> y_h = state_result<T>(call, 1, s);
    const int64_t n = s.hidden;
    for_each_direction<C>(call, s, s.batch * n, [&](int d, const Work<C>& work) {
      const C* r = in.r + d * 3 * n * n;
      const C* hidden_bias = in.b ? in.b + d * 6 * n + 5 * n : nullptr;
      load_state(s, d, in.initial_h, work.state);
      project(call, s, d, in, resets_after_ ? 2 : 3, work.projected);
      iterate<C>(
          call, s, d, in, work, y.data,
          [&](C* gates) { step(call, s, d, r, hidden_bias, work, gates); },
          [&](int64_t, C* gates, C* state) {
            activate(d, 1, gates + 2 * n, n);
            // The update gate weights the previous state.
            for (int64_t i = 0; i < n; ++i)
              state[i] = (C{1} - gates[i]) * gates[2 * n + i] + gates[i] * state[i];
          });
      store_state(s, d, work.state, y_h.data);
    });
    y.finish(call);
    y_h.finish(call);
  }

  /// Adds the recurrent part to the gates; `work.extra` is used for the hidden gate.
  template <class C>
  void step(sdk::Call& call, const Sizes& s, int d, const C* r, const C* hidden_bias,
            const Work<C>& work, C* gates) const {
    const int64_t n = s.hidden;
    const int64_t width = 3 * n;
    recur(call, s, work.state, r, 2 * n, gates, width);
    for (int64_t item = 0; item < s.batch; ++item) activate(d, 0, gates + item * width, 2 * n);
    const C* hidden_weights = r + 2 * n * n;
    if (resets_after_) {
      for (int64_t item = 0; item < s.batch; ++item) {
        C* part = work.extra + item * n;
        hidden_bias ? void(std::copy_n(hidden_bias, n, part)) : void(std::fill_n(part, n, C{0}));
      }
      recur(call, s, work.state, hidden_weights, n, work.extra, n);
      for (int64_t item = 0; item < s.batch; ++item) {
        C* own = gates + item * width;
        for (int64_t i = 0; i < n; ++i) own[2 * n + i] += own[n + i] * work.extra[item * n + i];
      }
    } else {
      for (int64_t item = 0; item < s.batch; ++item) {
        const C* reset = gates + item * width + n;
        for (int64_t i = 0; i < n; ++i)
          work.extra[item * n + i] = reset[i] * work.state[item * n + i];
      }
      recur(call, s, static_cast<const C*>(work.extra), hidden_weights, n, gates + 2 * n, width);
    }
  }

  bool resets_after_;
};

class Rnn final : public Recurrent {
 public:
  explicit Rnn(const sdk::NodeView& node) : Recurrent(node, 1, {"Tanh"}) {}

  void run(sdk::Call& call) const override {
    const Sizes s = resolve(call);
    dispatch<FloatTypes>(call.input(0).dtype,
                         [&](auto type) { compute<typename decltype(type)::type>(call, s); });
  }

 private:
  template <class T>
  void compute(sdk::Call& call, const Sizes& s) const {
    using C = Compute<T>;
    const Operands<C> in = operands<T>(call);
    const Result<T> y = sequence_result<T>(call, 0, s);
    const Result<T> y_h = state_result<T>(call, 1, s);
    for_each_direction<C>(call, s, 0, [&](int d, const Work<C>& work) {
      const C* r = in.r + d * s.hidden * s.hidden;
      load_state(s, d, in.initial_h, work.state);
      project(call, s, d, in, 1, work.projected);
      iterate<C>(
          call, s, d, in, work, y.data,
          [&](C* gates) {
            recur(call, s, static_cast<const C*>(work.state), r, s.hidden, gates, s.hidden);
          },
          [&](int64_t, C* gates, C* state) {
            activate(d, 0, gates, s.hidden);
            std::copy_n(gates, s.hidden, state);
          });
      store_state(s, d, work.state, y_h.data);
    });
    y.finish(call);
    y_h.finish(call);
  }
};

// The recurrent weights must be aligned, see LSTM.
constexpr sdk::Marks kWeights = {.unaligned_inputs = 2};

constexpr sdk::KernelRow kGruRows[] = {
    {"GRU", 1, sdk::kLatest, sdk::kFloats, sdk::make<Gru>, kWeights},
    {"RNN", 1, sdk::kLatest, sdk::kFloats, sdk::make<Rnn>, kWeights},
};

}  // namespace

sdk::KernelTable gru_kernels() { return sdk::table(kGruRows); }

}  // namespace gantry::cpu
