// SPDX-License-Identifier: Apache-2.0
// Window functions and filter banks: BlackmanWindow, HammingWindow, HannWindow, MelWeightMatrix.
#include "kernels/signal/filters.h"

#include <cmath>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

uint32_t result_dtype(const NodeView& node) {
  return static_cast<uint32_t>(node.get_int("output_datatype", GANTRY_FLOAT));
}

template <class Parameters>
void launch_filter(Planner& planner, const char* which, uint32_t dtype, const Parameters& p,
                   const Buffer& y) {
  const std::string body = std::string("\ntypedef ") + index_type(p.count < int64_t{1} << 31) +
                           " Index;\ntypedef " + type_name(dtype) + " T;\n#define " + which + "\n" +
                           std::string(kernel_text("filters.cu"));
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "filters.h"}, body),
                 blocks_for(planner, p.count), kThreads, p, {{&p.result, y}});
}

class CosineWindow final : public Operation {
 public:
  explicit CosineWindow(const NodeView& node)
      : dtype_(result_dtype(node)), is_periodic_(node.get_int("periodic", 1) != 0) {
    if (node.op_type() == "BlackmanWindow") {
      a0_ = 0.42F;
      a1_ = 0.5F;
      a2_ = 0.08F;
    } else if (node.op_type() == "HammingWindow") {
      a0_ = 25.0F / 46.0F;
      a1_ = 21.0F / 46.0F;
    }
  }

  void plan(Planner& planner) const override {
    const int64_t size = planner.host_integers(0).at(0);
    if (size < 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "a window of the size " + std::to_string(size) + " cannot be made");
    }
    CosineWindowParameters p = {};
    p.count = size;
    p.a0 = a0_;
    p.a1 = a1_;
    p.a2 = a2_;
    p.increment = kTwiddle / (static_cast<float>(size) - (is_periodic_ ? 0.0F : 1.0F));
    const Buffer y = planner.output(0, dtype_, {size});
    launch_filter(planner, "COSINE_WINDOW", dtype_, p, y);
  }

 private:
  static constexpr float kTwiddle = 6.2831855F;

  uint32_t dtype_;
  bool is_periodic_;
  float a0_ = 0.5F;
  float a1_ = 0.5F;
  float a2_ = 0;
};

class MelWeightMatrix final : public Operation {
 public:
  explicit MelWeightMatrix(const NodeView& node) : dtype_(result_dtype(node)) {}

  void plan(Planner& planner) const override {
    const int64_t bands = planner.host_integers(0).at(0);
    const int64_t points = planner.host_integers(1).at(0);
    const int64_t rate = planner.host_integers(2).at(0);
    const double low = planner.host_number(3);
    const double high = planner.host_number(4);
    if (bands < 0 || points < 0 || rate < 1 || !(low >= 0 && high >= low && std::isfinite(high))) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       std::to_string(bands) + " bands of a transform of " +
                           std::to_string(points) + " at " + std::to_string(rate) + " Hz from " +
                           std::to_string(low) + " to " + std::to_string(high) +
                           " Hz make no matrix");
    }
    const int64_t bins = points / 2 + 1;
    const Buffer y = planner.output(0, dtype_, {bins, bands});
    MelParameters p = {};
    p.count = bins * bands;
    if (p.count == 0) return;
    p.bands = divisor_of(bands);
    p.first_mel = to_mel(low);
    p.mel_step = (to_mel(high) - p.first_mel) / static_cast<double>(bands + 2);
    p.bins_per_hertz = static_cast<double>(points + 1) / static_cast<double>(rate);
    launch_filter(planner, "MEL", dtype_, p, y);
  }

 private:
  static double to_mel(double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); }

  uint32_t dtype_;
};

std::string has_computed_result(const NodeView& node) {
  return sdk::dtype_bit(result_dtype(node)) & sdk::kNumbers ? ""
                                                            : "the type of the output is not known";
}

constexpr sdk::DTypeSet kSizes = sdk::dtypes(GANTRY_INT32, GANTRY_INT64);

constexpr sdk::KernelRow kRows[] = {
    {"BlackmanWindow", 17, sdk::kLatest, kSizes, make<CosineWindow, 1>, host_marks(1),
     has_computed_result},
    {"HammingWindow", 17, sdk::kLatest, kSizes, make<CosineWindow, 1>, host_marks(1),
     has_computed_result},
    {"HannWindow", 17, sdk::kLatest, kSizes, make<CosineWindow, 1>, host_marks(1),
     has_computed_result},
    {"MelWeightMatrix", 17, sdk::kLatest, kSizes, make<MelWeightMatrix, 31>, host_marks(31),
     has_computed_result},
};

}  // namespace

sdk::KernelTable filter_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
