// SPDX-License-Identifier: Apache-2.0
// Concat (ai.onnx 4, 11, 13) along axis 1 of channels-last tensors of f32 or int8: each pixel's
// channels one after the other. Between DequantizeLinear and QuantizeLinear the tensors may also be
// in dense order, and int8 elements are requantized to the target's scale and zero point.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "eltwise/lookup_table.h"
#include "fuse/kernels.h"

namespace gantry::x86 {
namespace {

constexpr int64_t kGrainBytes = 1 << 15;  // of output, that justify a thread

/// An input tensor.
struct Part {
  int slot = 0;
  bool is_formatted = false;
  std::optional<LookupTable> table;  ///< requantizes its elements; none: they are copied
};

/// Copies `count` elements of a part, requantized if need be.
template <class T>
void copy(const Part& part, const T* from, T* to, int64_t count) {
  if constexpr (sizeof(T) == 1) {
    if (part.table) return map_bytes(*part.table, from, to, count);
  }
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
}

template <class T>
T element(const Part& part, T from) {
  if constexpr (sizeof(T) == 1) {
    if (part.table) return (*part.table)[from];
  }
  return from;
}

class ConcatKernel final : public sdk::Kernel {
 public:
  explicit ConcatKernel(const KernelArgs& args)
      : output_slot_(static_cast<int>(args.output_slot())),
        is_target_formatted_(args.is_output_formatted(args.output_slot())),
        dtype_(args.fusion.is_quantized() ? dtype_of(args.fusion.target.type())
                                          : args.index.node(args.fusion.root).input(0).dtype()),
        label_(args.index.node(args.fusion.root).label()) {
    const Fusion& fusion = args.fusion;
    for (const Port& port : fusion.sources) {
      Part& part = parts_.emplace_back();
      part.slot = static_cast<int>(args.slot_of(port.value));
      part.is_formatted = args.is_input_formatted(static_cast<size_t>(part.slot));
      if (fusion.is_quantized() && !(*port.quantization == *fusion.target.quantization)) {
        part.table =
            bytes_of_floats(floats_of_bytes(*port.quantization), *fusion.target.quantization);
      }
    }
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
    const sdk::Shape first = call.shape(parts_[0].slot);
    std::array<int64_t, 5> extents{};
    std::copy(first.data, first.data + first.rank, extents.begin());
    extents[1] = 0;
    for (const Part& part : parts_) {
      const sdk::Shape shape = call.shape(part.slot);
      for (int axis = 0; axis < first.rank; ++axis) {
        if (shape.rank == first.rank && (axis == 1 || shape[axis] == first[axis])) continue;
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         label_ + ": input " + std::to_string(&part - parts_.data()) +
                             " was expected to have the extents of input 0 but on axis 1");
      }
      extents[1] += shape[1];
    }
    const sdk::Shape output(extents.data(), first.rank);
    gantry_tensor& target = call.output(output_slot_, dtype_, output);
    if (output.element_count() == 0) return;
    auto* const to = static_cast<T*>(target.data);
    const bool is_any_formatted = std::any_of(parts_.begin(), parts_.end(),
                                              [](const Part& part) { return part.is_formatted; });
    if (is_target_formatted_ || is_any_formatted) {
      run_by_pixels(call, output, to);
    } else {
      run_by_channels(call, output, to);
    }
  }

  template <class T>
  void run_by_pixels(sdk::Call& call, const sdk::Shape& output, T* to) const {
    const int64_t pixels = output.count(2, output.rank);
    const int64_t channels = output[1];
    // Strides of the target.
    const int64_t position_step = is_target_formatted_ ? channels : 1;
    const int64_t channel_step = is_target_formatted_ ? 1 : pixels;
    const int64_t grain =
        std::max<int64_t>(1, kGrainBytes / (channels * static_cast<int64_t>(sizeof(T))));
    call.parallel_for(output[0] * pixels, grain, [&](int64_t begin, int64_t end) {
      int64_t before = 0;  // channels of the parts before
      for (const Part& part : parts_) {
        const int64_t count = call.shape(part.slot)[1];
        const auto* from = call.data<T>(part.slot);
        for (int64_t row = begin; row < end; ++row) {
          T* at = to + row / pixels * pixels * channels + row % pixels * position_step +
                  before * channel_step;
          if (part.is_formatted && channel_step == 1) {
            copy(part, from + row * count, at, count);
          } else {
            const T* x = part.is_formatted ? from + row * count
                                           : from + row / pixels * pixels * count + row % pixels;
            const int64_t step = part.is_formatted ? 1 : pixels;
            for (int64_t c = 0; c < count; ++c) at[c * channel_step] = element(part, x[c * step]);
          }
        }
        before += count;
      }
    });
  }

  /// All tensors are in dense order.
  template <class T>
  void run_by_channels(sdk::Call& call, const sdk::Shape& output, T* to) const {
    const int64_t pixels = output.count(2, output.rank);
    const int64_t channels = output[1];
    const int64_t grain =
        std::max<int64_t>(1, kGrainBytes / (pixels * static_cast<int64_t>(sizeof(T))));
    call.parallel_for(output[0] * channels, grain, [&](int64_t begin, int64_t end) {
      int64_t before = 0;
      for (const Part& part : parts_) {
        const int64_t count = call.shape(part.slot)[1];
        const auto* from = call.data<T>(part.slot);
        for (int64_t row = begin; row < end; ++row) {
          const int64_t channel = row % channels - before;
          if (channel < 0 || channel >= count) continue;
          copy(part, from + (row / channels * count + channel) * pixels, to + row * pixels, pixels);
        }
        before += count;
      }
    });
  }

  std::vector<Part> parts_;
  int output_slot_;
  bool is_target_formatted_;
  gantry_dtype dtype_;
  std::string label_;
};

}  // namespace

std::string concat_refusal(const GraphIndex& index, const Fusion& fusion) {
  const sdk::NodeView view = index.node(fusion.root);
  const int rank = view.input(0).rank();
  if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
  const int64_t axis = view.get_int("axis", 1);
  if (axis != 1 && axis != 1 - rank) return "only axis 1 is taken";
  for (int i = 0; i < view.input_count(); ++i) {
    if (type_of(view.input(i).dtype()) == Type::undef)
      return "only float32 and int8 or uint8 are taken";
    if (view.input(i).rank() != rank) return "the ranks of the inputs are not known to be equal";
  }
  if (fusion.is_quantized() && !fusion.target.quantization) return "its result is not in int8";
  return {};
}

RootTraits concat_traits(const GraphIndex& index, uint32_t node) {
  const sdk::NodeView view = index.node(node);
  RootTraits traits{view.input(0).rank(), 1, 0};
  traits.grows = false;
  traits.tensors = view.input_count();
  return traits;
}

std::span<const Implementation> concat_implementations(const Fusion&) {
  static constexpr Implementation kAll[] = {{"copies", make_always<ConcatKernel>}};
  return kAll;
}

}  // namespace gantry::x86
