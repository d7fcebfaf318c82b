// SPDX-License-Identifier: Apache-2.0
// Turns 8-bit numbers round so that channels lie side by side, as signed numbers, each group filled
// up with zeros: a block takes 64 places and 64 channels. FLIP: what makes a number signed: given.
#define PLACES 64
#define WORDS 16

KERNEL(ByteTurnParameters) {
  __shared__ u32 room[PLACES][WORDS + 1];
  const u32 tiles = p.tiles_places * p.tiles_words;
  const i64 outer = blockIdx.x / tiles;
  const i64 place = (i64)(blockIdx.x % tiles / p.tiles_words) * PLACES;
  const i64 word = (i64)(blockIdx.x % tiles % p.tiles_words) * WORDS;
  const u8* source = (const u8*)p.source + outer * p.groups * p.channels * p.places;
  const i64 from = place + threadIdx.x % PLACES;
  for (int w = threadIdx.x / PLACES; w < WORDS; w += 4) {
    const i64 group = (word + w) / p.group_words;
    const i64 channel = (word + w) % p.group_words * 4;
    u32 numbers = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (group < p.groups && channel + i < p.channels && from < p.places)
        numbers |= ((u32)source[(group * p.channels + channel + i) * p.places + from] ^ (FLIP & 0xff)) << 8 * i;
    }
    room[threadIdx.x % PLACES][w] = numbers;
  }
  __syncthreads();
  const i64 to = word + threadIdx.x % WORDS;
  u32* result = (u32*)p.result + outer * p.places * p.words;
  for (int i = threadIdx.x / WORDS; i < PLACES; i += 16) {
    if (to < p.words && place + i < p.places) result[(place + i) * p.words + to] = room[i][threadIdx.x % WORDS];
  }
}
