// SPDX-License-Identifier: Apache-2.0
// A set of nodes that work element by element on f32 and make tensors of one shape, in one pass:
// each tile of the result goes through all of them while it is in the nearest cache. Operands may
// be broadcast in any way.
#include <gantry/sdk/error.h>

#include <algorithm>
#include <array>

#include "elementwise/program.h"
#include "kernels/kernels.h"

namespace gantry::onednn {
namespace {

constexpr int kMostAxes = 8;

/// The shape of all results, and one that tensors are broadcast to.
struct Extents {
  int rank = 0;
  std::array<int64_t, kMostAxes> of{};

  [[nodiscard]] sdk::Shape shape() const { return {of.data(), rank}; }
};

/// An operand by the axes of the results, innermost first, neighbours that are one run being one.
struct View {
  const float* data = nullptr;
  int axes = 0;
  std::array<int64_t, kMostAxes> extents{};
  std::array<int64_t, kMostAxes> strides{};

  [[nodiscard]] bool is_whole() const { return axes == 1 && strides[0] == 1; }
  [[nodiscard]] bool is_single() const { return axes == 1 && strides[0] == 0; }

  void add(int64_t extent, int64_t stride) {
    if (extent == 1) return;
    const auto next = static_cast<size_t>(axes);
    if (next > 0) {
      const int64_t whole = strides[next - 1] * extents[next - 1];  // 0 of what is broadcast
      if (stride == whole) {
        extents[next - 1] *= extent;
        return;
      }
    }
    extents[next] = extent;
    strides[next] = stride;
    ++axes;
  }

  /// Elements [begin, begin + count) of the results.
  void copy(int64_t begin, int64_t count, float* to) const {
    std::array<int64_t, kMostAxes> at{};
    const float* row = data;
    for (size_t axis = 0; axis < static_cast<size_t>(axes); ++axis) {
      at[axis] = begin % extents[axis];
      begin /= extents[axis];
      if (axis > 0) row += at[axis] * strides[axis];
    }
    while (count > 0) {
      const int64_t run = std::min(extents[0] - at[0], count);
      const float* from = row + at[0] * strides[0];
      if (strides[0] == 1) {
        std::copy_n(from, run, to);
      } else if (strides[0] == 0) {
        std::fill_n(to, run, *from);
      } else {
        for (int64_t i = 0; i < run; ++i) to[i] = from[i * strides[0]];
      }
      to += run;
      count -= run;
      at[0] = 0;
      for (size_t axis = 1; axis < static_cast<size_t>(axes); ++axis) {
        row += strides[axis];
        if (++at[axis] < extents[axis]) break;
        row -= strides[axis] * extents[axis];
        at[axis] = 0;
      }
    }
  }
};

class ElementwiseKernel final : public sdk::Kernel {
 public:
  ElementwiseKernel(const KernelArgs& args, const std::vector<uint32_t>& nodes)
      : program_(
            program_of(args.index, nodes,
                       {args.compile.outputs, args.compile.outputs + args.compile.output_count})),
        label_(args.index.node(nodes.back()).label()) {
    for (const auto& operand : program_.operands)
      slots_.push_back(static_cast<int>(args.slot_of(operand.value)));
  }

