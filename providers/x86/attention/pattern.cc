// SPDX-License-Identifier: Apache-2.0
#include "attention/pattern.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "attention/qkv_slices.h"
#include "attention/repeated_heads.h"
#include "fuse/constants.h"

namespace gantry::x86 {
namespace {

constexpr int kRank = 4;  // of views: tensors of rank 3 have one batch

class Finder {
 public:
  Finder(const sdk::GraphIndex& index, const std::function<bool(uint32_t)>& may_take)
      : index_(index), may_take_(may_take) {}

  std::optional<Attention> around(uint32_t softmax) {
    const sdk::NodeView node = index_.node(softmax);
    // Before version 13 Softmax flattens all axes from `axis` on.
    const int64_t axis = node.get_int("axis", node.since_version() < 13 ? 1 : -1);
    found_.rank = index_.value(index_.raw(softmax).inputs[0]).rank();
    if (axis != -1 && axis != found_.rank - 1) return std::nullopt;
    take(softmax);
    if (!find_scores(index_.raw(softmax).inputs[0]) || !find_result(index_.raw(softmax).outputs[0]))
      return std::nullopt;
    look_through_slices();
    std::sort(found_.nodes.begin(), found_.nodes.end());
    return std::move(found_);
  }

 private:
  void take(uint32_t node) { found_.nodes.push_back(node); }
  /// Takes a node that may have been taken for another tensor already.
  void take_once(uint32_t node) {
    if (std::find(found_.nodes.begin(), found_.nodes.end(), node) == found_.nodes.end()) take(node);
  }

  [[nodiscard]] bool is(uint32_t node, std::string_view op) const {
    return node != GANTRY_NONE && index_.raw(node).domain.length == 0 && may_take_(node) &&
           index_.node(node).op_type() == op;
  }

  /// True if a mask broadcasts to the scores without changing the number of queries and keys.
  /// Requires known ranks, and that of the scores not to be smaller.
  [[nodiscard]] bool fits(uint32_t mask, uint32_t scores) const {
    const sdk::ValueView narrow = index_.value(mask);
    const sdk::ValueView wide = index_.value(scores);
    for (int back = 1; back <= std::min(2, narrow.rank()); ++back) {
      const int axis = narrow.rank() - back;
      if (narrow.extent(axis) != 1 &&
          !is_same_extent(index_, mask, axis, scores, wide.rank() - back))
        return false;
    }
    return true;
  }

  [[nodiscard]] bool is_tensor(uint32_t value) const {
    const sdk::ValueView view = index_.value(value);
    return view.rank() == found_.rank && view.dtype() == GANTRY_FLOAT && !view.is_constant();
  }

  /// The producer of `value` if that has one reader; else GANTRY_NONE.
  [[nodiscard]] uint32_t own_producer(uint32_t value) const {
    return index_.only_reader(value) == GANTRY_NONE ? GANTRY_NONE : index_.producer(value);
  }

  // From the Softmax up to the two operands of the first product.
  bool find_scores(uint32_t value) {
    uint32_t node = own_producer(value);
    if (is(node, "Add")) {
      const gantry_node& raw = index_.raw(node);
      const auto is_score = [&](uint32_t input) {
        const uint32_t maker = own_producer(input);
        return is(maker, "MatMul") || is(maker, "Div") || is(maker, "Mul");
      };
      const int score = is_score(raw.inputs[0]) ? 0 : 1;
      found_.mask = raw.inputs[1 - score];
      const sdk::ValueView mask = index_.value(found_.mask);
      if (index_.value(raw.inputs[score]).rank() != found_.rank || mask.rank() < 0 ||
          mask.rank() > found_.rank || mask.dtype() != GANTRY_FLOAT ||
          !fits(found_.mask, raw.inputs[score]))
        return false;
      take(node);
      node = own_producer(raw.inputs[score]);
    }
    if (is(node, "Div") || is(node, "Mul")) {
      const uint32_t scaled = scale_by(node);
      if (scaled == GANTRY_NONE) return false;
      node = own_producer(scaled);
    }
    if (!is(node, "MatMul")) return false;
    take(node);
    found_.query.value = index_.raw(node).inputs[0];
    found_.key.value = index_.raw(node).inputs[1];
    if (!is_tensor(found_.query.value) || !is_tensor(found_.key.value)) return false;
    look_through(found_.query, true, true);
    look_through(found_.key, false, true);
    look_through_repeated_heads(found_.key, false);
    return true;
  }

