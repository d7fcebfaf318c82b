// SPDX-License-Identifier: Apache-2.0
// LRN.
#include "kernels/nn/lrn.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

class Lrn final : public Operation {
 public:
  explicit Lrn(const NodeView& node)
      : size_(node.get_int("size", 0)),
        alpha_(node.get_float("alpha", 1e-4F)),
        beta_(node.get_float("beta", 0.75F)),
        bias_(node.get_float("bias", 1)) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() < 2) throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the input has no channels");
    const Buffer y = planner.output(0, x.dtype, x.shape);
    LrnParameters p = {};
    p.count = x.element_count();
    if (p.count == 0) return;
    p.plane = divisor_of(count_of(x.shape, 2, x.shape.size()));
    p.channels = divisor_of(x.shape[1]);
    p.before = (size_ - 1) / 2;
    p.after = size_ - 1 - p.before;
    p.factor = alpha_ / static_cast<double>(size_);
    p.bias = bias_;
    p.exponent = beta_;
    const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                             " Index;\ntypedef " + type_name(x.dtype) + " T;\ntypedef " +
                             computed_name(x.dtype) + " C;\n" + std::string(kernel_text("lrn.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "lrn.h"}, body),
                   blocks_for(planner, p.count), kThreads, p,
                   {{&p.result, y}, {&p.source, Planner::in(0)}});
  }

 private:
  int64_t size_;
  float alpha_;
  float beta_;
  float bias_;
};

std::string has_size(const NodeView& node) {
  return node.get_int("size", 0) > 0 ? "" : "the size is not positive";
}

constexpr sdk::KernelRow kRows[] = {
    {"LRN", 1, sdk::kLatest, sdk::kFloats, make<Lrn>, {}, has_size},
};

}  // namespace

sdk::KernelTable lrn_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
