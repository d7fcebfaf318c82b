// SPDX-License-Identifier: Apache-2.0
// The keys that query `at` of a row of the batch sees: [begin, end).
struct KeyRange {
  i64 begin, end;
};

inline KeyRange keys_seen(const AttentionParameters& p, i64 batch, int at) {
  i64 count = p.key_limit;
  i64 own = at + p.past;
  if (p.lengths) {
    const i64 given = p.lengths[batch];
    own = at + given - p.q_length;
    count = given < 0 ? 0 : given < count ? given : count;
  }
  KeyRange range = {0, count};
  if (p.is_causal && own + 1 < range.end) range.end = own + 1;
  if (p.right >= 0 && own + p.right + 1 < range.end) range.end = own + p.right + 1;
  if (p.left >= 0 && own - p.left > range.begin) range.begin = own - p.left;
  return range;
}

// A score with the cap and the mask. M of the mask, C computed with, MASK_IS_BOOL: given.
inline C finished_score(const AttentionParameters& p, C score, i64 batch, int head, int at, i64 key) {
  if (p.softcap > 0) score = tanh_(score / (C)p.softcap) * (C)p.softcap;
  if (!p.mask) return score;
  const M mask = ((const M*)p.mask)[batch * p.mask_batch + head * p.mask_head + at * p.mask_row + key];
#if MASK_IS_BOOL
  return mask ? score : Limits<C>::below();
#else
  const C added = (C)load(mask);
  return added == Limits<C>::below() ? added : score + added;
#endif
}
