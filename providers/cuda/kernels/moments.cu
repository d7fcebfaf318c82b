// SPDX-License-Identifier: Apache-2.0
// Mean and squared deviations, merged from those of parts (Chan et al.): a sum of squares would
// lose a variance that is small compared to the mean. C: given.
struct Moments {
  C count, mean, square;  // square: sum of squared deviations
  void take(C more, C other_mean, C other_square) {
    const C together = count + more;
#ifdef CENTERED
    const C distance = other_mean - mean;
    mean += distance * (more / together);
    other_square += distance * distance * (count * more / together);
#endif
    square += other_square;
    count = together;
  }
};

// Merges the moments of all threads of the block; `count`: number of elements.
inline Moments block_moments(const Moments& own, C count, C* scratch) {
  Moments all = {count, 0, 0};
#ifdef CENTERED
  all.mean = block_sum(own.count * own.mean, scratch) / count;
#endif
  const C distance = own.mean - all.mean;
  all.square = block_sum(own.square + own.count * distance * distance, scratch);
  return all;
}
