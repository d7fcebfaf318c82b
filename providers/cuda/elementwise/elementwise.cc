// SPDX-License-Identifier: Apache-2.0
#include "elementwise/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "compile/kernel_texts.h"
#include "elementwise/elementwise_set.h"
#include "elementwise/elementwise_table.h"
#include "kernels/elementwise/elementwise.h"
#include "plan/types.h"

namespace gantry::cuda {
namespace {

constexpr int kThreads = 256;

// The value of a constant of one element as a literal; nullopt: it is no such constant.
std::optional<std::string> inlined(const sdk::ValueView& value) {
  const gantry_tensor* tensor = value.constant();
  if (!tensor || !(sdk::dtype_bit(tensor->dtype) & kComputed)) return std::nullopt;
  if (sdk::Shape(*tensor).element_count() != 1 || !tensor->data) return std::nullopt;
  const auto read = [&](auto zero) {
    std::memcpy(&zero, tensor->data, sizeof(zero));
    return zero;
  };
  switch (tensor->dtype) {
    case GANTRY_FLOAT:
      return literal(tensor->dtype, read(0.0F));
    case GANTRY_DOUBLE:
      return literal(tensor->dtype, read(0.0));
    case GANTRY_FLOAT16:
      return "widen(f16{" + std::to_string(read(uint16_t{0})) + "})";
    case GANTRY_BFLOAT16:
      return "widen(bf16{" + std::to_string(read(uint16_t{0})) + "})";
    case GANTRY_BOOL:
      return literal(tensor->dtype, read(uint8_t{0}));
    case GANTRY_INT32:
      return literal(tensor->dtype, read(int32_t{0}));
    case GANTRY_INT64: {
      const int64_t number = read(int64_t{0});
      if (std::abs(static_cast<double>(number)) > 9e15) return std::nullopt;  // not exact as double
      return literal(tensor->dtype, static_cast<double>(number));
    }
    case GANTRY_INT8:
      return literal(tensor->dtype, read(int8_t{0}));
    case GANTRY_UINT8:
      return literal(tensor->dtype, read(uint8_t{0}));
    default:
      return std::nullopt;
  }
}

// Whether a node's result depends on the value of an input: CastLike uses only the type of its
// second.
bool reads(const ElementwiseNode& function, uint32_t input) {
  return function.expression.find("{" + std::to_string(input) + "}") != std::string::npos;
}

// A tensor that the kernel reads, or a number in its source.
struct Operand {
  int slot = -1;       // the first slot of the value
  uint32_t dtype = 0;  // of its elements
  std::string number;  // literal; empty: the operand is a tensor
  Extents number_shape;
  int alignment = kAsNumpy;
  int node = 0;  // index of the term to whose first input it is aligned
};

// One node of the set: its operands and its expression.
struct Term {
  struct Source {
    bool is_operand;
    size_t number;
  };
  std::vector<Source> sources;
  std::string expression;
  uint32_t dtype;
};

// Which 4-D tensors are channels-last (NHWC).
struct ElementwiseLayouts {
  std::vector<bool> inputs;  // by slot
  bool output = false;
};

class Elementwise final : public Operation {
 public:
  Elementwise(const sdk::GraphIndex& index, const std::vector<uint32_t>& nodes,
              ElementwiseLayouts layouts)
      : layouts_(std::move(layouts)) {
    const std::vector<sdk::InputSlot> slots = index.input_slots(nodes);
    for (size_t i = 0; i < slots.size(); ++i)
      first_slot_.try_emplace(slots[i].value, static_cast<int>(i));
    std::map<uint32_t, size_t> made;  // value -> term
    for (const uint32_t number : nodes) {
      const sdk::NodeView node = index.node(number);
      const ElementwiseNode function = elementwise_node(node);
      Term term;
      term.dtype = node.output(0).dtype();
      term.expression = function.expression;
      for (uint32_t i = 0; i < index.raw(number).input_count; ++i) {
        const uint32_t value = index.raw(number).inputs[i];
        const auto inner = made.find(value);
        if (!reads(function, i)) {
          term.sources.push_back({true, operand({index.host(), nullptr}, value, kAsNumpy)});
        } else if (inner != made.end()) {
          term.sources.push_back({false, inner->second});
        } else {
          term.sources.push_back({true, operand(index.value(value), value, function.alignment[i])});
        }
      }
      made[index.raw(number).outputs[0]] = terms_.size();
      terms_.push_back(std::move(term));
    }
  }

