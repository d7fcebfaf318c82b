// SPDX-License-Identifier: Apache-2.0
// LSTM, with peepholes, coupled gates and clipping. Gates are in the order input, output, forget,
// cell.
#include "families.h"
#include "recurrent/recurrent.h"

namespace gantry::cpu {
namespace {

class Lstm final : public Recurrent {
 public:
  explicit Lstm(const sdk::NodeView& node)
      : Recurrent(node, 4, {"Sigmoid", "Tanh", "Tanh"}),
        couples_gates_(node.get_int("input_forget", 0) != 0) {}

  void run(sdk::Call& call) const override {
    const Sizes s = resolve(call);
    if (call.has_input(6)) require_state(call, 6, s);
    if (call.has_input(7)) require_shape(call, 7, {directions_, 3 * s.hidden});
    dispatch<FloatTypes>(call.input(0).dtype,
                         [&](auto type) { compute<typename decltype(type)::type>(call, s); });
  }

 private:
  template <class T>
  void compute(sdk::Call& call, const Sizes& s) const {
    using C = Compute<T>;
    const Operands<C> in = operands<T>(call);
    const C* initial_c = call.has_input(6) ? widened<T>(call, call.input(6)) : nullptr;
    const C* peepholes = call.has_input(7) ? widened<T>(call, call.input(7)) : nullptr;
    const Result<T> y = sequence_result<T>(call, 0, s);
    const Result<T> y_h = state_result<T>(call, 1, s);
    const Result<T> y_c = state_result<T>(call, 2, s);
    const int64_t width = 4 * s.hidden;
    for_each_direction<C>(call, s, s.batch * s.hidden, [&](int d, const Work<C>& work) {
      const C* r = in.r + d * width * s.hidden;
      const C* own_peepholes = peepholes ? peepholes + d * 3 * s.hidden : nullptr;
      load_state(s, d, in.initial_h, work.state);
      load_state(s, d, initial_c, work.extra);
      project(call, s, d, in, gates_, work.projected);
      iterate<C>(
          call, s, d, in, work, y.data,
          [&](C* gates) { recur(call, s, work.state, r, width, gates, width); },
          [&](int64_t n, C* gates, C* state) {
            update(d, s.hidden, gates, own_peepholes, work.extra + n * s.hidden, state);
          });
      store_state(s, d, work.state, y_h.data);
      store_state(s, d, work.extra, y_c.data);
    });
    y.finish(call);
    y_h.finish(call);
    y_c.finish(call);
  }

  /// One step of one sequence: computes the new cell and hidden state from the gates.
  template <class C>
  void update(int d, int64_t n, C* gates, const C* peepholes, C* cell, C* state) const {
    C* input = gates;
    C* output = gates + n;
    C* forget = gates + 2 * n;
    C* candidate = gates + 3 * n;
    if (peepholes) {
      for (int64_t i = 0; i < n; ++i) input[i] += peepholes[i] * cell[i];
      for (int64_t i = 0; i < n; ++i) forget[i] += peepholes[2 * n + i] * cell[i];
    }
    activate(d, 0, input, n);
    if (couples_gates_) {
      for (int64_t i = 0; i < n; ++i) forget[i] = C{1} - input[i];
    } else {
      activate(d, 0, forget, n);
    }
    activate(d, 1, candidate, n);
    for (int64_t i = 0; i < n; ++i) cell[i] = forget[i] * cell[i] + input[i] * candidate[i];
    if (peepholes) {
      for (int64_t i = 0; i < n; ++i) output[i] += peepholes[n + i] * cell[i];
    }
    activate(d, 0, output, n);
    std::copy_n(cell, n, state);
    // `clip` applies to the gates only, as in ONNX Runtime.
    activation(d, 2).apply(state, n);
    for (int64_t i = 0; i < n; ++i) state[i] *= output[i];
  }

  bool couples_gates_;
};

// Input 2, the recurrent weights, is read in every step. Unaligned in a mapped file, with vectors
// that cross cache lines, it would take half as long again.
constexpr sdk::KernelRow kLstmRows[] = {
    {"LSTM", 1, sdk::kLatest, sdk::kFloats, sdk::make<Lstm>, {.unaligned_inputs = 2}},
};

}  // namespace

sdk::KernelTable lstm_kernels() { return sdk::table(kLstmRows); }

}  // namespace gantry::cpu
