// SPDX-License-Identifier: Apache-2.0
// The order of TopK. C computed with, Place (the type of an element's index in its row),
// IS_LARGEST: given.
struct Found {
  C value;
  Place number;  // -1: none, ordered after all others
};
// NaN is larger than every number, so that the order is total.
inline bool is_above(C a, C b) { return a != a ? b == b : a > b; }
// Whether a comes before b; equal elements are ordered by index.
inline bool is_before(const Found& a, const Found& b) {
  if (b.number < 0) return a.number >= 0;
  if (a.number < 0) return false;
  if (is_above(a.value, b.value)) return IS_LARGEST;
  if (is_above(b.value, a.value)) return !IS_LARGEST;
  return a.number < b.number;
}