  void plan(Planner& planner) const override {
    const std::vector<size_t> ranks = term_ranks(planner);
    // Every operand contributes to the last term, so the result has the broadcast shape of all.
    Extents shape;
    for (const Operand& one : operands_)
      shape = broadcast(shape, aligned_shape(planner, one, ranks));
    Walk walk;
    walk.extents = shape;
    walk.strides.push_back(dense_strides(shape));
    for (const Operand& one : operands_) {
      if (one.slot >= 0 && one.number.empty())
        walk.strides.push_back(strides_of(one, aligned_shape(planner, one, ranks), shape));
    }
    if (layouts_.output) walk_channels_last(walk);
    const uint32_t dtype = terms_.back().dtype;
    const Buffer result = planner.output(0, dtype, shape);
    if (walk.count() == 0) return;
    walk.simplify();
    const int width = pack_width(walk);
    launch(planner, walk, width, result);
  }

 private:
  // Strides of an operand in its memory layout.
  [[nodiscard]] Extents strides_of(const Operand& one, const Extents& own,
                                   const Extents& whole) const {
    const bool is_last = layouts_.inputs[static_cast<size_t>(one.slot)];
    if (!is_last) return broadcast_strides(own, whole);
    Extents strides = {own[1] * own[2] * own[3], 1, own[3] * own[1], own[1]};
    for (size_t axis = 0; axis < 4; ++axis) {
      if (own[axis] == 1) strides[axis] = 0;
    }
    return strides;
  }

  // Reorders the axes to the channels-last layout of the result.
  static void walk_channels_last(Walk& walk) {
    const auto move_channels_last = [](Extents& axes) {
      axes = {axes[0], axes[2], axes[3], axes[1]};
    };
    move_channels_last(walk.extents);
    for (Extents& strides : walk.strides) move_channels_last(strides);
    walk.strides[0] = dense_strides(walk.extents);
  }

  size_t operand(const sdk::ValueView& view, uint32_t value, int alignment) {
    Operand made;
    made.alignment = alignment;
    made.node = alignment == kAsNumpy ? -1 : static_cast<int>(terms_.size());
    if (!view.present()) {
      made.number = "0";
    } else {
      made.dtype = view.dtype();
      made.slot = first_slot_.at(value);
      if (const auto number = inlined(view)) {
        made.number = *number;
        const gantry_tensor& tensor = *view.constant();
        made.number_shape.assign(tensor.shape, tensor.shape + tensor.rank);
      }
    }
    const auto same = std::find_if(operands_.begin(), operands_.end(), [&](const Operand& other) {
      return other.slot == made.slot && other.alignment == made.alignment &&
             other.node == made.node;
    });
    if (same != operands_.end()) return static_cast<size_t>(same - operands_.begin());
    operands_.push_back(std::move(made));
    return operands_.size() - 1;
  }

  // Rank of each term; operands with an alignment depend on it.
  [[nodiscard]] std::vector<size_t> term_ranks(const Planner& planner) const {
    std::vector<size_t> ranks;
    for (const Term& term : terms_) {
      size_t rank = 0;
      for (const Term::Source& source : term.sources) {
        rank = std::max(rank, source.is_operand
                                  ? aligned_shape(planner, operands_[source.number], ranks).size()
                                  : ranks[source.number]);
      }
      ranks.push_back(rank);
    }
    return ranks;
  }

  // The operand's shape, extended to the rank that its node aligns it to. `ranks`: of the terms
  // before that node.
  [[nodiscard]] Extents aligned_shape(const Planner& planner, const Operand& one,
                                      const std::vector<size_t>& ranks) const {
    Extents shape = !one.number.empty() ? one.number_shape : planner.shape(one.slot);
    if (one.alignment == kAsNumpy || shape.empty()) return shape;
    const Term::Source& first = terms_[static_cast<size_t>(one.node)].sources[0];
    const size_t rank = first.is_operand
                            ? aligned_shape(planner, operands_[first.number], ranks).size()
                            : ranks[first.number];
    if (rank <= static_cast<size_t>(one.alignment)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 0 has the rank " + std::to_string(rank) +
                                                    ", and no axis " +
                                                    std::to_string(one.alignment));
    }
    Extents aligned(rank, 1);
    aligned[static_cast<size_t>(one.alignment)] = count_of(shape);
    return aligned;
  }

