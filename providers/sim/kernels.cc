// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "stream.h"

namespace gantry::sim {
namespace {

using sdk::Call;
using sdk::Shape;

constexpr int kMostAxes = 8;

// A list of extents of fixed capacity, so that queued work can store it by value.
class Extents {
 public:
  Extents() = default;
  explicit Extents(Shape shape) {
    for (int i = 0; i < shape.rank; ++i) push_back(shape[i]);
  }
  void push_back(int64_t extent) {
    if (rank_ == kMostAxes) {
      throw sdk::Error(GANTRY_UNSUPPORTED,
                       "a tensor of more than " + std::to_string(kMostAxes) + " axes");
    }
    at_[rank_++] = extent;
  }
  void insert_front(const Extents& others, size_t count) {
    for (size_t i = 0; i < count; ++i) push_back(others[i]);
  }
  [[nodiscard]] size_t size() const { return rank_; }
  [[nodiscard]] bool empty() const { return rank_ == 0; }
  [[nodiscard]] int64_t back() const { return at_[rank_ - 1]; }
  int64_t& operator[](size_t axis) { return at_[axis]; }
  int64_t operator[](size_t axis) const { return at_[axis]; }
  int64_t* begin() { return at_; }
  int64_t* end() { return at_ + rank_; }
  [[nodiscard]] Shape shape() const { return {at_, static_cast<int>(rank_)}; }
  [[nodiscard]] int64_t count() const { return shape().element_count(); }

 private:
  int64_t at_[kMostAxes] = {};
  size_t rank_ = 0;
};

// A tensor as queued work uses it; the call is over by then, so nothing refers to it.
struct Argument {
  const void* address = nullptr;
  Extents shape;

  Argument(const gantry_tensor& tensor)  // NOLINT(google-explicit-constructor)
      : address(tensor.data), shape(Shape(tensor)) {}
  [[nodiscard]] float* real(const Memory& memory, const char* what) const {
    return reinterpret_cast<float*>(
        memory.real(address, static_cast<uint64_t>(shape.count()) * sizeof(float), what));
  }
};

// Extent of axis `axis` of `rank` axes for a shape aligned at its last axis; missing axes are 1.
int64_t aligned_extent(const Extents& shape, size_t rank, size_t axis) {
  const size_t missing = rank - shape.size();
  return axis < missing ? 1 : shape[axis - missing];
}

Extents broadcast(const Extents& a, const Extents& b) {
  const size_t rank = std::max(a.size(), b.size());
  Extents result;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t x = aligned_extent(a, rank, axis);
    const int64_t y = aligned_extent(b, rank, axis);
    if (x != y && x != 1 && y != 1) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the extents " + std::to_string(x) + " and " +
                                                    std::to_string(y) +
                                                    " cannot be broadcast to each other");
    }
    result.push_back(x == 1 ? y : x);
  }
  return result;
}

