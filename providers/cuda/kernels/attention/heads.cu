// SPDX-License-Identifier: Apache-2.0
// Prepares heads of queries, keys and values for attention: adds biases, applies the rotary
// embedding, writes keys and values to their positions in a cache. Blocks loop over the heads of
// all tokens. T of the tensors, S of the cosines, C computed with: given.
inline C with_bias(const MovedHeads& part, const T* x, int head, int at) {
  const C value = (C)load(x[at]);
  return part.bias ? value + (C)load(((const T*)part.bias)[head * part.width + at]) : value;
}

KERNEL(HeadsParameters) {
  const int heads = p.parts[0].heads + p.parts[1].heads + p.parts[2].heads;
  for (i64 number = blockIdx.x; number < p.blocks; number += gridDim.x) {
    const i64 token = number / heads;
    int head = (int)(number % heads);
    int which = 0;
    while (head >= p.parts[which].heads) head -= p.parts[which++].heads;
    const MovedHeads& part = p.parts[which];
    const i64 batch = token / p.length;
    const int at = (int)(token % p.length);
    const i64 position = first_position(p.positions, batch, p.length) + at;
    const i64 row = part.is_cached ? position : at;
    // A position outside of the cache is not written: a kernel cannot report an error.
    if (part.is_cached && (position < 0 || position >= p.capacity)) continue;
    const T* x = (const T*)part.source + batch * part.from.batch + head * part.from.head +
                 at * part.from.row;
    T* y = (T*)part.target + batch * part.to.batch + head * part.to.head + row * part.to.row;
    const int pairs = part.is_rotated ? p.pairs : 0;
    i64 angle = p.angles ? p.angles[token] : position;
    angle = angle < 0 ? 0 : angle < p.angle_rows ? angle : p.angle_rows - 1;
    for (int i = threadIdx.x; i < part.width - pairs; i += blockDim.x) {
      if (i >= pairs) {
        y[i + pairs] = store<T>(with_bias(part, x, head, i + pairs));
        continue;
      }
      const int first = p.is_interleaved ? 2 * i : i;
      const int second = p.is_interleaved ? 2 * i + 1 : i + pairs;
      const C cosine = (C)load(((const S*)p.cosines)[angle * pairs + i]);
      const C sine = (C)load(((const S*)p.sines)[angle * pairs + i]);
      const C a = with_bias(part, x, head, first);
      const C b = with_bias(part, x, head, second);
      y[first] = store<T>(cosine * a - sine * b);
      y[second] = store<T>(sine * a + cosine * b);
    }
  }
}