  // Elements per vector access: 16 bytes of the widest type, halved until the last extent is a
  // multiple.
  [[nodiscard]] int pack_width(const Walk& walk) const {
    int64_t widest = bytes_of(terms_.back().dtype);
    for (const Operand& one : operands_) {
      if (one.number.empty()) widest = std::max(widest, bytes_of(one.dtype));
    }
    int64_t width = std::min<int64_t>(8, 16 / widest);
    for (const Extents& strides : walk.strides) {
      if (strides.back() > 1) return 1;
    }
    // The last axis is contiguous, so all other strides are multiples of its extent.
    while (walk.extents.back() % width != 0) width /= 2;
    return static_cast<int>(width);
  }

  void launch(Planner& planner, Walk& walk, int width, const Buffer& result) const {
    std::vector<bool>
        is_repeated;  // by tensor: its stride along the last axis is 0, so a pack has one element
    walk.extents.back() /= width;
    for (Extents& strides : walk.strides) {
      is_repeated.push_back(strides.back() == 0);
      strides.back() *= width;
    }
    ElementwiseParameters parameters = {};
    parameters.count = walk.count();
    walk.write_extents(parameters.extents);
    std::vector<std::pair<const void* const*, Buffer>> addresses;
    size_t tensor = 1;
    for (const Operand& one : operands_) {
      if (!one.number.empty()) continue;
      walk.write_strides(tensor, parameters.strides[tensor - 1]);
      addresses.emplace_back(&parameters.operands[tensor - 1], Planner::in(one.slot));
      ++tensor;
    }
    const std::string source = kernel_source(
        {"index.h", "index.cu", "elementwise.h", "elementwise.cu"}, body(walk, width, is_repeated));
    const int64_t blocks = std::min<int64_t>((parameters.count + kThreads - 1) / kThreads,
                                             int64_t{32} * planner.multiprocessors);
    addresses.emplace_back(const_cast<const void* const*>(&parameters.result), result);
    planner.launch(source, blocks, kThreads, parameters, addresses);
  }

  // The kernel's source: a grid-stride loop over the packs.
  [[nodiscard]] std::string body(const Walk& walk, int width,
                                 const std::vector<bool>& is_repeated) const {
    const std::string index = index_type(walk.is_small());
    const std::string rank = std::to_string(walk.rank());
    const std::string result = type_name(terms_.back().dtype);
    const std::string packed = ", " + std::to_string(width) + ">";
    std::string text =
        join({"\nKERNEL(ElementwiseParameters) {\n  const ", index, " step = (", index,
              ")gridDim.x * blockDim.x;\n  for (", index, " i = (", index,
              ")blockIdx.x * blockDim.x + threadIdx.x; i < (", index, ")p.count; i += step) {\n"});
    std::string inner;
    size_t tensor = 0;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (!operands_[i].number.empty()) continue;
      const std::string type = type_name(operands_[i].dtype);
      const std::string number = std::to_string(tensor);
      const std::string name = std::to_string(i);
      const std::string at = join({"(const ", type, "*)p.operands[", number, "] + offset_of<", rank,
                                   ">(i, p.extents, p.strides[", number, "])"});
      if (is_repeated[tensor + 1]) {
        text += join({"    const auto x", name, " = load(*(", at, "));\n"});
        inner += join({"      const auto a", name, " = x", name, ";\n"});
      } else {
        text +=
            join({"    const auto x", name, " = *(const Pack<", type, packed, "*)(", at, ");\n"});
        inner += join({"      const auto a", name, " = load(x", name, ".at[j]);\n"});
      }
      ++tensor;
    }
    for (size_t i = 0; i < terms_.size(); ++i) {
      const std::string type = computed_name(terms_[i].dtype);
      inner += join({"      const ", type, " v", std::to_string(i), " = (", type, ")(",
                     expression(terms_[i]), ");\n"});
    }
    const std::string last = std::to_string(terms_.size() - 1);
    return join({text, "    Pack<", result, packed, " y;\n#pragma unroll\n    for (int j = 0; j < ",
                 std::to_string(width), "; ++j) {\n", inner, "      y.at[j] = store<", result,
                 ">(v", last, ");\n    }\n    *((Pack<", result, packed,
                 "*)p.result + i) = y;\n  }\n}\n"});
  }

