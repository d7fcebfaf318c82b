// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose with their epilogues: by cuDNN or as matmuls by cuBLASLt, whatever is
// faster on the device; by own kernels where neither supports them.
#include <gantry/sdk/mutex.h>

#include <algorithm>

#include "compile/kernel_texts.h"
#include "fuse/conv_epilogue.h"
#include "kernels/nn/epilogue.h"
#include "operators/nn/conv_matmul.h"
#include "operators/nn/depthwise.h"
#include "operators/nn/window_shape.h"
#include "operators/operators.h"
#include "plan/execution_device.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

// Tile size of conv.cu.
constexpr int64_t kTile = 64;
constexpr int64_t kLeastChannels = 8;
constexpr int64_t kMostPositions = int64_t{1} << 30;

// `w`: [output channels, input channels / group, ...]; of a transposed convolution [input channels,
// output channels / group, ...].
void check_weights(const Extents& x, const Extents& w, int64_t group, bool is_transposed) {
  if (w.size() != x.size() || x.size() < 3) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "weights " + text_of(w) + " for " + text_of(x));
  }
  const int64_t expected = is_transposed ? w[0] : w[1] * group;
  if (group < 1 || expected != x[1]) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the weights are for " + std::to_string(expected) +
                                                  " channels, found " + std::to_string(x[1]));
  }
}

// One thread per element, or tiles where a group has enough channels to fill them.
void launch_own(Planner& planner, WindowParameters& parameters, uint32_t dtype,
                const Extents& shape, const Addresses& addresses, bool is_transposed) {
  const int64_t channels = parameters.result_channels / parameters.group;
  const int64_t positions = count_of(shape, 2, shape.size());
  if (is_transposed || channels < kLeastChannels || positions >= kMostPositions) {
    const std::string define = std::string("IS_TRANSPOSED ") + (is_transposed ? "true" : "false");
    launch_window(planner, parameters, "window_conv.cu", define, dtype, addresses);
    return;
  }
  parameters.tiles_m = (channels + kTile - 1) / kTile;
  parameters.tiles_n = (positions + kTile - 1) / kTile;
  planner.launch(
      kernel_source({"index.h", "window.h"}, "\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                                                 computed_name(dtype) + " C;\n" +
                                                 std::string(kernel_text("conv.cu"))),
      parameters.tiles_m * parameters.tiles_n * parameters.group * parameters.batch, kThreads,
      parameters, addresses);
}

// The convolution without its epilogue. cuDNN requires at least two spatial axes.
ConvShape shape_for_library(const WindowParameters& p, uint32_t dtype, const Extents& w,
                            size_t spatial, bool is_transposed) {
  const size_t axes = std::max<size_t>(spatial, 2);
  ConvShape shape;
  shape.is_transposed = is_transposed;
  shape.dtype = dtype;
  shape.x = {p.batch, p.channels};
  shape.w = {w[0], w[1]};
  shape.y = {p.batch, p.result_channels};
  for (size_t axis = 3 - axes; axis < 3; ++axis) {
    shape.x.push_back(p.in[axis]);
    shape.w.push_back(p.kernel[axis]);
    shape.y.push_back(p.out[axis]);
    shape.strides.push_back(p.stride[axis]);
    shape.dilations.push_back(p.dilation[axis]);
    shape.before.push_back(p.begin[axis]);
    shape.after.push_back(p.end[axis]);
  }
  return shape;
}

// Strides of a tensor [batch, channels, ...] in either layout.
Extents strides_of(const Extents& shape, bool is_channels_last) {
  if (!is_channels_last) return dense_strides(shape);
  Extents moved(shape.begin() + 2, shape.end());
  moved.insert(moved.begin(), shape[0]);
  moved.push_back(shape[1]);
  const Extents dense = dense_strides(moved);
  Extents strides = {dense[0], 1};
  strides.insert(strides.end(), dense.begin() + 1, dense.end() - 1);
  return strides;
}

// The tensor in the wanted layout: itself, or a copy.
Buffer in_order(Planner& planner, const Buffer& source, const Extents& shape, uint32_t dtype,
                bool is_last, bool wants_last) {
  if (is_last == wants_last) return source;
  const Buffer made = planner.scratch(static_cast<uint64_t>(count_of(shape) * bytes_of(dtype)));
  plan_copy(planner, shape, bytes_of(dtype), made, strides_of(shape, wants_last), source,
            strides_of(shape, is_last));
  return made;
}

