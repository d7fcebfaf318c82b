// SPDX-License-Identifier: Apache-2.0
// The scope of a match of this provider: a graph, the nodes that may be fused, and the options of
// the session. One thread.
#pragma once

#include <gantry/sdk/fusion.h>

#include <functional>
#include <utility>

#include "options.h"

namespace gantry::x86 {

/// Borrows the graph and the options.
class MatchScope : public sdk::FusionScope {
 public:
  MatchScope(const sdk::GraphIndex& index, const Options& options,
             std::function<bool(uint32_t node)> may_fuse)
      : FusionScope(index, std::move(may_fuse)), options_(options) {}

  [[nodiscard]] const Options& options() const { return options_; }
  /// The same graph, in which no node but the root may be fused.
  [[nodiscard]] MatchScope alone() const {
    return {index(), options_, [](uint32_t) { return false; }};
  }

 private:
  const Options& options_;
};

}  // namespace gantry::x86
