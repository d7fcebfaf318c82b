// SPDX-License-Identifier: Apache-2.0
// Optimizers of ai.onnx.preview.training: Adagrad, Adam, Momentum. Inputs are a learning rate, an
// update count, and lists of equal length: tensors, gradients and accumulated states.
#include <gantry/sdk/rows.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "attributes.h"
#include "dispatch.h"
#include "families.h"
#include "node_kernel.h"

namespace gantry::cpu {
namespace {

constexpr int64_t kOptimizerGrain = 8192;

/// One optimizer, with `kStates` states for each element.
///   Rate rate(R, T);  T update(rate, x, gradient, states): returns the new x, replaces the states.
struct Adagrad {
  static constexpr int kStates = 1;
  explicit Adagrad(const sdk::NodeView& node)
      : decay(node.get_float("decay_factor", 0.0F)),
        epsilon(node.get_float("epsilon", 1e-6F)),
        norm(node.get_float("norm_coefficient", 0.0F)) {}
  [[nodiscard]] double rate(double rate, int64_t updates) const {
    return rate / (1 + static_cast<double>(updates) * static_cast<double>(decay));
  }
  template <class T>
  T update(T rate, int64_t /*updates*/, T x, T gradient, T* states) const {
    const T regularized = static_cast<T>(norm) * x + gradient;
    states[0] += regularized * regularized;
    return x - rate * regularized / (std::sqrt(states[0]) + static_cast<T>(epsilon));
  }
  float decay;
  float epsilon;
  float norm;
};

struct Adam {
  static constexpr int kStates = 2;
  explicit Adam(const sdk::NodeView& node)
      : alpha(node.get_float("alpha", 0.9F)),
        beta(node.get_float("beta", 0.999F)),
        epsilon(node.get_float("epsilon", 1e-6F)),
        norm(node.get_float("norm_coefficient", 0.0F)),
        norm_post(node.get_float("norm_coefficient_post", 0.0F)) {}
  [[nodiscard]] double rate(double rate, int64_t updates) const {
    if (updates <= 0) return rate;
    const auto count = static_cast<double>(updates);
    return rate * std::sqrt(1 - std::pow(static_cast<double>(beta), count)) /
           (1 - std::pow(static_cast<double>(alpha), count));
  }
  template <class T>
  T update(T rate, int64_t /*updates*/, T x, T gradient, T* states) const {
    const T a = static_cast<T>(alpha);
    const T b = static_cast<T>(beta);
    const T regularized = static_cast<T>(norm) * x + gradient;
    states[0] = a * states[0] + (1 - a) * regularized;
    states[1] = b * states[1] + (1 - b) * regularized * regularized;
    const T root = std::sqrt(states[1]) + static_cast<T>(epsilon);
    return (1 - static_cast<T>(norm_post)) * (x - rate * states[0] / root);
  }
  float alpha;
  float beta;
  float epsilon;
  float norm;
  float norm_post;
};

struct Momentum {
  static constexpr int kStates = 1;
  explicit Momentum(const sdk::NodeView& node)
      : alpha(node.get_float("alpha", 0.0F)),
        beta(node.get_float("beta", 0.0F)),
        norm(node.get_float("norm_coefficient", 0.0F)),
        is_nesterov(read_choice(node, "mode", "", {"standard", "nesterov"}) == 1) {}

  [[nodiscard]] double rate(double rate, int64_t /*updates*/) const { return rate; }
  template <class T>
  T update(T rate, int64_t updates, T x, T gradient, T* states) const {
    const T a = static_cast<T>(alpha);
    const T regularized = static_cast<T>(norm) * x + gradient;
    states[0] = a * states[0] + (updates > 0 ? static_cast<T>(beta) : T{1}) * regularized;
    return x - rate * (is_nesterov ? regularized + a * states[0] : states[0]);
  }
  float alpha;
  float beta;
  float norm;
  bool is_nesterov;
};

template <class Step>
class Optimizer final : public NodeKernel {
 public:
  explicit Optimizer(const sdk::NodeView& node)
      : NodeKernel(node), step_(node), tensors_((node.input_count() - 2) / kLists) {
    if (tensors_ < 1 || node.input_count() != 2 + kLists * tensors_ ||
        node.output_count() != (kLists - 1) * tensors_) {
      node.fail(GANTRY_INVALID_MODEL,
                std::to_string(node.input_count()) + " inputs and " +
                    std::to_string(node.output_count()) +
                    " outputs, expected a rate, a count, and as many gradients and states as "
                    "tensors");
    }
  }

  void run(sdk::Call& call) const override {
    if (call.shape(0).element_count() != 1) fail("the learning rate must be one number");
    const double rate = call.input(0).dtype == GANTRY_DOUBLE
                            ? *call.data<double>(0)
                            : static_cast<double>(*call.data<float>(0));
    const int64_t updates = read_int(call, 1);
    for (int i = 0; i < tensors_; ++i) {
      const int slot = 2 + i;
      for (int list = 1; list < kLists; ++list) {
        const int other = slot + list * tensors_;
        if (call.shape(other) != call.shape(slot) ||
            call.input(other).dtype != call.input(slot).dtype) {
          fail("input " + std::to_string(other) + " has shape " + to_string(call.shape(other)) +
               ", needs the type and shape " + to_string(call.shape(slot)) + " of its tensor");
        }
      }
      dispatch<TypeList<float, double>>(call.input(slot).dtype, [&](auto type) {
        update<typename decltype(type)::type>(call, i, step_.rate(rate, updates), updates);
      });
    }
  }

 private:
  /// Inputs for each tensor: the tensor, its gradient, its states.
  static constexpr int kLists = 2 + Step::kStates;

  template <class T>
  void update(sdk::Call& call, int index, double rate, int64_t updates) const {
    const sdk::Shape shape = call.shape(2 + index);
    const T* x = call.data<T>(2 + index);
    const T* gradient = call.data<T>(2 + index + tensors_);
    auto* y = static_cast<T*>(call.output(index, kDType<T>, shape).data);
    const T* states[Step::kStates];
    T* new_states[Step::kStates];
    for (int i = 0; i < Step::kStates; ++i) {
      states[i] = call.data<T>(2 + index + (2 + i) * tensors_);
      new_states[i] =
          static_cast<T*>(call.output(index + (1 + i) * tensors_, kDType<T>, shape).data);
    }
    call.parallel_for(shape.element_count(), kOptimizerGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end; ++at) {
        T own[Step::kStates];
        for (int i = 0; i < Step::kStates; ++i) own[i] = states[i][at];
        y[at] = step_.update(static_cast<T>(rate), updates, x[at], gradient[at], own);
        for (int i = 0; i < Step::kStates; ++i) new_states[i][at] = own[i];
      }
    });
  }

  Step step_;
  int tensors_;
};

template <class Step>
constexpr sdk::KernelRow row(const char* op_type) {
  return {op_type,
          1,
          sdk::kLatest,
          sdk::dtypes(GANTRY_FLOAT, GANTRY_DOUBLE),
          sdk::make<Optimizer<Step>>,
          {},
          nullptr,
          "ai.onnx.preview.training"};
}

constexpr sdk::KernelRow kOptimizerRows[] = {
    row<Adagrad>("Adagrad"),
    row<Adam>("Adam"),
    row<Momentum>("Momentum"),
};

}  // namespace

sdk::KernelTable optimizer_kernels() { return sdk::table(kOptimizerRows); }

}  // namespace gantry::cpu