// Strides of a dense tensor in the broadcast shape `whole`: 0 along broadcast axes.
Extents strides_in(const Extents& shape, const Extents& whole) {
  Extents strides = whole;
  int64_t stride = 1;
  for (size_t i = whole.size(); i-- > 0;) {
    const int64_t extent = aligned_extent(shape, whole.size(), i);
    strides[i] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  return strides;
}

// Calls visit(n, offset_a, offset_b) for every index of a shape, in row-major order.
template <class Visit>
void walk(const Extents& shape, const Extents& a, const Extents& b, Visit&& visit) {
  const int64_t count = shape.count();
  int64_t index[kMostAxes] = {};
  int64_t offset_a = 0;
  int64_t offset_b = 0;
  for (int64_t n = 0; n < count; ++n) {
    visit(n, offset_a, offset_b);
    for (size_t axis = shape.size(); axis-- > 0;) {
      offset_a += a[axis];
      offset_b += b[axis];
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
      offset_a -= a[axis] * shape[axis];
      offset_b -= b[axis] * shape[axis];
    }
  }
}

// Base of the kernels: stores the name that their tasks refer to.
class SimKernel : public sdk::Kernel {
 public:
  explicit SimKernel(const sdk::NodeView& node) : op_type_(node.op_type()), label_(node.label()) {}

 protected:
  template <class Work>
  void enqueue(Call& call, const Work& work) const {
    Stream& stream = *reinterpret_cast<Stream*>(call.stream());
    ++stream.device().journal.kernel_calls;
    stream.enqueue(Task(Journal::Kind::kKernel, op_type_.c_str(), label_.c_str(), work, false));
  }
  [[nodiscard]] const std::string& label() const { return label_; }

 private:
  std::string op_type_;
  std::string label_;
};

struct Add {
  static float apply(float x, float y) { return x + y; }
};
struct Sub {
  static float apply(float x, float y) { return x - y; }
};
struct Mul {
  static float apply(float x, float y) { return x * y; }
};

// a: [...], b: [...] -> the broadcast shape.
template <class Operation>
class Binary final : public SimKernel {
 public:
  using SimKernel::SimKernel;
  void run(Call& call) const override {
    const Argument a = call.input(0);
    const Argument b = call.input(1);
    const Extents shape = broadcast(a.shape, b.shape);
    const Argument y = call.output(0, GANTRY_FLOAT, shape.shape());
    enqueue(call, [a, b, y](const Memory& memory) {
      const float* from_a = a.real(memory, "binary operator, input 0");
      const float* from_b = b.real(memory, "binary operator, input 1");
      float* to = y.real(memory, "binary operator, output");
      walk(
          y.shape, strides_in(a.shape, y.shape), strides_in(b.shape, y.shape),
          [&](int64_t n, int64_t i, int64_t j) { to[n] = Operation::apply(from_a[i], from_b[j]); });
    });
  }
};

class Relu final : public SimKernel {
 public:
  using SimKernel::SimKernel;
  void run(Call& call) const override {
    const Argument x = call.input(0);
    const Argument y = call.output(0, GANTRY_FLOAT, call.shape(0));
    enqueue(call, [x, y](const Memory& memory) {
      const float* from = x.real(memory, "Relu, input");
      float* to = y.real(memory, "Relu, output");
      // Written so that NaN stays NaN.
      std::transform(from, from + x.shape.count(), to,
                     [](float value) { return value < 0 ? 0.0F : value; });
    });
  }
};

// a: [..., M, K], b: [..., K, N] -> [..., M, N]; a rank-1 operand is a row or a column, whose axis
// the result lacks.
class MatMul final : public SimKernel {
 public:
  using SimKernel::SimKernel;
  void run(Call& call) const override {
    const sdk::Span span = call.span("plan and enqueue");
    const Argument a = call.input(0);
    const Argument b = call.input(1);
    if (a.shape.empty() || b.shape.empty())
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "MatMul: expected a rank of at least 1, found 0");
    const Argument y = call.output(0, GANTRY_FLOAT, Plan(a.shape, b.shape).result.shape());
    enqueue(call, [a, b, y](const Memory& memory) {
      const Plan plan(a.shape, b.shape);
      const float* from_a = a.real(memory, "MatMul, input 0");
      const float* from_b = b.real(memory, "MatMul, input 1");
      float* to = y.real(memory, "MatMul, output");
      walk(plan.batch, strides_in(plan.batch_a, plan.batch), strides_in(plan.batch_b, plan.batch),
           [&](int64_t n, int64_t i, int64_t j) {
             plan.multiply(from_a + i * plan.m * plan.k, from_b + j * plan.k * plan.n,
                           to + n * plan.m * plan.n);
           });
    });
  }

 private:
  struct Plan {
    int64_t m;
    int64_t k;
    int64_t n;
    Extents batch_a, batch_b, batch, result;

    Plan(const Extents& a, const Extents& b)
        : m(a.size() > 1 ? a[a.size() - 2] : 1), k(a.back()), n(b.size() > 1 ? b.back() : 1) {
      const int64_t rows_of_b = b.size() > 1 ? b[b.size() - 2] : b[0];
      if (rows_of_b != k) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "MatMul: input 1 has " + std::to_string(rows_of_b) + " rows, needs " +
                             std::to_string(k) + " as input 0 has columns");
      }
      if (a.size() > 2) batch_a.insert_front(a, a.size() - 2);
      if (b.size() > 2) batch_b.insert_front(b, b.size() - 2);
      batch = broadcast(batch_a, batch_b);
      result = batch;
      if (a.size() > 1) result.push_back(m);
      if (b.size() > 1) result.push_back(n);
    }
    void multiply(const float* x, const float* y, float* z) const {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < k; ++l) sum += double{x[i * k + l]} * double{y[l * n + j]};
          z[i * n + j] = static_cast<float>(sum);
        }
      }
    }
  };
};

