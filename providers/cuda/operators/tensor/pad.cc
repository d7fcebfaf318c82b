// SPDX-License-Identifier: Apache-2.0
// Pad and CenterCropPad: add or remove elements at the ends of axes.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "compile/kernel_texts.h"
#include "kernels/tensor/copy.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

uint64_t offset_bytes(int64_t elements, uint32_t dtype) {
  return static_cast<uint64_t>(elements * bytes_of(dtype));
}

// Writes the input at offset `begins` into a result of `shape`, and `bits` elsewhere. Negative
// offsets crop.
void plan_constant(Planner& planner, const Extents& begins, const Extents& shape, uint64_t bits,
                   const Buffer& y) {
  const InputMetadata& x = planner.input(0);
  const Extents from = dense_strides(x.shape);
  const Extents to = dense_strides(shape);
  Extents part = x.shape;  // shape of the input after cropping
  int64_t source = 0;
  int64_t target = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t skipped = std::max<int64_t>(0, -begins[axis]);
    const int64_t first = std::max<int64_t>(0, begins[axis]);
    part[axis] = std::max<int64_t>(0, std::min(x.shape[axis] - skipped, shape[axis] - first));
    source += skipped * from[axis];
    target += first * to[axis];
  }
  if (part != shape) plan_fill(planner, count_of(shape), bytes_of(x.dtype), y, bits);
  if (count_of(part) == 0) return;
  plan_copy(planner, part, bytes_of(x.dtype), y.at(offset_bytes(target, x.dtype)), to,
            Planner::in(0).at(offset_bytes(source, x.dtype)), from);
}

class Pad final : public Operation {
 public:
  explicit Pad(const NodeView& node) : mode_(node.get_string("mode", "constant")) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const auto rank = x.shape.size();
    const Extents pads = planner.host_integers(1);
    Extents begins(rank, 0);
    Extents shape = x.shape;
    Extents axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (planner.has_input(3)) axes = planner.host_integers(3);
    if (pads.size() != 2 * axes.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the pads are " + text_of(pads) + " for " +
                                                    std::to_string(axes.size()) + " axes");
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis =
          static_cast<size_t>(checked_axis(axes[i], static_cast<int64_t>(rank), "an axis"));
      begins[axis] = pads[i];
      shape[axis] += pads[i] + pads[axes.size() + i];
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) == 0) return;
    if (mode_ == "constant") {
      uint64_t bits = 0;
      if (planner.has_input(2) && planner.input(2).host_data)
        std::memcpy(&bits, planner.input(2).host_data, static_cast<size_t>(bytes_of(x.dtype)));
      plan_constant(planner, begins, shape, bits, y);
    } else {
      plan_mirrored(planner, x, begins, shape, y);
    }
  }

 private:
  void plan_mirrored(Planner& planner, const InputMetadata& x, const Extents& begins,
                     const Extents& shape, const Buffer& y) const {
    if (shape.size() > MOST_AXES || shape.empty())
      throw sdk::Error(GANTRY_UNSUPPORTED, "padding of the shape " + text_of(x.shape));
    PadParameters parameters = {};
    parameters.count = count_of(shape);
    parameters.mode = mode_ == "edge" ? 1 : mode_ == "reflect" ? 2 : 3;
    Walk walk{shape, {dense_strides(x.shape)}};
    walk.write_extents(parameters.extents);
    walk.write_strides(0, parameters.strides);
    std::copy(x.shape.begin(), x.shape.end(), parameters.source_extents);
    std::copy(begins.begin(), begins.end(), parameters.begins);
    const std::string word = word_name(bytes_of(x.dtype));
    const std::string body = std::string("\ntypedef ") + index_type(walk.is_small()) +
                             " Index;\n#define RANK " + std::to_string(shape.size()) +
                             "\ntypedef " + word + " Word;\n" + std::string(kernel_text("pad.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu"}, body),
                   blocks_for(planner, parameters.count), kThreads, parameters,
                   {{&parameters.target, y}, {&parameters.source, Planner::in(0)}});
  }

  std::string mode_;
};

class CenterCropPad final : public Operation {
 public:
  explicit CenterCropPad(const NodeView& node)
      : is_of_all_(!node.has("axes")), axes_(node.get_ints("axes")) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents wanted = planner.host_integers(1);
    Extents axes = axes_;
    if (is_of_all_) {
      axes.resize(x.shape.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    if (wanted.size() != axes.size()) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the extents " + text_of(wanted) +
                                                    " are given for the axes " + text_of(axes));
    }
    Extents begins(x.shape.size(), 0);
    Extents shape = x.shape;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(checked_axis(axes[i], x.rank(), "an axis"));
      if (wanted[i] < 0) {
        throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                         "an extent of " + std::to_string(wanted[i]) + " is asked for");
      }
      // The larger part of an odd difference is at the end.
      begins[axis] = (wanted[i] - x.shape[axis]) / 2;
      shape[axis] = wanted[i];
    }
    const Buffer y = planner.output(0, x.dtype, shape);
    if (count_of(shape) == 0) return;
    plan_constant(planner, begins, shape, 0, y);
  }

 private:
  bool is_of_all_;
  Extents axes_;
};

std::string is_known_mode(const NodeView& node) {
  const std::string mode = node.get_string("mode", "constant");
  return mode == "constant" || mode == "edge" || mode == "reflect" || mode == "wrap"
             ? ""
             : "the mode " + mode + " is not known";
}

constexpr sdk::KernelRow kRows[] = {
    // There is no fill word for elements of 16 bytes.
    {"CenterCropPad", 18, sdk::kLatest, sdk::kFixedSize & ~sdk::kComplex, make<CenterCropPad, 2>,
     host_marks(2)},
    {"Pad", 11, sdk::kLatest, sdk::kFixedSize & ~sdk::kComplex, make<Pad, 14>, host_marks(14),
     is_known_mode},
};

}  // namespace

sdk::KernelTable pad_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
