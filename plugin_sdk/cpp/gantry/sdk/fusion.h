// SPDX-License-Identifier: Apache-2.0
// Fused kernels as rows: a name, a matcher, a refusal, a factory. The matcher is a pure function
// from a root node to a typed match. It runs when nodes are claimed, on the whole graph, and again
// when the claim is compiled, on the claim's nodes, so that one function recognises the pattern.
#pragma once

#include <gantry/sdk/kernel.h>
#include <gantry/sdk/pattern.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gantry::sdk {

/// A graph and the nodes of it that a match may fuse. Borrows the graph; one thread.
class FusionScope {
 public:
  FusionScope(const GraphIndex& index, std::function<bool(uint32_t node)> may_fuse)
      : index_(index), may_fuse_(std::move(may_fuse)) {}

  [[nodiscard]] const GraphIndex& index() const { return index_; }
  /// True if the node is in no other fusion. Matchers need not ask for their root.
  [[nodiscard]] bool may_fuse(uint32_t node) const {
    return node != GANTRY_NONE && may_fuse_(node);
  }
  /// may_fuse() as a function object, for matchers that take one.
  [[nodiscard]] const std::function<bool(uint32_t)>& predicate() const { return may_fuse_; }

  /// The only reader of a value, if it is an `op_type` with `inputs` inputs and may be fused; else
  /// GANTRY_NONE.
  [[nodiscard]] uint32_t only_reader(uint32_t value, std::string_view op_type,
                                     int inputs = kAnyInputs) const {
    const uint32_t node = only_reader_of(index_, value, op_type, inputs);
    return may_fuse(node) ? node : GANTRY_NONE;
  }
  /// The node that makes a value, if it is an `op_type` with `inputs` inputs, may be fused, and the
  /// value has one read only; else GANTRY_NONE.
  [[nodiscard]] uint32_t only_producer(uint32_t value, std::string_view op_type,
                                       int inputs = kAnyInputs) const {
    const uint32_t node = producer_of(index_, value, op_type, inputs);
    return may_fuse(node) && index_.only_reader(value) != GANTRY_NONE ? node : GANTRY_NONE;
  }

 private:
  const GraphIndex& index_;
  std::function<bool(uint32_t)> may_fuse_;
};

/// The nodes of a match. Derive from it, and add the operands, constants and attributes that the
/// kernel needs.
struct FusionMatch {
  FusionMatch() = default;
  FusionMatch(const FusionMatch&) = default;
  FusionMatch& operator=(const FusionMatch&) = default;
  FusionMatch(FusionMatch&&) = default;
  FusionMatch& operator=(FusionMatch&&) = default;
  virtual ~FusionMatch() = default;

  std::vector<uint32_t> nodes;  ///< fused, ascending, the root among them
};

/// What a fused kernel is made from.
struct FusionCompile {
  const FusionScope& scope;
  const gantry_compile& args;
  std::vector<InputSlot> inputs;  ///< of the claim, in the order of the call's inputs

  /// The input slot of the call that holds a value. INTERNAL: no slot of the claim reads it.
  [[nodiscard]] int slot_of(uint32_t value) const {
    const auto found = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const InputSlot& slot) { return slot.value == value; });
    if (found == inputs.end())
      throw Error(GANTRY_INTERNAL, "a fused kernel asks for an operand that its nodes do not read");
    return static_cast<int>(found - inputs.begin());
  }
};

/// A fused kernel. `fusion_row` makes one from typed functions.
struct FusionRow {
  const char* kernel;  ///< name shown to users
  /// Matches the pattern at this root; null: it does not match.
  std::unique_ptr<FusionMatch> (*match)(const FusionScope& scope, uint32_t root);
  /// Empty: the kernel takes the match; else the reason why not, a sentence without a final stop.
  std::string (*refusal)(const FusionScope& scope, const FusionMatch& match);
  std::unique_ptr<Kernel> (*make)(const FusionCompile& compile, const FusionMatch& match);
};

