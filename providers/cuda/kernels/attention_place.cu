// SPDX-License-Identifier: Apache-2.0
// The place among the keys of a row's first new token.
inline i64 first_place(const CachePlaces& places, i64 batch, int length) {
  if (!places.last_keys) return places.past;
  const bool is_prompt = places.total ? places.total[0] == length : places.is_prompt != 0;
  return is_prompt ? 0 : (i64)places.last_keys[batch] + 1 - length;
}
