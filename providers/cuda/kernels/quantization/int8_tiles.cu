// SPDX-License-Identifier: Apache-2.0
// Multiplies signed int8 matrices by tensor cores. A block of 256 threads computes a tile of TILE_M
// x TILE_N sums from strips of 64 elements along the inner axis, which both operands have
// contiguous in shared memory. Its 8 warps form a grid with WARPS_M rows. SUMS_LEFT and SUMS_RIGHT
// (0 or 1): whether rows and columns are summed too, for zero points.
#define STRIP 64
#define ROW_WORDS 20  // a strip, plus padding against bank conflicts
#define WARPS_N (8 / WARPS_M)
#define FRAGMENTS_M (TILE_M / WARPS_M / 16)
#define FRAGMENTS_N (TILE_N / WARPS_N / 8)
#define LEFT_WORDS (TILE_M * ROW_WORDS)
#define RIGHT_WORDS (TILE_N * ROW_WORDS)
// Vectors of 16 elements that a thread loads per strip.
#define LEFT_VECTORS ((TILE_M * 4 + 255) / 256)
#define RIGHT_VECTORS ((TILE_N * 4 + 255) / 256)

typedef Pack<u32, 4> Vector;

inline i32 dot(u32 a, u32 b) {
#ifdef GANTRY_EMULATED
  i32 sum = 0;
  for (int i = 0; i < 32; i += 8) sum += (i32)(i8)(a >> i) * (i32)(i8)(b >> i);
  return sum;
#else
  return __dp4a((int)a, (int)b, 0);
#endif
}

// c += a b of 16 x 32 and 32 x 8 numbers, in the fragment layout of the instruction: thread 4 g + t
// has words t and t + 4 of rows g and g + 8 of a and of column g of b, and of c elements 2 t and 2
// t + 1 of rows g and g + 8.
inline void multiply_add(u32* c, const u32* a, const u32* b) {
#ifdef GANTRY_EMULATED
  static u32 left[1024][4], right[1024][2];
  const int first = (int)threadIdx.x & ~31;
  const int lane = (int)threadIdx.x & 31;
  for (int i = 0; i < 4; ++i) left[threadIdx.x][i] = a[i];
  for (int i = 0; i < 2; ++i) right[threadIdx.x][i] = b[i];
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    const int column = lane % 4 * 2 + i % 2;
    for (int word = 0; word < 8; ++word)
      c[i] += (u32)dot(left[first + lane / 4 * 4 + word % 4][i / 2 + word / 4 * 2],
                       right[first + column * 4 + word % 4][word / 4]);
  }
  __syncwarp();
#else
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// A thread's part of the sums.
struct Tile {
  u32 sums[FRAGMENTS_M][FRAGMENTS_N][4];
  u32 own_sum;  // of row threadIdx.x, or of a column
};

// The sum of a row's strip, for the thread of the same index.
inline u32 strip_sum(const u32* row) {
  u32 sum = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Vector words = ((const Vector*)row)[i];
#pragma unroll
    for (int j = 0; j < 4; ++j) sum += (u32)dot(words.at[j], 0x01010101u);
  }
  return sum;
}

inline void multiply_strip(Tile& tile, const u32* left, const u32* right) {
  const int warp = threadIdx.x / 32;
  const int row = warp / WARPS_N * (FRAGMENTS_M * 16) + threadIdx.x % 32 / 4;
  const int column = warp % WARPS_N * (FRAGMENTS_N * 8) + threadIdx.x % 32 / 4;
  const int word = threadIdx.x % 4;
#pragma unroll
  for (int step = 0; step < STRIP / 4; step += 8) {
    u32 a[FRAGMENTS_M][4], b[FRAGMENTS_N][2];
#pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e)
        a[i][e] = left[(row + 16 * i + e % 2 * 8) * ROW_WORDS + step + e / 2 * 4 + word];
    }
#pragma unroll
    for (int j = 0; j < FRAGMENTS_N; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e)
        b[j][e] = right[(column + 8 * j) * ROW_WORDS + step + e * 4 + word];
    }
#pragma unroll
    for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
      for (int j = 0; j < FRAGMENTS_N; ++j) multiply_add(tile.sums[i][j], a[i], b[j]);
    }
  }
#if SUMS_LEFT
  if (threadIdx.x < TILE_M) tile.own_sum += strip_sum(left + threadIdx.x * ROW_WORDS);