/// The row of a kernel whose match is a `Match`, derived from FusionMatch:
///   std::unique_ptr<Match> match(const FusionScope&, uint32_t root);
///   std::string refusal(const FusionScope&, const Match&);
///   std::unique_ptr<Kernel> make(const FusionCompile&, const Match&);
template <class Match, std::unique_ptr<Match> (*match)(const FusionScope&, uint32_t),
          std::string (*refusal)(const FusionScope&, const Match&),
          std::unique_ptr<Kernel> (*make)(const FusionCompile&, const Match&)>
constexpr FusionRow fusion_row(const char* kernel) {
  return {kernel,
          [](const FusionScope& scope, uint32_t root) -> std::unique_ptr<FusionMatch> {
            return match(scope, root);
          },
          [](const FusionScope& scope, const FusionMatch& found) {
            return refusal(scope, static_cast<const Match&>(found));
          },
          [](const FusionCompile& compile, const FusionMatch& found) {
            return make(compile, static_cast<const Match&>(found));
          }};
}

/// Rows in the order in which they are tried.
struct FusionTable {
  const FusionRow* rows = nullptr;
  size_t count = 0;
};
template <size_t N>
constexpr FusionTable table(const FusionRow (&rows)[N]) {
  return {rows, N};
}

/// The tag of a fusion's claim, from which the compile call finds the match again: the index of the
/// row, and the root's index among the claim's nodes in ascending order.
struct FusionTag {
  uint32_t row = 0;
  uint32_t root_position = 0;

  static FusionTag of(size_t row, const std::vector<uint32_t>& nodes, uint32_t root) {
    const auto found = std::lower_bound(nodes.begin(), nodes.end(), root);
    return {static_cast<uint32_t>(row), static_cast<uint32_t>(found - nodes.begin())};
  }
  static FusionTag from(uint64_t tag) {
    return {static_cast<uint32_t>(tag & UINT32_MAX), static_cast<uint32_t>(tag >> 32)};
  }
  [[nodiscard]] uint64_t tag() const { return uint64_t{root_position} << 32 | row; }
};

/// The nodes of the claim being compiled, and its root.
class ClaimedNodes {
 public:
  /// INVALID_ARGUMENT: the row of the tag is not below `rows`, or its root is no node of the claim.
  ClaimedNodes(const gantry_host* host, const gantry_compile& args, size_t rows)
      : nodes_(sorted(args)), index_(host, *args.graph, nodes_), tag_(FusionTag::from(args.tag)) {
    if (tag_.row >= rows || tag_.root_position >= nodes_.size()) {
      throw Error(GANTRY_INVALID_ARGUMENT,
                  "asked to compile a claim that the provider did not make");
    }
  }
  ClaimedNodes(const ClaimedNodes&) = delete;
  ClaimedNodes& operator=(const ClaimedNodes&) = delete;
  ~ClaimedNodes() = default;

  [[nodiscard]] uint32_t row() const { return tag_.row; }
  [[nodiscard]] uint32_t root() const { return nodes_[tag_.root_position]; }
  [[nodiscard]] const std::vector<uint32_t>& nodes() const { return nodes_; }
  [[nodiscard]] const GraphIndex& index() const { return index_; }
  /// A scope in which only the claim's nodes may be fused.
  [[nodiscard]] FusionScope scope() const {
    return {index_, [this](uint32_t node) {
              return std::binary_search(nodes_.begin(), nodes_.end(), node);
            }};
  }

  /// Checks that compiling found the match that was claimed. INTERNAL: it did not, so the matcher
  /// is not pure.
  void require_same(const char* kernel, const FusionMatch* match) const {
    if (match && match->nodes == nodes_) return;
    throw Error(GANTRY_INTERNAL, std::string(kernel) + ": the match at " +
                                     index_.node(root()).label() + " has " +
                                     std::to_string(match ? match->nodes.size() : 0) +
                                     " nodes when it is compiled, and had " +
                                     std::to_string(nodes_.size()) + " when it was claimed");
  }

 private:
  static std::vector<uint32_t> sorted(const gantry_compile& args) {
    std::vector<uint32_t> nodes(args.nodes, args.nodes + args.node_count);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  std::vector<uint32_t> nodes_;
  GraphIndex index_;
  FusionTag tag_;
};

}  // namespace gantry::sdk
