// SPDX-License-Identifier: Apache-2.0
// The range [begin, end) of keys that are visible to query `at` of a batch row.
struct KeyRange {
  i64 begin, end;
};

inline i64 clamped(i64 count, i64 most) { return count < 0 ? 0 : count < most ? count : most; }

// Valid keys of a batch row; memory behind them is undefined.
inline i64 filled_keys(const AttentionParameters& p, i64 batch) {
  if (p.lengths) return clamped(p.lengths[batch], p.key_limit);
  if (!p.positions.last_keys) return p.key_limit;
  const i64 given = (i64)p.positions.last_keys[batch] + 1;
  const i64 written = first_position(p.positions, batch, p.q_length) + p.q_length;
  return clamped(given > written ? given : written, p.key_limit);
}

inline KeyRange keys_seen(const AttentionParameters& p, i64 batch, int at) {
  i64 count = filled_keys(p, batch);
  i64 own = at + first_position(p.positions, batch, p.q_length);
  if (p.lengths) own = at + p.lengths[batch] - p.q_length;
  if (p.positions.last_keys && !p.is_causal)
    count = clamped((i64)p.positions.last_keys[batch] + 1, count);
  KeyRange range = {0, count};
  if (p.is_causal && own + 1 < range.end) range.end = own + 1;
  if (p.right >= 0 && own + p.right + 1 < range.end) range.end = own + p.right + 1;
  if (p.left >= 0 && own - p.left > range.begin) range.begin = own - p.left;
  return range;
}

// A score with soft cap, addend and mask. T of the addend, M of the mask, C computed with,
// MASK_KIND (MASK_ADDED to MASK_OF_LENGTHS): given.
inline C finished_score(const AttentionParameters& p, C score, i64 batch, int head, int at,
                        i64 key) {
  if (p.softcap > 0) score = tanh_(score / (C)p.softcap) * (C)p.softcap;
  if (p.added) {
    const i64 position = batch * p.added_batch + head * p.added_head + at * p.added_row + key;
    score += (C)load(((const T*)p.added)[position]);
  }
  if (!p.mask) return score;
  const i64 position = batch * p.mask_batch + head * p.mask_head + at * p.mask_row;
#if MASK_KIND == MASK_OF_LENGTHS
  return key < (i64)((const M*)p.mask)[position] ? score : score + (C)p.filter;
#else
  const M mask = ((const M*)p.mask)[position + key];
#if MASK_KIND == MASK_KEEPS
  return mask ? score : Limits<C>::below();
#elif MASK_KIND == MASK_FILTERS
  return mask > 0 ? score : score + (C)p.filter;
#else
  const C added = (C)load(mask);
  return added == Limits<C>::below() ? added : score + added;
#endif
#endif
}
