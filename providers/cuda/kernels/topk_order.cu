// SPDX-License-Identifier: Apache-2.0
// The order that TopK puts elements in. C computed with, Place (the type of an element's number in
// its row), IS_LARGEST: given.
struct Found {
  C value;
  Place number;  // -1: none, which comes after all others
};
// NaN is larger than every number, so that the order is one.
inline bool is_above(C a, C b) { return a != a ? b == b : a > b; }
// Whether a comes before b; equal elements in the order of their numbers.
inline bool is_before(const Found& a, const Found& b) {
  if (b.number < 0) return a.number >= 0;
  if (a.number < 0) return false;
  if (is_above(a.value, b.value)) return IS_LARGEST;
  if (is_above(b.value, a.value)) return !IS_LARGEST;
  return a.number < b.number;
}