#endif
#if SUMS_RIGHT
  if (threadIdx.x >= 256 - TILE_N)
    tile.own_sum += strip_sum(right + (threadIdx.x - (256 - TILE_N)) * ROW_WORDS);
#endif
}

// Position of a thread's vector `v` in a strip of ROWS rows: its row, and its index among the row's
// four vectors. If the operand is contiguous along the inner axis, adjacent threads take adjacent
// vectors.
struct VectorPosition {
  int row, part;
  bool is_there;
};
template <int ROWS>
inline VectorPosition vector_position(int v, bool lies_along) {
  const int number = (int)threadIdx.x + v * 256;
  VectorPosition position;
  position.row = lies_along ? number / 4 : number % ROWS;
  position.part = lies_along ? number % 4 : number / ROWS;
  position.is_there = number < ROWS * 4;
  return position;
}
template <int ROWS>
inline void put_vector(u32* side, int v, bool lies_along, const Vector& vector) {
  const VectorPosition position = vector_position<ROWS>(v, lies_along);
  if (position.is_there) *(Vector*)(side + position.row * ROW_WORDS + position.part * 4) = vector;
}

// Multiplies all strips of a split. left(v, k) and right(v, k) return this thread's vector v of the
// strip at k, zeros out of range. `room`: shared memory for two strips of both operands.
template <class Left, class Right>
inline void multiply_tile(Tile& tile, Vector* scratch, const Share& share, bool left_along,
                          bool right_along, const Left& left, const Right& right) {
  u32* const words = (u32*)scratch;
  Vector lefts[LEFT_VECTORS], rights[RIGHT_VECTORS];
  const auto bring = [&](i64 k) {
#pragma unroll
    for (int v = 0; v < LEFT_VECTORS; ++v) lefts[v] = left(v, k);
#pragma unroll
    for (int v = 0; v < RIGHT_VECTORS; ++v) rights[v] = right(v, k);
  };
#pragma unroll
  for (int i = 0; i < FRAGMENTS_M * FRAGMENTS_N * 4; ++i) (&tile.sums[0][0][0])[i] = 0;
  tile.own_sum = 0;
  bring(share.first);
  int half = 0;
  for (i64 k = share.first; k < share.last; k += STRIP) {
    u32* const strip = words + half * (LEFT_WORDS + RIGHT_WORDS);
#pragma unroll
    for (int v = 0; v < LEFT_VECTORS; ++v) put_vector<TILE_M>(strip, v, left_along, lefts[v]);
#pragma unroll
    for (int v = 0; v < RIGHT_VECTORS; ++v)
      put_vector<TILE_N>(strip + LEFT_WORDS, v, right_along, rights[v]);
    // Double buffering: the other half is overwritten only after this barrier.
    __syncthreads();
    if (k + STRIP < share.last) bring(k + STRIP);
    multiply_strip(tile, strip, strip + LEFT_WORDS);
    half ^= 1;
  }
}

// Calls write(m, n, sum, left_sum, right_sum) for the thread's elements, with their positions in
// the tile. `room`: may be overwritten.
template <class Write>
inline void for_each_sum(const Tile& tile, Vector* scratch, const Write& write) {
  u32* const left_sums = (u32*)scratch;
  u32* const right_sums = left_sums + TILE_M;
#if SUMS_LEFT || SUMS_RIGHT
  __syncthreads();
  if (SUMS_LEFT && threadIdx.x < TILE_M) left_sums[threadIdx.x] = tile.own_sum;
  if (SUMS_RIGHT && threadIdx.x >= 256 - TILE_N)
    right_sums[threadIdx.x - (256 - TILE_N)] = tile.own_sum;
  __syncthreads();
#endif
  const int warp = threadIdx.x / 32;
  const int row = warp / WARPS_N * (FRAGMENTS_M * 16) + threadIdx.x % 32 / 4;
  const int column = warp % WARPS_N * (FRAGMENTS_N * 8) + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < FRAGMENTS_M; ++i) {
#pragma unroll
    for (int j = 0; j < FRAGMENTS_N; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int m = row + 16 * i + e / 2 * 8;
        const int n = column + 8 * j + e % 2;
        write(m, n, tile.sums[i][j][e], SUMS_LEFT ? left_sums[m] : 0,
              SUMS_RIGHT ? right_sums[n] : 0);
      }
    }
  }
}
