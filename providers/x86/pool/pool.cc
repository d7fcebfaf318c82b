// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool, GlobalMaxPool and GlobalAveragePool (ai.onnx, every version) in f32 or 8
// bits, channels innermost; ReduceMean and ReduceMax of f32 over all axes behind the channels.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "conv/window.h"
#include "fuse/families.h"
#include "fuse/kernels.h"
#include "onednn/background.h"
#include "onednn/ordinary.h"
#include "onednn/plan.h"
#include "onednn/post_ops.h"
#include "pool/loops.h"
#include "simd/axis_order.h"

namespace gantry::x86 {
namespace {

struct Shape {
  Window window;
  bool is_global = false;
  bool keeps_axes = true;  // that are pooled away, with extent 1
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;
  std::string fault;

  Shape(const GraphIndex& index, const Fusion& fusion) {
    fault = read(index.node(fusion.root));
    if (fault.empty() && fusion.is_quantized()) fault = check_quantized(fusion);
  }

 private:
  [[nodiscard]] std::string check_quantized(const Fusion& fusion) const {
    if (!fusion.target.quantization) return "the result is not quantized";
    if (fusion.sources[0].type() != fusion.target.type()) return "the result is of another type";
    if (algorithm == dnnl::algorithm::pooling_avg_include_padding)
      return "padding that counts, in int8";
    if (algorithm == dnnl::algorithm::pooling_max &&
        fusion.sources[0].quantization != fusion.target.quantization)
      return "the quantization of the result is another than that of the input";
    return {};
  }

  /// True if the axes of a reduction, an attribute before version 18 and an input since, are those
  /// behind the first two.
  static bool is_over_plane(const sdk::NodeView& node, int rank) {
    std::vector<int64_t> axes = node.get_ints("axes");
    if (node.since_version() >= 18) {
      const gantry_tensor* constant = node.input(1).constant();
      if (!constant || constant->dtype != GANTRY_INT64) return false;
      axes.resize(static_cast<size_t>(sdk::Shape(*constant).element_count()));
      // Of no axes there may be no address either.
      if (!axes.empty()) std::memcpy(axes.data(), constant->data, axes.size() * sizeof(int64_t));
    }
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
    std::sort(axes.begin(), axes.end());
    std::vector<int64_t> plane;
    for (int64_t axis = 2; axis < rank; ++axis) plane.push_back(axis);
    return axes == plane;
  }

  std::string read(const sdk::NodeView& node) {
    const std::string_view op = node.op_type();
    const int rank = node.input(0).rank();
    const Type type = type_of(node.input(0).dtype());
    if (type == Type::undef) return "only float32 and integers of int8 are taken";
    if (rank < 3 || rank > 5) return "only inputs of rank 3 to 5 are taken";
    if (node.output(1).present()) return "indices are not made";
    const bool reduces = is_reduction(op);
    if (reduces) {
      if (type != Type::f32) return "only float32 is taken";
      if (!is_over_plane(node, rank)) return "it is over other axes than all behind the channels";
      keeps_axes = node.get_int("keepdims", 1) == 1;
    }
    is_global = reduces || op.rfind("Global", 0) == 0;
    const bool is_average = op == "ReduceMean" || op == "AveragePool" || op == "GlobalAveragePool";
    const bool counts_padding = node.get_int("count_include_pad", 0) != 0;
    if (is_average) {
      algorithm = counts_padding ? dnnl::algorithm::pooling_avg_include_padding
                                 : dnnl::algorithm::pooling_avg_exclude_padding;
    }
    if (is_global) return {};
    if (std::string fault = window.read(node, static_cast<size_t>(rank) - 2); !fault.empty())
      return fault;
    // What is beyond the padding counts as padding in the library and not in ONNX.
    if (counts_padding && window.rounds_up) return "ceil_mode and count_include_pad together";
    for (size_t i = 0; i < window.kernel.size(); ++i) {
      const int64_t extent = window.dilations[i] * (window.kernel[i] - 1) + 1;
      if (window.pads_begin[i] >= extent || window.pads_end[i] >= extent)
        return "the padding is as large as the window";
    }
    return {};
  }
};

struct Plan {
  Dims output;
  bool is_empty = false;
  // Of the library:
  Operand source;
  Operand target;
  Scratchpad scratchpad;
  Launch launch;
  /// In place of what the library has only reference code for, and of its largest floats: of those
  /// it leaves out what is no number, and minus infinity becomes the least number.
  std::optional<PoolLoops> loops;
};

class PoolKernel final : public sdk::Kernel {
 public:
  explicit PoolKernel(const KernelArgs& args)
      : shape_(args.index, args.fusion),
        fusion_(args.fusion),
        source_slot_(args.slot_of(fusion_.sources[0].value)),
        output_slot_(args.output_slot()),
        source_is_formatted_(args.is_input_formatted(source_slot_)),
        target_is_formatted_(args.is_output_formatted(output_slot_)),
        source_type_(type_of(args.index.graph().values[fusion_.sources[0].value]->dtype)),
        target_type_(type_of(args.index.graph().values[fusion_.target.value]->dtype)),
        label_(args.index.node(args.fusion.root).label()) {
    const sdk::ValueView source = args.index.value(fusion_.sources[0].value);
    Dims input;
    for (int i = 0; i < source.rank(); ++i) input.push_back(source.extent(i));
    has_open_size_ = *std::min_element(input.begin() + 2, input.end()) < 0;
    if (*std::min_element(input.begin(), input.end()) < 1) return;  // the model does not say
    Dims key = input;
    key.insert(key.end(), {args.threads(), prefers_loops() ? 0 : 1});
    prepared_.start(std::move(key), args.threads(),
                    [this, input] { return make_plan(input, !prefers_loops()); });
  }

