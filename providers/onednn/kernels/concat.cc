// SPDX-License-Identifier: Apache-2.0
// Concat (ai.onnx 4, 11, 13) along axis 1 of tensors of f32 or 8 bits whose channels stand
// innermost: each pixel's channels one after the other.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kernels/kernels.h"

namespace gantry::onednn {
namespace {

constexpr int64_t kGrainBytes = 1 << 15;  // of output, for a thread of its own

class ConcatKernel final : public sdk::Kernel {
 public:
  explicit ConcatKernel(const KernelArgs& args)
      : is_target_formatted_(args.is_output_formatted(0)),
        dtype_(args.index.node(args.unit.anchor).input(0).dtype()),
        label_(args.index.node(args.unit.anchor).label()) {
    for (size_t i = 0; i < args.index.raw(args.unit.anchor).input_count; ++i)
      is_formatted_.push_back(args.is_input_formatted(i));
  }

  void run(sdk::Call& call) const override {
    if (dtype_ == GANTRY_FLOAT) {
      run_as<float>(call);
    } else {
      run_as<uint8_t>(call);
    }
  }

 private:
  template <class T>
  void run_as(sdk::Call& call) const {
    const sdk::Shape first = call.shape(0);
    std::array<int64_t, 5> extents{};
    std::copy(first.data, first.data + first.rank, extents.begin());
    extents[1] = 0;
    for (int i = 0; i < call.input_count(); ++i) {
      const sdk::Shape shape = call.shape(i);
      for (int axis = 0; axis < first.rank; ++axis) {
        if (shape.rank == first.rank && (axis == 1 || shape[axis] == first[axis])) continue;
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         label_ + ": input " + std::to_string(i) +
                             " was expected to have the extents of input 0 but on axis 1");
      }
      extents[1] += shape[1];
    }
    const sdk::Shape output(extents.data(), first.rank);
    gantry_tensor& target = call.output(0, dtype_, output);
    const int64_t pixels = first.count(2, first.rank);
    const int64_t channels = output[1];
    if (output.element_count() == 0) return;
    auto* const to = static_cast<T*>(target.data);
    // In which steps the target goes from pixel to pixel and from channel to channel.
    const int64_t pixel_step = is_target_formatted_ ? channels : 1;
    const int64_t channel_step = is_target_formatted_ ? 1 : pixels;
    const int64_t grain =
        std::max<int64_t>(1, kGrainBytes / (channels * static_cast<int64_t>(sizeof(T))));
    call.parallel_for(first[0] * pixels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        T* at = to + row / pixels * pixels * channels + row % pixels * pixel_step;
        for (int i = 0; i < call.input_count(); ++i) {
          const int64_t count = call.shape(i)[1];
          const auto* from = call.data<T>(i);
          if (is_formatted_[static_cast<size_t>(i)] && channel_step == 1) {
            std::memcpy(at, from + row * count, static_cast<size_t>(count) * sizeof(T));
          } else {
            const bool is_last = is_formatted_[static_cast<size_t>(i)];
            const T* x =
                is_last ? from + row * count : from + row / pixels * pixels * count + row % pixels;
            const int64_t step = is_last ? 1 : pixels;
            for (int64_t c = 0; c < count; ++c) at[c * channel_step] = x[c * step];
          }
          at += count * channel_step;
        }
      }
    });
  }

  std::vector<bool> is_formatted_;
  bool is_target_formatted_;
  gantry_dtype dtype_;
  std::string label_;
};

}  // namespace

std::string concat_refusal(const GraphIndex& index, const Unit& unit) {
  const sdk::NodeView view = index.node(unit.anchor);
  const int rank = view.input(0).rank();
  if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
  const int64_t axis = view.get_int("axis", 1);
  if (axis != 1 && axis != 1 - rank) return "only axis 1 is taken";
  for (int i = 0; i < view.input_count(); ++i) {
    if (type_of(view.input(i).dtype()) == Type::undef)
      return "only float32 and integers of 8 bits are taken";
    if (view.input(i).rank() != rank) return "the ranks of the inputs are not known to be equal";
  }
  return {};
}

std::unique_ptr<sdk::Kernel> make_concat(const KernelArgs& args) {
  return std::make_unique<ConcatKernel>(args);
}

}  // namespace gantry::onednn