  // From the Softmax down to the second matmul and the Transposes after it.
  bool find_result(uint32_t value) {
    const uint32_t node = index_.only_reader(value);
    if (!is(node, "MatMul") || index_.raw(node).inputs[0] != value) return false;
    take(node);
    found_.value.value = index_.raw(node).inputs[1];
    if (!is_tensor(found_.value.value)) return false;
    look_through(found_.value, true, false);
    look_through_repeated_heads(found_.value, true);
    found_.target.value = index_.raw(node).outputs[0];
    const uint32_t behind = index_.only_reader(found_.target.value);
    if (is(behind, "Transpose") &&
        index_.node(behind).get_ints("perm", {}) == std::vector<int64_t>{0, 2, 1, 3}) {
      take(behind);
      found_.target = {index_.raw(behind).outputs[0], {0, 2, 1, 3}};
    }
    return true;
  }

  /// The permutation of a Transpose by the axes of a view.
  [[nodiscard]] std::vector<int64_t> permutation_of(uint32_t transpose) const {
    if (found_.rank == kRank) return index_.node(transpose).get_ints("perm", {3, 2, 1, 0});
    std::vector<int64_t> perm = index_.node(transpose).get_ints("perm", {2, 1, 0});
    for (int64_t& axis : perm) ++axis;
    perm.insert(perm.begin(), 0);
    return perm;
  }

  /// Takes a Mul or Div by a constant scalar and returns its other operand; GANTRY_NONE: it is
  /// none.
  uint32_t scale_by(uint32_t node) {
    const gantry_node& raw = index_.raw(node);
    const bool divides = index_.node(node).op_type() == "Div";
    const int number = !divides && index_.value(raw.inputs[0]).is_constant() ? 0 : 1;
    const std::optional<float> factor = index_.value(raw.inputs[number]).is_constant()
                                            ? scalar_of(index_.value(raw.inputs[number]))
                                            : std::nullopt;
    if (!factor || index_.value(raw.inputs[number]).rank() > found_.rank) return GANTRY_NONE;
    found_.scale *= divides ? 1 / *factor : *factor;
    take(node);
    return raw.inputs[1 - number];
  }

  /// Takes the Transposes before a view and, if `scales`, scalar Mul and Div (of queries and keys,
  /// whose products they scale). `keeps_last`: only Transposes that keep the last axis.
  void look_through(View& view, bool keeps_last, bool scales) {
    for (;;) {
      const uint32_t node = own_producer(view.value);
      if (scales && (is(node, "Mul") || is(node, "Div"))) {
        const uint32_t scaled = scale_by(node);
        if (scaled == GANTRY_NONE) return;
        view.value = scaled;
        continue;
      }
      if (!is(node, "Transpose") || !is_tensor(index_.raw(node).inputs[0])) return;
      const std::vector<int64_t> perm = permutation_of(node);
      if (perm.size() != kRank || (keeps_last && perm[kRank - 1] != kRank - 1)) return;
      for (int& axis : view.order) axis = static_cast<int>(perm[static_cast<size_t>(axis)]);
      view.value = index_.raw(node).inputs[0];
      take(node);
    }
  }

  /// Takes the nodes that repeat the heads of a view, and the Transposes before them.
  void look_through_repeated_heads(View& view, bool keeps_last) {
    if (found_.rank != kRank || view.order[0] != 0 || view.order[1] != 1) return;
    const std::optional<Repeats> repeats = repeats_of(
        index_, view.value, [this](uint32_t value) { return own_producer(value); }, may_take_);
    if (!repeats || !is_tensor(repeats->source)) return;
    for (const uint32_t node : repeats->nodes) take(node);
    view.value = repeats->source;
    view.group = repeats->count;
    look_through(view, keeps_last, false);
  }

  /// Takes the nodes that slice queries, keys and values out of one tensor, if they have no other
  /// readers, and a Transpose before them.
  void look_through_slices() {
    if (found_.rank != kRank) return;
    struct Candidate {
      View* view;
      Pick pick;
    };
    std::vector<Candidate> candidates;
    std::vector<uint32_t> nodes = found_.nodes;
    for (View* view : {&found_.query, &found_.key, &found_.value}) {
      const std::optional<Pick> pick = pick_of(index_, view->value, may_take_);
      if (!pick || view->group != 1 || index_.value(pick->source).rank() != kRank + 1 ||
          index_.value(pick->source).is_constant())
        continue;
      candidates.push_back({view, *pick});
      nodes.insert(nodes.end(), pick->nodes.begin(), pick->nodes.end());
    }
    const auto is_for_others = [&](const Candidate& candidate) {
      const std::vector<uint32_t>& choosing = candidate.pick.nodes;
      return !std::all_of(choosing.begin(), choosing.end(),
                          [&](uint32_t node) { return is_read_by_only(index_, node, nodes); });
    };
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_for_others),
                     candidates.end());
    for (const auto& [view, pick] : candidates) {
      for (int& axis : view->order) axis += axis >= pick.axis ? 1 : 0;
      view->value = pick.source;
      view->picked = pick.axis;
      view->index = pick.index;
      for (const uint32_t node : pick.nodes) take_once(node);
    }
    for (const Candidate& candidate : candidates) look_through_shared(*candidate.view);
  }

