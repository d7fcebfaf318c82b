// SPDX-License-Identifier: Apache-2.0
// Several 2-D copies in one launch; each has a range of blocks. Word, Index: given.
KERNEL(RowsCopyParameters) {
  int number = 0;
  unsigned first_block = 0;
  while (blockIdx.x >= p.parts[number].last_block) first_block = p.parts[number++].last_block;
  const RowsPart& part = p.parts[number];
  const Index step = (Index)(part.last_block - first_block) * blockDim.x;
  for (Index i = (Index)(blockIdx.x - first_block) * blockDim.x + threadIdx.x;
       i < (Index)part.count; i += step) {
    const Index row = quotient(i, part.row);
    const i64 at = (i64)(i - row * (Index)part.row.divisor);
    ((Word*)part.target)[(i64)row * part.target_pitch + at] =
        ((const Word*)part.source)[(i64)row * part.source_pitch + at];
  }
}
