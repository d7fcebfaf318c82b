// SPDX-License-Identifier: Apache-2.0
// Mean and squares of numbers, put together from those of parts of them: a sum of squares would lose
// a variance that is small beside the mean. C: given.
struct Moments {
  C count, mean, square;  // square: of distances from the mean, added
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

// Of what all threads of the block have, `count` numbers.
inline Moments joined(const Moments& own, C count, C* room) {
  Moments all = {count, 0, 0};
#ifdef CENTERED
  all.mean = block_sum(own.count * own.mean, room) / count;
#endif
  const C distance = own.mean - all.mean;
  all.square = block_sum(own.square + own.count * distance * distance, room);
  return all;
}
