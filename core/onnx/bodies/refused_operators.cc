// SPDX-License-Identifier: Apache-2.0
#include "onnx/bodies/refused_operators.h"

#include <algorithm>
#include <iterator>

namespace gantry {
namespace {

struct RefusedOperator {
  std::string_view op_type;
  std::string_view why;
};

constexpr std::string_view kHashes = "hashes of n-grams with a state";

// The operators of docs/operators-com-microsoft.md that are not supported.
constexpr RefusedOperator kRefused[] = {
    {"AttnLSTM", "the attention wrapper of LSTM that nothing exports any more"},
    {"MatMulFpQ4", "weights packed for one CPU; use MatMulNBits"},
    {"MaxpoolWithMask", "a maximum that a mask cuts short"},
    {"NGramHashMapping", kHashes},
    {"VarlenNGramHashMapping", kHashes},
    {"WordConvEmbedding", "characters of words by a convolution"},
};

}  // namespace

std::string_view why_not_built(std::string_view domain, std::string_view op_type) {
  if (domain != "com.microsoft") return {};
  const auto* found = std::find_if(std::begin(kRefused), std::end(kRefused),
                                   [&](const auto& row) { return row.op_type == op_type; });
  return found == std::end(kRefused) ? std::string_view{} : found->why;
}

}  // namespace gantry
