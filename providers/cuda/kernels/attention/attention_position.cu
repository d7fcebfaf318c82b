// SPDX-License-Identifier: Apache-2.0
// The position of a row's first new token among its keys.
inline i64 first_position(const CachePositions& positions, i64 batch, int length) {
  if (!positions.last_keys) return positions.past;
  const bool is_prompt = positions.total ? positions.total[0] == length : positions.is_prompt != 0;
  return is_prompt ? 0 : (i64)positions.last_keys[batch] + 1 - length;
}