  /// Takes a 5-D Transpose that only nodes which are taken read.
  void look_through_shared(View& view) {
    const uint32_t node = index_.producer(view.value);
    if (!is(node, "Transpose") || !is_read_by_only(index_, node, found_.nodes)) return;
    const std::vector<int64_t> perm = index_.node(node).get_ints("perm", {4, 3, 2, 1, 0});
    const bool is_key = &view == &found_.key;
    if (perm.size() != kRank + 1 || (!is_key && perm[kRank] != kRank)) return;
    for (int& axis : view.order) axis = static_cast<int>(perm[static_cast<size_t>(axis)]);
    view.picked = static_cast<int>(perm[static_cast<size_t>(view.picked)]);
    view.value = index_.raw(node).inputs[0];
    take_once(node);
  }

  const sdk::GraphIndex& index_;
  const std::function<bool(uint32_t)>& may_take_;
  Attention found_;
};

/// The inputs of an Attention node (ai.onnx).
enum Input { kQuery, kKey, kValue, kMask, kInputs };

/// True if queries, keys and values are 4-D f32, and query heads are a multiple of key heads.
bool has_known_heads(const sdk::NodeView& node) {
  for (const int i : {kQuery, kKey, kValue}) {
    const sdk::ValueView tensor = node.input(i);
    if (tensor.rank() != kRank || tensor.dtype() != GANTRY_FLOAT || tensor.is_constant() ||
        tensor.extent(1) < 1)
      return false;
  }
  const int64_t heads = node.input(kKey).extent(1);
  return node.input(kValue).extent(1) == heads && node.input(kQuery).extent(1) % heads == 0;
}

/// True if there is no mask, or one of f32 of rank 1 to 4, which is added.
bool is_added_mask(const sdk::NodeView& node) {
  const sdk::ValueView mask = node.input(kMask);
  return !mask.present() ||
         (mask.dtype() == GANTRY_FLOAT && mask.rank() >= 1 && mask.rank() <= kRank);
}

/// The attention of an Attention node.
std::optional<Attention> standard_attention(const sdk::GraphIndex& index, uint32_t node) {
  constexpr int64_t kFewQueries = 8;
  const sdk::NodeView view = index.node(node);
  for (int i = kInputs; i < view.input_count(); ++i) {
    if (view.input(i).present()) return std::nullopt;
  }
  for (int i = 1; i < view.output_count(); ++i) {
    if (view.output(i).present()) return std::nullopt;
  }
  if (view.get_int("is_causal", 0) != 0 || view.get_float("softcap", 0) != 0) return std::nullopt;
  if (view.get_int("left_window_size", -1) != -1 || view.get_int("right_window_size", -1) != -1)
    return std::nullopt;
  if (!has_known_heads(view) || !is_added_mask(view)) return std::nullopt;
  const int64_t queries = view.input(kQuery).extent(2);
  const int64_t depth = view.input(kQuery).extent(3);
  if (depth < 1 || (queries >= 0 && queries <= kFewQueries)) return std::nullopt;
  const int64_t group = view.input(kQuery).extent(1) / view.input(kKey).extent(1);
  Attention found;
  found.nodes = {node};
  found.query.value = index.raw(node).inputs[kQuery];
  found.key = {index.raw(node).inputs[kKey], {0, 1, 3, 2}, group};
  found.value = {index.raw(node).inputs[kValue], {0, 1, 2, 3}, group};
  if (view.input(kMask).present()) found.mask = index.raw(node).inputs[kMask];
  found.target.value = index.raw(node).outputs[0];
  found.scale = view.get_float("scale", 1 / std::sqrt(static_cast<float>(depth)));
  found.is_standard = true;
  return found;
}

}  // namespace

std::optional<Attention> attention_at(const sdk::GraphIndex& index, uint32_t node,
                                      const std::function<bool(uint32_t)>& may_take) {
  const sdk::NodeView view = index.node(node);
  if (!view.domain().empty()) return std::nullopt;
  if (view.op_type() == "Attention") return standard_attention(index, node);
  if (view.op_type() != "Softmax") return std::nullopt;
  const int rank = view.input(0).rank();
  if (rank != kRank && rank != kRank - 1) return std::nullopt;
  return Finder(index, may_take).around(node);
}

}  // namespace gantry::x86
