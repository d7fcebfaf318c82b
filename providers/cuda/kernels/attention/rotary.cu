// SPDX-License-Identifier: Apache-2.0
// Rotary embedding: rotates pairs of elements of each head, and copies the rest. One thread per
// pair or copied element. Index, T of the tensors, S of the caches, C computed with: given.
KERNEL(RotaryParameters) {
  FOR_EACH(i, p.count) {
    const Index in_order = quotient(i, p.items);  // of heads
    const i64 item = (i64)(i - in_order * (Index)p.items.divisor);
    const Index row_of_tokens = quotient(in_order, p.heads);
    const i64 head = (i64)(in_order - row_of_tokens * (Index)p.heads.divisor);
    const i64 batch = (i64)quotient(row_of_tokens, p.length);
    const i64 token = (i64)row_of_tokens - batch * (i64)p.length.divisor;
    const i64 at = batch * p.batch_stride + token * p.token_stride + head * p.head_stride;
    const T* x = (const T*)p.source + at;
    T* y = (T*)p.result + at;
    if (item >= p.pairs) {
      y[item + p.pairs] = x[item + p.pairs];
      continue;
    }
    i64 row = (i64)row_of_tokens;
    if (p.is_offset) {
      row = p.position[0] + token;
    } else if (p.position) {
      row = p.position[row];
    }
    // A position outside of the caches reads the nearest row: a kernel cannot report an error.
    row = row < 0 ? 0 : row < p.cache_rows ? row : p.cache_rows - 1;
    const C cosine = (C)load(((const S*)p.cosines)[row * p.pairs + item]);
    const C sine = (C)load(((const S*)p.sines)[row * p.pairs + item]);
    const i64 first = p.is_interleaved ? 2 * item : item;
    const i64 second = p.is_interleaved ? 2 * item + 1 : item + p.pairs;
    const C a = (C)load(x[first]);
    const C b = (C)load(x[second]);
    y[first] = store<T>(cosine * a - sine * b);
    y[second] = store<T>(sine * a + cosine * b);
  }
}