  [[nodiscard]] std::unique_ptr<sdk::KernelContext> make_context() const override {
    return std::make_unique<PlanCache<Plan>>();
  }

  void run(sdk::Call& call) const override {
    auto& cache = static_cast<PlanCache<Plan>&>(*call.context());
    const sdk::Shape input = call.shape(static_cast<int>(source_slot_));
    const int threads = call.thread_count();
    cache.key.assign(input.data, input.data + input.rank);
    cache.key.push_back(threads);
    const bool is_for_library = suits_library(call, threads);
    cache.key.push_back(is_for_library ? 1 : 0);
    Plan& plan = cache.get([&] {
      if (std::optional<Plan> made = prepared_.take(cache.key)) return std::move(*made);
      Plan made;
      with_threads(threads, [&] {
        made = make_plan({input.data, input.data + input.rank}, is_for_library);
      });
      return made;
    });
    gantry_tensor& target = call.output(static_cast<int>(output_slot_), dtype_of(target_type_),
                                        {plan.output.data(), result_rank(plan)});
    if (plan.is_empty) return;
    const void* source = call.input(static_cast<int>(source_slot_)).data;
    if (plan.loops) return run_loops(call, plan, source, target.data);
    plan.source.place(call, const_cast<void*>(source));
    plan.target.place(call, target.data);
    plan.scratchpad.place(call);
    with_threads(threads, [&] {
      plan.source.run(cache.stream);
      plan.launch.run(cache.stream);
      plan.target.run(cache.stream);
    });
  }

 private:
  [[nodiscard]] int result_rank(const Plan& plan) const {
    return shape_.keeps_axes ? static_cast<int>(plan.output.size()) : 2;
  }

  /// Of a maximum of floats the library loses NaN and infinity.
  [[nodiscard]] bool is_max_of_floats() const {
    return source_type_ == Type::f32 && shape_.algorithm == dnnl::algorithm::pooling_max;
  }
  /// Channels-last the loops are as fast as the library, which makes code for each size of images.
  [[nodiscard]] bool prefers_loops() const {
    const bool is_channels_last = source_is_formatted_ || target_is_formatted_;
    const bool is_open_mean = source_type_ == Type::f32 && has_open_size_;
    return is_channels_last && (is_max_of_floats() || is_open_mean);
  }

  /// In dense order, where the loops are slow, the library takes maxima of ordinary numbers.
  [[nodiscard]] bool suits_library(const sdk::Call& call, int threads) const {
    if (prefers_loops()) return false;
    if (!is_max_of_floats()) return true;
    const gantry_tensor& source = call.input(static_cast<int>(source_slot_));
    bool are_ordinary = false;
    with_threads(threads, [&] {
      are_ordinary = is_ordinary({static_cast<const float*>(source.data),
                                  static_cast<size_t>(sdk::Shape(source).element_count())});
    });
    return are_ordinary;
  }

  /// `is_for_library`: the library's code, unless that is its reference; else own loops.
  [[nodiscard]] Plan make_plan(const Dims& input, bool is_for_library) const {
    const Dims spatial(input.begin() + 2, input.end());
    Window window = shape_.window;
    if (shape_.is_global) {
      window.kernel = spatial;
      window.strides = window.dilations = Dims(spatial.size(), 1);
      window.pads_begin = window.pads_end = Dims(spatial.size(), 0);
    }
    if (*std::min_element(spatial.begin(), spatial.end()) == 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       label_ +
                           ": the input has a spatial extent of 0, over which there is nothing "
                           "to pool");
    }
    const Window::Placed placed = window.place(spatial);
    Plan plan;
    plan.output = {input[0], input[1]};
    for (const int64_t extent : placed.output) plan.output.push_back(std::max<int64_t>(extent, 0));
    plan.is_empty = *std::min_element(plan.output.begin(), plan.output.end()) == 0;
    if (plan.is_empty) return plan;
    if (!is_for_library) {
      plan.loops = loops_of(input, plan.output, window, placed);
      return plan;
    }
    const dnnl::pooling_forward::primitive_desc pd = describe(input, plan.output, window, placed);
    if (code_kind(pd) == CodeKind::kReference) {
      report_passed_over(label_, pd, "compiled loops of this provider");
      plan.loops = loops_of(input, plan.output, window, placed);
      return plan;
    }
    plan.source = Operand::input(desc_of(input, source_is_formatted_, source_type_), pd.src_desc());
    plan.target =
        Operand::output(desc_of(plan.output, target_is_formatted_, target_type_), pd.dst_desc());
    plan.scratchpad = Scratchpad(pd.scratchpad_desc());
    plan.launch = Launch(label_, dnnl::pooling_forward(pd),
                         {{DNNL_ARG_SRC, plan.source.memory()},
                          {DNNL_ARG_DST, plan.target.memory()},
                          {DNNL_ARG_SCRATCHPAD, plan.scratchpad.memory()}});
    return plan;
  }