// The tensors of a convolution, in the layout that its kernel uses.
struct Operands {
  Buffer x, w, addend, y;
};

void call_library(Planner& planner, const ConvShape& shape, uint64_t workspace_bytes,
                  const Operands& operands) {
  std::vector<Buffer> buffers = {operands.y, operands.x, operands.w};
  const auto position = [&](bool is_there, const Buffer& buffer) {
    if (!is_there) return size_t{0};
    buffers.push_back(buffer);
    return buffers.size() - 1;
  };
  const size_t bias = position(shape.has_bias, Planner::in(2));
  const size_t addend = position(shape.has_addend, operands.addend);
  // The library requires a workspace address even for 0 bytes.
  const size_t workspace =
      position(true, planner.scratch(std::max<uint64_t>(workspace_bytes, 256)));
  planner.call(std::move(buffers), [=](Stream& stream, void* const* at) {
    ExecutionDevice::of(stream).dnn()->run(
        shape, stream,
        {at[1], at[2], bias == 0 ? nullptr : at[bias], addend == 0 ? nullptr : at[addend], at[0],
         at[workspace]});
  });
}

class Conv final : public Operation {
 public:
  explicit Conv(const NodeView& node) : Conv(node, ConvEpilogue{}, ConvLayouts{}) {}
  Conv(const NodeView& node, const ConvEpilogue& epilogue, const ConvLayouts& layouts)
      : window_(node),
        is_transposed_(node.op_type() == "ConvTranspose"),
        output_shape_(node.get_ints("output_shape")),
        output_padding_(node.get_ints("output_padding")),
        group_(node.get_int("group", 1)),
        has_bias_(node.input(2).present()),
        has_constant_weights_(node.input(1).is_constant()),
        epilogue_(epilogue),
        layouts_(layouts) {}

  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const Extents& w = planner.shape(1);
    check_weights(x.shape, w, group_, is_transposed_);
    WindowParameters parameters = window_.parameters(x.shape, Extents(w.begin() + 2, w.end()));
    parameters.group = group_;
    parameters.result_channels = is_transposed_ ? w[1] * group_ : w[0];
    if (is_transposed_) {
      window_.spread(parameters, output_shape_, output_padding_, x.shape.size() - 2);
    } else {
      window_.slide(parameters);
    }
    const Extents shape = shape_of(parameters, x.shape.size());
    parameters.count = count_of(shape);
    if (epilogue_.addend_slot >= 0 && planner.shape(epilogue_.addend_slot) != shape)
      return plan_broadcast(planner, parameters, shape);
    make(planner, parameters, shape, planner.output(0, x.dtype, shape), epilogue_, layouts_);
  }

 private:
  // The addend turned out to have another shape than the result, so both are broadcast.
  void plan_broadcast(Planner& planner, WindowParameters& parameters, const Extents& shape) const {
    const InputMetadata& addend = planner.input(epilogue_.addend_slot);
    const Extents whole = broadcast(addend.shape, shape);
    const Buffer y = planner.output(0, addend.dtype, whole);
    if (count_of(whole) == 0) return;
    const int64_t bytes = bytes_of(addend.dtype);
    const Buffer made = planner.scratch(static_cast<uint64_t>(count_of(shape) * bytes));
    make(planner, parameters, shape, made, ConvEpilogue{}, {layouts_.x, false, false});
    const Extents strides = strides_of(whole, layouts_.y);
    plan_copy(planner, whole, bytes, y, strides, made, broadcast_strides(shape, whole));
    const Buffer dense = in_order(planner, Planner::in(epilogue_.addend_slot), addend.shape,
                                  addend.dtype, layouts_.addend, false);
    Operands operands;
    operands.y = y;
    operands.addend = planner.scratch(static_cast<uint64_t>(count_of(whole) * bytes));
    plan_copy(planner, whole, bytes, operands.addend, strides, dense,
              broadcast_strides(addend.shape, whole));
    parameters.count = count_of(whole);
    finish(planner, parameters, addend.dtype, operands, epilogue_, false, layouts_.y);
  }

  // The convolution with an epilogue, in these layouts.
  void make(Planner& planner, WindowParameters& parameters, const Extents& shape, const Buffer& y,
            const ConvEpilogue& epilogue, const ConvLayouts& layouts) const {
    if (parameters.count == 0) return;
    const InputMetadata& x = planner.input(0);
    const Extents& w = planner.shape(1);
    ConvShape plain = shape_for_library(parameters, x.dtype, w, x.shape.size() - 2, is_transposed_);
    plain.rounds_to_tf32 = planner.rounds_to_tf32();
    // Channels-last if one of the large tensors is.
    plain.is_channels_last = layouts.x || layouts.y;
    ConvShape whole = plain;
    whole.has_bias = has_bias_;
    whole.has_addend = epilogue.addend_slot >= 0;
    whole.has_relu = epilogue.has_relu;
    whole.most = epilogue.most;
    uint64_t workspace_bytes = 0;
    const bool is_known = x.dtype != GANTRY_DOUBLE;
    const bool takes_whole = is_known && planner.supports(whole, workspace_bytes);
    const bool takes_plain = takes_whole || (is_known && planner.supports(plain, workspace_bytes));
    const bool is_depthwise = plain.is_channels_last && !is_transposed_ && has_constant_weights_ &&
                              takes_depthwise(parameters, x.dtype, x.shape.size() - 2);
    const bool works_last = is_depthwise || (takes_plain && plain.is_channels_last);
    const Operands operands = operands_of(planner, shape, y, epilogue, layouts, works_last);
    const std::optional<MatmulShape> matmul =
        is_transposed_ || works_last ? std::nullopt : conv_matmul_of(planner, parameters, x.dtype);
    const auto by_library = [&] {
      call_library(planner, takes_whole ? whole : plain, workspace_bytes, operands);
      if (!takes_whole)
        finish(planner, parameters, x.dtype, operands, epilogue, has_bias_, works_last);
    };
    const auto by_matmul = [&] {
      plan_conv_matmul(planner, parameters, *matmul, operands.x, operands.w, operands.y);
      finish(planner, parameters, x.dtype, operands, epilogue, has_bias_, works_last);
    };
    if (is_depthwise) {
      const Buffer weights = depthwise_weights(planner);
      if (takes_plain) planner.begin_candidate();
      make_depthwise(planner, parameters, epilogue, operands, weights);
      if (takes_plain) {
        planner.begin_candidate();
        by_library();
        planner.end_candidates("depthwise 1|" + whole.text(), {whole.family()});
      }
    } else if (takes_plain && matmul) {
      planner.begin_candidate();
      by_library();
      planner.begin_candidate();
      by_matmul();
      planner.end_candidates("columns 1|" + whole.text(), {whole.family()});
    } else if (takes_plain) {
      by_library();
    } else if (matmul) {
      by_matmul();
    } else {
      Addresses addresses = {{&parameters.result, operands.y},
                             {&parameters.source, operands.x},
                             {&parameters.weights, operands.w}};
      if (has_bias_) addresses.emplace_back(&parameters.bias, Planner::in(2));
      launch_own(planner, parameters, x.dtype, shape, addresses, is_transposed_);
      finish(planner, parameters, x.dtype, operands, epilogue, false, works_last);
    }
    if (layouts.y != works_last) {
      plan_copy(planner, shape, bytes_of(x.dtype), y, strides_of(shape, layouts.y), operands.y,
                strides_of(shape, works_last));
    }
  }

  [[nodiscard]] Operands operands_of(Planner& planner, const Extents& shape, const Buffer& y,
                                     const ConvEpilogue& epilogue, const ConvLayouts& layouts,
                                     bool works_last) const {
    const InputMetadata& x = planner.input(0);
    Operands operands;
    operands.x = in_order(planner, Planner::in(0), x.shape, x.dtype, layouts.x, works_last);
    operands.w = works_last ? transposed_weights(planner) : Planner::in(1);
    if (epilogue.addend_slot >= 0) {
      operands.addend = in_order(planner, Planner::in(epilogue.addend_slot), shape, x.dtype,
                                 layouts.addend, works_last);
    }
    operands.y = layouts.y == works_last
                     ? y
                     : planner.scratch(static_cast<uint64_t>(count_of(shape) * bytes_of(x.dtype)));
    return operands;
  }

  // Channels-last weights; constant ones are transposed once.
  [[nodiscard]] Buffer transposed_weights(Planner& planner) const {
    const InputMetadata& w = planner.input(1);
    if (!has_constant_weights_)
      return in_order(planner, Planner::in(1), w.shape, w.dtype, false, true);
    const sdk::MutexLock lock(mutex_);
    const Buffer cached = planner.begin_cached(
        transposed_, static_cast<uint64_t>(count_of(w.shape) * bytes_of(w.dtype)));
    plan_copy(planner, w.shape, bytes_of(w.dtype), cached, strides_of(w.shape, true),
              Planner::in(1), dense_strides(w.shape));
    planner.end_cached(cached);
    return cached;
  }

  // Weights [kernel height, kernel width, channels], transposed once.
  [[nodiscard]] Buffer depthwise_weights(Planner& planner) const {
    const InputMetadata& w = planner.input(1);
    const int64_t window = w.shape[2] * w.shape[3];
    const sdk::MutexLock lock(mutex_);
    const Buffer cached = planner.begin_cached(
        depthwise_, static_cast<uint64_t>(count_of(w.shape) * bytes_of(w.dtype)));
    plan_copy(planner, {w.shape[0], window}, bytes_of(w.dtype), cached, {1, w.shape[0]},
              Planner::in(1), {window, 1});
    planner.end_cached(cached);
    return cached;
  }

  void make_depthwise(Planner& planner, const WindowParameters& parameters,
                      const ConvEpilogue& epilogue, const Operands& operands,
                      const Buffer& weights) const {
    const Buffer bias = Planner::in(2);
    DepthwiseBuffers buffers = {operands.x, weights, operands.y};
    if (has_bias_) buffers.bias = &bias;
    if (epilogue.addend_slot >= 0) buffers.added = &operands.addend;
    plan_depthwise(planner, parameters, planner.input(0).dtype, epilogue, buffers);
  }

  // Applies what the convolution has not: bias, addend, Relu.
  void finish(Planner& planner, const WindowParameters& done, uint32_t dtype,
              const Operands& operands, const ConvEpilogue& epilogue, bool adds_bias,
              bool works_last) const {
    if (!adds_bias && epilogue.addend_slot < 0 && !epilogue.has_relu) return;
    EpilogueParameters parameters = {};
    parameters.count = done.count;
    parameters.channels = divisor_of(done.result_channels);
    parameters.inner = divisor_of(works_last ? 1 : done.out[0] * done.out[1] * done.out[2]);
    parameters.has_relu = epilogue.has_relu ? 1 : 0;
    parameters.most = epilogue.most;
    Addresses addresses = {{&parameters.result, operands.y}};
    if (adds_bias) addresses.emplace_back(&parameters.bias, Planner::in(2));
    if (epilogue.addend_slot >= 0) addresses.emplace_back(&parameters.added, operands.addend);
    const std::string body = std::string("\ntypedef ") +
                             index_type(parameters.count < int64_t{1} << 31) + " Index;\ntypedef " +
                             type_name(dtype) + " T;\ntypedef " + computed_name(dtype) + " C;\n" +
                             std::string(kernel_text("epilogue.cu"));
    planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "epilogue.h"}, body),
                   blocks_for(planner, parameters.count), kThreads, parameters, addresses);
  }

  Window window_;
  bool is_transposed_;
  Extents output_shape_;    // of ConvTranspose
  Extents output_padding_;  // likewise
  int64_t group_;
  bool has_bias_;  // false: slot 2 belongs to another node
  bool has_constant_weights_;
  ConvEpilogue epilogue_;
  ConvLayouts layouts_;
  mutable sdk::Mutex mutex_;
  mutable std::shared_ptr<CachedMemory> transposed_ GANTRY_GUARDED_BY(mutex_);
  mutable std::shared_ptr<CachedMemory> depthwise_ GANTRY_GUARDED_BY(mutex_);
};

constexpr sdk::KernelRow kRows[] = {
    {"Conv", 1, sdk::kLatest, sdk::kFloats, make<Conv>},
    {"ConvTranspose", 1, sdk::kLatest, sdk::kFloats, make<Conv>},
};

std::unique_ptr<sdk::Kernel> make_fused(const sdk::FusionCompile& compile,
                                        const ConvFusion& fusion) {
  const ConvLayouts layouts = {is_granted(compile.args.input_formats, 0),
                               is_granted(compile.args.input_formats, fusion.epilogue.addend_slot),
                               is_granted(compile.args.output_formats, 0)};
  return kernel_of(
      std::make_unique<Conv>(compile.scope.index().node(fusion.root), fusion.epilogue, layouts));
}

}  // namespace

sdk::KernelTable conv_kernels() { return sdk::table(kRows); }

sdk::FusionRow conv_row() {
  return sdk::fusion_row<ConvFusion, match_conv, no_refusal<ConvFusion>, make_fused>("cuda.conv");
}

}  // namespace gantry::cuda
