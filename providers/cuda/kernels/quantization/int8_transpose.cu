// SPDX-License-Identifier: Apache-2.0
// Transposes int8 tensors to channels-last, signed, with each group padded with zeros: a block
// takes 64 positions and 64 channels. FLIP: mask that makes elements signed: given.
#define POSITIONS 64
#define WORDS 16

KERNEL(Int8TransposeParameters) {
  __shared__ u32 scratch[POSITIONS][WORDS + 1];
  const u32 tiles = p.tiles_positions * p.tiles_words;
  const i64 outer = blockIdx.x / tiles;
  const i64 position = (i64)(blockIdx.x % tiles / p.tiles_words) * POSITIONS;
  const i64 word = (i64)(blockIdx.x % tiles % p.tiles_words) * WORDS;
  const u8* source = (const u8*)p.source + outer * p.groups * p.channels * p.positions;
  const i64 from = position + threadIdx.x % POSITIONS;
  for (int w = threadIdx.x / POSITIONS; w < WORDS; w += 4) {
    const i64 group = (word + w) / p.group_words;
    const i64 channel = (word + w) % p.group_words * 4;
    u32 numbers = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (group < p.groups && channel + i < p.channels && from < p.positions)
        numbers |=
            ((u32)source[(group * p.channels + channel + i) * p.positions + from] ^ (FLIP & 0xff))
            << 8 * i;
    }
    scratch[threadIdx.x % POSITIONS][w] = numbers;
  }
  __syncthreads();
  const i64 to = word + threadIdx.x % WORDS;
  u32* result = (u32*)p.result + outer * p.positions * p.words;
  for (int i = threadIdx.x / WORDS; i < POSITIONS; i += 16) {
    if (to < p.words && position + i < p.positions)
      result[(position + i) * p.words + to] = scratch[i][threadIdx.x % WORDS];
  }
}