  [[nodiscard]] PoolLoops loops_of(const Dims& input, const Dims& output, const Window& window,
                                   const Window::Placed& placed) const {
    PoolLoops loops;
    loops.input = input;
    loops.output = output;
    loops.window = window;
    loops.pads_begin = placed.pads_begin;
    loops.is_max = shape_.algorithm == dnnl::algorithm::pooling_max;
    loops.counts_padding = shape_.algorithm == dnnl::algorithm::pooling_avg_include_padding;
    if (!fusion_.is_quantized()) return loops;
    const Quantization& from = *fusion_.sources[0].quantization;
    const Quantization& to = *fusion_.target.quantization;
    loops.shift = -static_cast<float>(from.zero_point);
    loops.factor = from.scale / to.scale;
    loops.zero_point = static_cast<float>(to.zero_point);
    return loops;
  }

  void run_loops(sdk::Call& call, const Plan& plan, const void* source, void* target) const {
    constexpr int64_t kGrainElements = 1 << 16;  // read by a thread of its own
    const PoolLoops& loops = *plan.loops;
    int64_t read = loops.input[1];  // for each position
    for (const int64_t extent : loops.window.kernel) read *= extent;
    const int64_t parts = loops.parts_of_position();
    const int64_t grain = std::max<int64_t>(1, kGrainElements * parts / std::max<int64_t>(read, 1));
    const sdk::Shape input(loops.input.data(), static_cast<int>(loops.input.size()));
    const sdk::Shape output(loops.output.data(), static_cast<int>(loops.output.size()));
    const size_t bytes = dnnl::memory::data_type_size(source_type_);  // of the result's too
    const void* from = in_order(call, source, input, axis_order(source_is_formatted_),
                                AxisOrder::kChannelsLast, bytes);
    const ChannelsLastResult to(call, target, output, axis_order(target_is_formatted_), bytes);
    const auto run_as = [&](auto zero) {
      using T = decltype(zero);
      call.parallel_for(loops.positions() * parts, grain, [&](int64_t begin, int64_t end) {
        const FlushDenormals flush;
        pool(loops, static_cast<const T*>(from), static_cast<T*>(to.data()), begin, end);
      });
    };
    if (source_type_ == Type::f32) {
      run_as(float{});
    } else if (source_type_ == Type::u8) {
      run_as(uint8_t{});
    } else {
      run_as(int8_t{});
    }
    to.finish(call);
  }

  // In the order of the input, unless the library is slow in that.
  [[nodiscard]] dnnl::pooling_forward::primitive_desc describe(const Dims& input,
                                                               const Dims& output,
                                                               const Window& window,
                                                               const Window::Placed& placed) const {
    Dims dilations = window.dilations;
    for (int64_t& dilation : dilations) --dilation;
    PostOps post_ops;
    if (fusion_.is_quantized()) {  // from the numbers of the input to those of the output
      const Quantization& from = *fusion_.sources[0].quantization;
      const Quantization& to = *fusion_.target.quantization;
      post_ops.append_linear(1, -static_cast<float>(from.zero_point));
      post_ops.append_linear(from.scale / to.scale, static_cast<float>(to.zero_point));
      post_ops.flush();
    }
    const auto in = [&](Tag tag) {
      return dnnl::pooling_forward::primitive_desc(
          engine(), dnnl::prop_kind::forward_inference, shape_.algorithm,
          Desc(input, source_type_, tag), Desc(output, target_type_, tag), window.strides,
          window.kernel, dilations, placed.pads_begin, placed.pads_end, attributes(post_ops.ops));
    };
    if (!source_is_formatted_ && !target_is_formatted_ && source_type_ == Type::f32) {
      dnnl::pooling_forward::primitive_desc pd = in(dense(input.size()));
      if (is_fast(pd)) return pd;
    }
    return in(channels_last(input.size()));
  }

  Shape shape_;
  Fusion fusion_;
  size_t source_slot_;
  size_t output_slot_;
  bool has_open_size_ = false;  ///< the model does not say how large an image is
  bool source_is_formatted_;
  bool target_is_formatted_;
  Type source_type_;
  Type target_type_;
  std::string label_;
  Prepared<Plan> prepared_;  // last
};

}  // namespace

std::string pool_refusal(const GraphIndex& index, const Fusion& fusion) {
  return Shape(index, fusion).fault;
}

RootTraits pool_traits(const GraphIndex& index, uint32_t node) {
  RootTraits traits{index.node(node).input(0).rank(), 1, 0};
  traits.grows = false;
  return traits;
}

std::unique_ptr<sdk::Kernel> make_pool(const KernelArgs& args) {
  return std::make_unique<PoolKernel>(args);
}

}  // namespace gantry::x86
