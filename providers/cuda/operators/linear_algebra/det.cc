// SPDX-License-Identifier: Apache-2.0
// Det.
#include "kernels/linear_algebra/det.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

class Det final : public Operation {
 public:
  explicit Det(const NodeView&) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() < 2 || x.shape.back() != x.shape[x.shape.size() - 2]) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the shape " + text_of(x.shape) + " is not one of square matrices");
    }
    const Extents shape(x.shape.begin(), x.shape.end() - 2);
    const Buffer y = planner.output(0, x.dtype, shape);
    DetParameters p = {};
    p.count = count_of(shape);
    p.size = x.shape.back();
    const std::string type = "\ntypedef " + type_name(x.dtype) + " T;\n";
    if (p.size >= 1 && p.size <= kMostOfThread) {
      planner.launch(kernel_source({"det.h"}, type + "#define SIZE " + std::to_string(p.size) +
                                                  "\n" + std::string(kernel_text("det_small.cu"))),
                     blocks_for(planner, p.count), kThreads, p,
                     {{&p.result, y}, {&p.source, Planner::in(0)}});
      return;
    }
    // An empty matrix has the determinant 1.
    const auto elements = static_cast<uint64_t>(std::max<int64_t>(x.element_count(), 1));
    const Buffer scratch = planner.scratch(elements * sizeof(double));
    planner.launch(
        kernel_source({"det.h", "block_reduce.cu"}, type + std::string(kernel_text("det.cu"))),
        std::min<int64_t>(p.count, int64_t{1} << 20), threads_for_row(p.size * p.size), p,
        {{&p.result, y},
         {&p.source, Planner::in(0)},
         {reinterpret_cast<const void* const*>(&p.scratch), scratch}});
  }

 private:
  static constexpr int64_t kMostOfThread = 4;
};

constexpr sdk::KernelRow kRows[] = {
    {"Det", 11, sdk::kLatest, sdk::kFloats, make<Det>},
};

}  // namespace

sdk::KernelTable det_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