  // The expression with "{0}" and so on replaced by variables and literals.
  [[nodiscard]] std::string expression(const Term& term) const {
    std::string text;
    for (size_t c = 0; c < term.expression.size(); ++c) {
      if (term.expression[c] != '{') {
        text += term.expression[c];
        continue;
      }
      const size_t end = term.expression.find('}', c);
      const Term::Source& source = term.sources.at(
          static_cast<size_t>(std::stoi(term.expression.substr(c + 1, end - c - 1))));
      if (!source.is_operand) {
        text += "v" + std::to_string(source.number);
      } else if (!operands_[source.number].number.empty()) {
        text += operands_[source.number].number;
      } else {
        text += "a" + std::to_string(source.number);
      }
      c = end;
    }
    return text;
  }

  ElementwiseLayouts layouts_;
  std::map<uint32_t, int> first_slot_;  // by value
  std::vector<Operand> operands_;
  std::vector<Term> terms_;
};

std::string no_refusal(const sdk::FusionScope&, const sdk::FusionMatch&) { return {}; }

std::unique_ptr<sdk::Kernel> make_set(const sdk::FusionCompile& compile,
                                      const sdk::FusionMatch& match) {
  const auto is_granted = [](const gantry_format* const* formats, size_t slot) {
    return formats && formats[slot] != nullptr;
  };
  ElementwiseLayouts layouts;
  for (size_t slot = 0; slot < compile.inputs.size(); ++slot)
    layouts.inputs.push_back(is_granted(compile.args.input_formats, slot));
  layouts.output = is_granted(compile.args.output_formats, 0);
  return std::make_unique<PlannedKernel>(
      std::make_unique<Elementwise>(compile.scope.index(), match.nodes, std::move(layouts)), 0);
}

}  // namespace

ElementwisePorts elementwise_ports(const sdk::GraphIndex& index,
                                   const std::vector<uint32_t>& nodes) {
  std::vector<uint32_t> slots;  // the values
  for (const sdk::InputSlot& slot : index.input_slots(nodes)) slots.push_back(slot.value);
  ElementwisePorts ports;
  for (const uint32_t value : slots)
    ports.is_inlined.push_back(value != GANTRY_NONE && inlined(index.value(value)).has_value());
  const uint32_t result = index.node(nodes.back()).output(0).dtype();
  for (size_t i = 0; i < slots.size() && i < 64; ++i) {
    // The result may alias an operand of the same element size that one slot reads: each element is
    // then read by the thread that overwrites it. Aligned operands are excluded below.
    if (slots[i] == GANTRY_NONE || ports.is_inlined[i]) continue;
    if (bytes_of(index.value(slots[i]).dtype()) != bytes_of(result)) continue;
    if (std::count(slots.begin(), slots.end(), slots[i]) == 1) ports.overwrites |= uint64_t{1} << i;
  }
  ports.is_read.assign(slots.size(), false);
  for (const uint32_t node : nodes) {
    const ElementwiseNode function = elementwise_node(index.node(node));
    for (size_t slot = 0; slot < slots.size(); ++slot) {
      for (uint32_t i = 0; i < index.raw(node).input_count; ++i) {
        if (slots[slot] == index.raw(node).inputs[i] && reads(function, i))
          ports.is_read[slot] = true;
      }
    }
    for (uint32_t i = 0; i < index.raw(node).input_count; ++i) {
      if (function.alignment[i] == kAsNumpy) continue;
      for (size_t slot = 0; slot < slots.size() && slot < 64; ++slot) {
        if (slots[slot] == index.raw(node).inputs[i]) ports.overwrites &= ~(uint64_t{1} << slot);
      }
    }
  }
  for (size_t slot = 0; slot < slots.size() && slot < 64; ++slot) {
    if (!ports.is_read[slot]) ports.overwrites &= ~(uint64_t{1} << slot);
  }
  return ports;
}

sdk::FusionRow elementwise_row() {
  return sdk::fusion_row<sdk::FusionMatch, match_elementwise_set, no_refusal, make_set>(
      "cuda.elementwise");
}

}  // namespace gantry::cuda