// Axis perm[i] of the input becomes axis i of the output; by default axes are reversed.
class Transpose final : public SimKernel {
 public:
  explicit Transpose(const sdk::NodeView& node) : SimKernel(node), perm_(node.get_ints("perm")) {}
  void run(Call& call) const override {
    const Argument x = call.input(0);
    const size_t rank = x.shape.size();
    const Extents perm = checked(rank);
    const Extents strides_x = strides_in(x.shape, x.shape);
    Extents shape;
    Extents strides;
    for (size_t i = 0; i < rank; ++i) {
      shape.push_back(x.shape[static_cast<size_t>(perm[i])]);
      strides.push_back(strides_x[static_cast<size_t>(perm[i])]);
    }
    const Argument y = call.output(0, GANTRY_FLOAT, shape.shape());
    enqueue(call, [x, y, strides](const Memory& memory) {
      const float* from = x.real(memory, "Transpose, input");
      float* to = y.real(memory, "Transpose, output");
      walk(y.shape, strides, strides, [&](int64_t n, int64_t i, int64_t) { to[n] = from[i]; });
    });
  }

 private:
  [[nodiscard]] Extents checked(size_t rank) const {
    Extents perm;
    for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(rank - 1 - i));
    if (perm_.empty()) return perm;
    const Extents given(Shape(perm_.data(), static_cast<int>(perm_.size())));
    Extents sorted = given;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < rank; ++i) {
      if (sorted.size() != rank || sorted[i] != static_cast<int64_t>(i)) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         label() + ": perm is no permutation of " + std::to_string(rank) + " axes");
      }
    }
    return given;
  }

  std::vector<int64_t> perm_;
};

// data: [...], shape: int64 [R] in host memory. An extent of 0 copies that of the input, unless
// allowzero is set; one -1 is inferred.
class Reshape final : public SimKernel {
 public:
  explicit Reshape(const sdk::NodeView& node)
      : SimKernel(node), allow_zero_(node.get_int("allowzero", 0) != 0) {}
  void run(Call& call) const override {
    const Argument x = call.input(0);
    const Argument y = call.output(0, GANTRY_FLOAT, result(x.shape, call).shape());
    if (x.address == y.address) return;  // the host gave the output the input's memory
    enqueue(call, [x, y](const Memory& memory) {
      const float* from = x.real(memory, "Reshape, input");
      std::copy(from, from + x.shape.count(), y.real(memory, "Reshape, output"));
    });
  }

 private:
  [[nodiscard]] Extents result(const Extents& whole, Call& call) const {
    Extents wanted;
    int64_t known = 1;
    size_t open = kMostAxes;
    for (int64_t i = 0; i < call.shape(1)[0]; ++i) {
      int64_t extent = call.data<int64_t>(1)[i];
      if (extent == 0 && !allow_zero_ && wanted.size() < whole.size())
        extent = whole[wanted.size()];
      if (extent == -1) {
        open = wanted.size();
      } else {
        known *= extent;
      }
      wanted.push_back(extent);
    }
    if (open < kMostAxes && known > 0) wanted[open] = whole.count() / known;
    if (wanted.count() != whole.count()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label() + ": " + std::to_string(whole.count()) +
                           " elements do not fit the shape that was asked for");
    }
    return wanted;
  }

  bool allow_zero_;
};

constexpr sdk::DTypeSet kFloat = sdk::dtypes(GANTRY_FLOAT);

constexpr sdk::Marks overwriting(uint64_t inputs) {
  sdk::Marks marks;
  marks.overwrites = inputs;
  return marks;
}

constexpr sdk::Marks kReshapes = [] {
  sdk::Marks marks;
  marks.signature_inputs = 2;
  marks.repeats = 0;
  return marks;
}();

constexpr sdk::KernelRow kRows[] = {
    {"Add", 7, sdk::kLatest, kFloat, sdk::make<Binary<Add>>, overwriting(3)},
    {"Sub", 7, sdk::kLatest, kFloat, sdk::make<Binary<Sub>>, overwriting(3)},
    {"Mul", 7, sdk::kLatest, kFloat, sdk::make<Binary<Mul>>, overwriting(3)},
    {"Relu", 6, sdk::kLatest, kFloat, sdk::make<Relu>, overwriting(1)},
    {"MatMul", 1, sdk::kLatest, kFloat, sdk::make<MatMul>},
    {"Reshape", 5, sdk::kLatest, kFloat, sdk::make<Reshape>, kReshapes},
    {"Transpose", 1, sdk::kLatest, kFloat, sdk::make<Transpose>},
};

}  // namespace

std::vector<sdk::KernelTable> all_kernels() { return {sdk::table(kRows)}; }

}  // namespace gantry::sim