  void run(sdk::Call& call) const override {
    const Extents extents = broadcast(call);
    const int64_t count = extents.shape().element_count();
    const size_t operands = slots_.size();
    const size_t results = program_.results.size();
    auto* targets = call.scratch<float*>(static_cast<int64_t>(results));
    for (size_t i = 0; i < results; ++i) {
      targets[i] =
          static_cast<float*>(call.output(static_cast<int>(i), GANTRY_FLOAT, extents.shape()).data);
    }
    if (count == 0) return;
    auto* views = call.scratch<View>(static_cast<int64_t>(operands));
    for (size_t i = 0; i < operands; ++i) views[i] = view_of(call, slots_[i], extents);
    const int64_t tile = std::min(kTileElements, (count + kTileStep - 1) / kTileStep * kTileStep);
    const int64_t tiles = (count + tile - 1) / tile;
    const int64_t parts = part_count(call, tile, tiles);
    const auto places = static_cast<int64_t>(operands + results + program_.buffers);
    auto* memory = call.scratch<float>(parts * places * tile);
    auto* pointers = call.scratch<float*>(parts * places);
    call.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        const Part own{views, targets, memory + part * places * tile, pointers + part * places,
                       tile,  count};
        own.start(places);
        own.fill_singles(operands);
        for (int64_t index = part * tiles / parts; index < (part + 1) * tiles / parts; ++index)
          own.run(program_, index * tile);
      }
    });
  }

 private:
  /// What one thread works with: memory for a tile of each place.
  struct Part {
    const View* views;
    float* const* targets;
    float* memory;
    float** places;
    int64_t tile;
    int64_t count;  // of all elements

    [[nodiscard]] float* own(size_t place) const {
      return memory + static_cast<int64_t>(place) * tile;
    }
    void start(int64_t place_count) const {
      for (int64_t i = 0; i < place_count; ++i) places[i] = own(static_cast<size_t>(i));
    }
    void fill_singles(size_t operands) const {
      for (size_t i = 0; i < operands; ++i) {
        if (views[i].is_single()) std::fill_n(own(i), tile, *views[i].data);
      }
    }
    void run(const ElementwiseProgram& program, int64_t first) const {
      const int64_t elements = std::min(tile, count - first);
      const bool is_partial = elements % kTileStep != 0;  // more would be read and written
      const size_t operands = program.operands.size();
      for (size_t i = 0; i < operands; ++i) {
        if (views[i].is_single()) continue;
        if (views[i].is_whole() && !is_partial) {
          places[i] = const_cast<float*>(views[i].data) + first;  // no instruction writes to it
        } else {
          places[i] = own(i);
          views[i].copy(first, elements, own(i));
          std::fill_n(own(i) + elements, -elements & (kTileStep - 1), 0.0F);
        }
      }
      for (size_t i = 0; i < program.results.size(); ++i)
        places[operands + i] = is_partial ? own(operands + i) : targets[i] + first;
      run_instructions(program.instructions, places, elements);
      if (!is_partial) return;
      for (size_t i = 0; i < program.results.size(); ++i)
        std::copy_n(own(operands + i), elements, targets[i] + first);
    }
  };

  [[nodiscard]] int64_t part_count(const sdk::Call& call, int64_t tile, int64_t tiles) const {
    constexpr int64_t kElementsOfPart = 1 << 16;  // times instructions
    const int64_t all = tiles * tile * static_cast<int64_t>(program_.instructions.size());
    const int64_t most = std::min<int64_t>(tiles, call.thread_count());
    return std::clamp<int64_t>(all / kElementsOfPart, 1, most);
  }

  [[nodiscard]] Extents broadcast(const sdk::Call& call) const {
    Extents to;
    for (const int slot : slots_) to.rank = std::max(to.rank, call.shape(slot).rank);
    if (to.rank > kMostAxes) fail("its operands have more than 8 axes");
    to.of.fill(1);
    for (const int slot : slots_) {
      const sdk::Shape shape = call.shape(slot);
      for (int axis = 0; axis < shape.rank; ++axis) {
        int64_t& extent = to.of[static_cast<size_t>(axis + to.rank - shape.rank)];
        if (extent == 1) extent = shape[axis];
        if (shape[axis] != 1 && shape[axis] != extent) {
          fail("extents " + std::to_string(shape[axis]) + " and " + std::to_string(extent) +
               " of its operands do not broadcast");
        }
      }
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (program_.operands[i].is_whole && call.shape(slots_[i]) != to.shape())
        fail("tensors that the model says are of one shape are not");
    }
    return to;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, label_ + " and the nodes run with it: " + what);
  }

  [[nodiscard]] static View view_of(const sdk::Call& call, int slot, const Extents& to) {
    const sdk::Shape shape = call.shape(slot);
    View view;
    view.data = call.data<float>(slot);
    int64_t step = 1;
    for (int axis = to.rank - 1; axis >= 0; --axis) {
      const int own = axis + shape.rank - to.rank;
      const int64_t extent = own >= 0 ? shape[own] : 1;
      view.add(to.of[static_cast<size_t>(axis)], extent == 1 ? 0 : step);
      step *= extent;
    }
    if (view.axes == 0) {  // one element in all
      view.axes = 1;
      view.extents[0] = 1;
      view.strides[0] = 1;
    }
    return view;
  }

  ElementwiseProgram program_;
  std::string label_;
  std::vector<int> slots_;  // of the operands
};

}  // namespace

std::unique_ptr<sdk::Kernel> make_elementwise(const KernelArgs& args,
                                              const std::vector<uint32_t>& nodes) {
  return std::make_unique<ElementwiseKernel>(args, nodes);
}

bool is_elementwise_parameter(const GraphIndex& index, uint32_t node, uint32_t position) {
  return position >= elementwise_of(index, node)->operands;
}

}  // namespace gantry::onednn
