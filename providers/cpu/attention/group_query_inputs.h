// SPDX-License-Identifier: Apache-2.0
// The inputs of GroupQueryAttention (com.microsoft 1), and the forms that cpu's kernel refuses,
// which have a function body. Pure, any thread.
#pragma once

#include <gantry/sdk/graph.h>

#include <string>

namespace gantry::cpu {

struct GroupQuery {
  enum Input : int {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLastKeys,
    kTotal,
    kCosines,
    kSines,
    kPositions,
    kBias,
    kSinks,
    kFirstUnsupported,
    kInputs = 16
  };

  /// Why the kernel does not compute the node; "": it does.
  static std::string refusal(const sdk::NodeView& node);
};

}  // namespace gantry::cpu
