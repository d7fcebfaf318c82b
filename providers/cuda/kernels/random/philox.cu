// SPDX-License-Identifier: Apache-2.0
// Random bits by Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1,
// 2, 3; 2011): ten rounds map a 128-bit counter, here the index of four elements and the run
// counter, and a 64-bit key to 128 random bits.
struct Bits {
  u32 at[4];
};

inline Bits philox(u64 counter, u64 run, u64 key) {
  Bits bits = {{(u32)counter, (u32)(counter >> 32), (u32)run, (u32)(run >> 32)}};
  u32 key0 = (u32)key, key1 = (u32)(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 a = (u64)0xD2511F53u * bits.at[0];
    const u64 b = (u64)0xCD9E8D57u * bits.at[2];
    bits = {
        {(u32)(b >> 32) ^ bits.at[1] ^ key0, (u32)b, (u32)(a >> 32) ^ bits.at[3] ^ key1, (u32)a}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return bits;
}

// Uniform in [0, 1), with 53 bits.
inline double uniform_double(u32 high, u32 low) {
  return (double)(((u64)high << 32 | low) >> 11) * 1.1102230246251565e-16;
}
