// SPDX-License-Identifier: Apache-2.0
// The zero point of a block. BITS, ZEROS (0: half of the range, 1: packed, 2: of the type Z), Z, C:
// given.
inline C zero_of(const NBitsMatmulParameters& p, i64 column, i64 block) {
#if ZEROS == 2
  return (C)load(((const Z*)p.zeros)[column * p.blocks + block]);
#elif ZEROS == 1 && BITS == 8
  return (C)((const u8*)p.zeros)[column * p.blocks + block];
#elif ZEROS == 1
  const u8 pair = ((const u8*)p.zeros)[column * p.zero_bytes + block / 2];
  return (C)(block % 2 ? pair >> 4 : pair & 15);
#else
  return (C)(1 << (BITS - 1));
#endif
}
