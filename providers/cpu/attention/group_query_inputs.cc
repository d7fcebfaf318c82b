// SPDX-License-Identifier: Apache-2.0
#include "attention/group_query_inputs.h"

#include <gantry/provider.h>

#include <cstdint>

namespace gantry::cpu {

std::string GroupQuery::refusal(const sdk::NodeView& node) {
  const int64_t heads = node.get_int("num_heads", 0);
  const int64_t kv_heads = node.get_int("kv_num_heads", 0);
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
    return "num_heads is not a multiple of kv_num_heads";
  for (int slot = kFirstUnsupported; slot < kInputs; ++slot) {
    if (node.input(slot).present())
      return "scales of quantized caches and weights of norms are not supported";
  }
  if (node.output(3).present()) return "the scores are wanted as an output";
  if (node.get_int("sliding_window_cache", 0) != 0) return "a cache that slides is not supported";
  if (node.get_int("causal", 1) == 0 || node.get_int("local_window_size", -1) == 0)
    return "queries that see later keys or none are not supported";
  if (node.get_int("kv_cache_bit_width", 0) != 0 ||
      node.get_string("k_quant_type", "NONE") != "NONE" ||
      node.get_string("v_quant_type", "NONE") != "NONE")
    return "quantized caches are not supported";
  if (node.input(kPastKey).present() != node.input(kPastValue).present() ||
      node.input(kKey).present() != node.input(kValue).present())
    return "keys and values, past or new, must both be given";
  if (node.get_int("do_rotary", 0) != 0) {
    for (const int slot : {kCosines, kSines}) {
      if (!node.input(slot).present()) return "cos_cache or sin_cache is missing";
      if (node.input(slot).dtype() != GANTRY_FLOAT) return "its tables are not of float32";
    }
  }
  for (const int slot : {kLastKeys, kTotal}) {
    if (node.input(slot).dtype() != GANTRY_INT32) return "numbers of keys are not of int32";
  }
  if (node.input(kPositions).present() && node.input(kPositions).dtype() != GANTRY_INT64)
    return "position_ids are not of int64";
  for (const int slot : {kKey, kValue, kPastKey, kPastValue, kBias, kSinks}) {
    if (node.input(slot).present() && node.input(slot).dtype() != GANTRY_FLOAT)
      return "its keys, values, biases and sinks are not of float32";
  }
  return {};
}

}  // namespace gantry::cpu
