// SPDX-License-Identifier: Apache-2.0
#include "fuse/nbits_matmul.h"

#include <gantry/sdk/rows.h>

namespace gantry::cuda {

std::string nbits_matmul_refusal(const sdk::NodeView& node) {
  constexpr int kRowOrder = 4;  // g_idx
  const int64_t bits = node.get_int("bits", 4);
  const int64_t block = node.get_int("block_size", 0);
  if (bits != 4 && bits != 8) return "matrices of other than 4 or 8 bits are not supported";
  if (block < 16 || (block & (block - 1)) != 0)
    return "the length of a block is no power of 2 of 16 or more";
  if (node.input(kRowOrder).present()) return "an order of the rows (g_idx) is not supported";
  return "";
}

bool is_constant_nbits_matmul(const sdk::NodeView& node) {
  constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);
  if (node.op_type() != "MatMulNBits" || node.domain() != "com.microsoft" ||
      (sdk::dtype_bit(node.input(0).dtype()) & kTypes) == 0 || !nbits_matmul_refusal(node).empty())
    return false;
  for (int slot = 1; slot < node.input_count(); ++slot) {
    if (node.input(slot).present() && !node.input(slot).is_constant()) return false;
  }
  return true;
}

}  // namespace gantry::cuda
