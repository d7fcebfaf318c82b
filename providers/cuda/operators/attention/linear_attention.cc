// SPDX-License-Identifier: Apache-2.0
// LinearAttention: all steps in one launch, with the state in registers.
#include "kernels/attention/linear_attention.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;

constexpr int64_t kLanes = 32;
constexpr int64_t kMostRows = 32;   // state rows per thread
constexpr int64_t kMostKeys = 512;  // limit of the key width: the state rows of 16 warps
constexpr int64_t kMostShared = 8;  // limit of queries per head: their shared memory is 37 KiB

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

class LinearAttention final : public Operation {
 public:
  explicit LinearAttention(const NodeView& node)
      : query_heads_(node.get_int("q_num_heads", 0)),
        heads_(node.get_int("kv_num_heads", 0)),
        scale_(node.get_float("scale", 0)),
        rule_(node.get_string("update_rule", "gated_delta")),
        state_(node.output(1).dtype()) {}

  void plan(Planner& planner) const override {
    const InputMetadata& query = planner.input(0);
    LinearAttentionParameters p = parameters_of(planner);
    const uint32_t state = planner.has_input(3)         ? planner.input(3).dtype
                           : state_ == GANTRY_UNDEFINED ? query.dtype
                                                        : state_;
    Addresses addresses = {
        {&p.query, Planner::in(0)}, {&p.key, Planner::in(1)}, {&p.value, Planner::in(2)}};
    const Extents shape = {query.shape[0], p.steps, query_heads_ * p.values};
    const Extents state_shape = {query.shape[0], heads_, p.keys, p.values};
    if (planner.wants(0)) addresses.emplace_back(&p.result, planner.output(0, query.dtype, shape));
    if (planner.wants(1)) addresses.emplace_back(&p.present, planner.output(1, state, state_shape));
    if (planner.has_input(3)) addresses.emplace_back(&p.past, Planner::in(3));
    if (has_decay()) addresses.emplace_back(&p.decay, Planner::in(4));
    if (has_beta()) addresses.emplace_back(&p.beta, Planner::in(5));
    if (p.blocks == 0) return;
    const int64_t warps = std::clamp<int64_t>(
        static_cast<int64_t>(
            std::bit_ceil(static_cast<uint64_t>((p.keys + kMostRows - 1) / kMostRows))),
        1, kMostKeys / kMostRows);
    const int64_t rows = (p.keys + warps - 1) / warps;
    const std::string body =
        "\ntypedef " + type_name(query.dtype) + " T;\ntypedef " + type_name(state) + " S;\n" +
        define("WARPS", warps) + define("ROWS", rows) + define("KEYS", warps * rows) +
        define("SHARED", p.shared) + define("HAS_DECAY", has_decay() ? 1 : 0) +
        define("HAS_BETA", has_beta() ? 1 : 0) + std::string(kernel_text("linear_attention.cu"));
    planner.launch(kernel_source({"linear_attention.h"}, body),
                   std::min<int64_t>(p.blocks, int64_t{1} << 20), static_cast<int>(warps * kLanes),
                   p, addresses);
  }

 private:
  using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

  [[nodiscard]] bool has_decay() const { return rule_ == "gated" || rule_ == "gated_delta"; }
  [[nodiscard]] bool has_beta() const { return rule_ == "delta" || rule_ == "gated_delta"; }

  // The parameters without addresses. INVALID_ARGUMENT: the shapes do not fit.
  [[nodiscard]] LinearAttentionParameters parameters_of(const Planner& planner) const {
    const Extents& query = planner.shape(0);
    const Extents& key = planner.shape(1);
    const Extents& value = planner.shape(2);
    LinearAttentionParameters p = {};
    const bool are_packed = query.size() == 3 && key.size() == 3 && value.size() == 3 &&
                            query[2] % query_heads_ == 0 && value[2] % heads_ == 0;
    if (are_packed) {
      p.steps = query[1];
      p.heads = heads_;
      p.keys = query[2] / query_heads_;
      p.values = value[2] / heads_;
      p.shared = query_heads_ / heads_;
    }
    const Extents tokens = {query[0], p.steps};
    const auto shape = [&](int64_t numbers) { return Extents{tokens[0], tokens[1], numbers}; };
    if (!are_packed || key != shape(heads_ * p.keys) || value != shape(heads_ * p.values)) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "queries " + text_of(query) + ", keys " +
                                                    text_of(key) + " and values " + text_of(value) +
                                                    " are not of " + std::to_string(query_heads_) +
                                                    " and " + std::to_string(heads_) + " heads");
    }
    if (p.keys > kMostKeys || p.keys < 1) {
      throw sdk::Error(GANTRY_UNSUPPORTED, "heads of " + std::to_string(p.keys) +
                                               " keys, supported are 1 to " +
                                               std::to_string(kMostKeys));
    }
    p.tiles = (p.values + kLanes - 1) / kLanes;
    p.blocks = query[0] * heads_ * p.tiles;
    p.scale = scale_ != 0 ? scale_ : 1 / std::sqrt(static_cast<float>(p.keys));
    check(planner, 3, {Extents{query[0], heads_, p.keys, p.values}}, false);
    check(planner, 4, {shape(heads_ * p.keys), shape(heads_)}, has_decay());
    check(planner, 5, {shape(heads_), shape(1)}, has_beta());
    if (has_decay()) p.decays = planner.shape(4)[2];
    if (has_beta()) p.betas = planner.shape(5)[2];
    return p;
  }

  static void check(const Planner& planner, int slot, const std::vector<Extents>& expected,
                    bool is_needed) {
    const bool is_there = planner.has_input(slot);
    const bool fits = is_there && std::find(expected.begin(), expected.end(),
                                            planner.shape(slot)) != expected.end();
    if (is_there ? fits : !is_needed) return;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "input " + std::to_string(slot) + " has " +
                         (is_there ? "the shape " + text_of(planner.shape(slot)) : "no value") +
                         ", expected " + text_of(expected.front()));
  }

  int64_t query_heads_;
  int64_t heads_;
  float scale_;
  std::string rule_;
  uint32_t state_;
};

std::string has_heads(const NodeView& node) {
  const int64_t queries = node.get_int("q_num_heads", 0);
  const int64_t heads = node.get_int("kv_num_heads", 0);
  if (heads < 1 || queries < 1 || queries % heads != 0) return "the numbers of heads do not fit";
  if (queries / heads > kMostShared)
    return "more than " + std::to_string(kMostShared) + " queries of a head are not supported";
  const std::string rule = node.get_string("update_rule", "gated_delta");
  return rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta"
             ? ""
             : "the rule " + rule + " is not known";
}

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

constexpr sdk::KernelRow kRows[] = {
    {"LinearAttention", 27, sdk::kLatest, kTypes, make<LinearAttention>, {}, has_heads},
};

}  // namespace

sdk::KernelTable linear_attention_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
