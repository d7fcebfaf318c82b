// SPDX-License-Identifier: Apache-2.0
// Tensor core instructions for 16-bit floats, and asynchronous copies of tiles of T (f16 or bf16)
// to shared memory. All functions are called by whole warps. A row of a tile has CHUNKS (4, 8 or
// 16) chunks of 8 elements, 16 bytes each. Chunks are swizzled, so that eight rows that are read at
// once use all banks.
template <int CHUNKS>
inline int chunk_position(int row, int chunk) {
  return row * CHUNKS + (chunk ^ (CHUNKS == 4 ? row / 2 % 4 : row % 8));
}

struct alignas(16) Chunk {
  T at[8];
};

#ifdef GANTRY_EMULATED
// Emulation: the pending copies of each thread. They are carried out when they are waited for;
// until then their targets are NaN.
struct EmulatedFetch {
  Chunk* to;
  const void* from;
  int group;
};
static EmulatedFetch emulated_fetches[1024][64];
static int emulated_fetch_count[1024], emulated_group[1024];
#endif

// Starts an asynchronous copy of a chunk from global memory; zeros if it is out of range.
inline void fetch(Chunk* to, const T* from, bool is_there) {
#ifdef GANTRY_EMULATED
  __builtin_memset(to, 0xff, 16);
  emulated_fetches[threadIdx.x][emulated_fetch_count[threadIdx.x]++] = {
      to, is_there ? (const void*)from : nullptr, emulated_group[threadIdx.x]};
#else
  const u32 address = (u32)__cvta_generic_to_shared(to);
  const int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
               : "memory");
#endif
}
// Commits the copies since the last call as a group, which may be empty.
inline void end_group() {
#ifdef GANTRY_EMULATED
  ++emulated_group[threadIdx.x];
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for all groups of this thread but the newest LEFT. Other threads see the data after a
// barrier.
template <int LEFT>
inline void await_groups() {
#ifdef GANTRY_EMULATED
  int kept = 0;
  for (int i = 0; i < emulated_fetch_count[threadIdx.x]; ++i) {
    const EmulatedFetch one = emulated_fetches[threadIdx.x][i];
    if (one.group >= emulated_group[threadIdx.x] - LEFT) {
      emulated_fetches[threadIdx.x][kept++] = one;
    } else if (one.from) {
      *one.to = *(const Chunk*)one.from;
    } else {
      __builtin_memset(one.to, 0, 16);
    }
  }
  emulated_fetch_count[threadIdx.x] = kept;
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

// Loads four 8 x 8 matrices (ldmatrix): thread 8 i + r passes the address of row r of matrix i.
// Thread 4 g + t gets elements 2 t and 2 t + 1 of row g of each, or, TRANSPOSED, of column g.
template <bool TRANSPOSED>
inline void load_matrices(u32* matrices, const Chunk* row) {
#ifdef GANTRY_EMULATED
  static const T* rows[1024];
  const int first = (int)threadIdx.x & ~31;
  const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
  rows[threadIdx.x] = row->at;
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    const T* const* matrix = rows + first + 8 * i;
    const T low = TRANSPOSED ? matrix[2 * t][g] : matrix[g][2 * t];
    const T high = TRANSPOSED ? matrix[2 * t + 1][g] : matrix[g][2 * t + 1];
    matrices[i] = (u32)low.bits | (u32)high.bits << 16;
  }
  __syncwarp();
#else
  const u32 address = (u32)__cvta_generic_to_shared(row);
  if (TRANSPOSED) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(address)
                 : "memory");
  }
#endif
}

// Two elements packed for a multiplication, the first in the lower half.
inline u32 pair_of(float low, float high) {
  return (u32)store<T>(low).bits | (u32)store<T>(high).bits << 16;
}

#ifdef GANTRY_EMULATED
inline void emulated_floats(float* to, u32 pair) {
  for (int i = 0; i < 2; ++i) {
    T element;
    element.bits = (u16)(pair >> i * 16);
    to[i] = load(element);
  }
}
#else
inline void multiply_add_of(f16, float* c, const u32* a, const u32* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
inline void multiply_add_of(bf16, float* c, const u32* a, const u32* b) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// c += a b of 16 x 16 and 16 x 8 elements, in the fragment layout of the instruction: thread 4 g +
// t has of a the pairs of columns 2 t and 2 t + 8 of rows g and g + 8 (rows first), of b the pairs
// of rows 2 t and 2 t + 8 of column g, of c elements 2 t and 2 t + 1 of rows g and g + 8.
inline void multiply_add(float* c, const u32* a, const u32* b) {
#ifdef GANTRY_EMULATED
  // What each thread gives, as pairs of floats.
  static float left[1024][4][2], right[1024][2][2];
  const int first = (int)threadIdx.x & ~31;
  const int lane = (int)threadIdx.x & 31;
  for (int i = 0; i < 4; ++i) emulated_floats(left[threadIdx.x][i], a[i]);
  for (int i = 0; i < 2; ++i) emulated_floats(right[threadIdx.x][i], b[i]);
  __syncwarp();
  for (int i = 0; i < 4; ++i) {
    const int column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      c[i] += left[first + lane / 4 * 4 + k % 8 / 2][i / 2 + k / 8 * 2][k % 2] *
              right[first + column * 4 + k % 8 / 2][k / 8][k % 2];
    }
  }
  __syncwarp();
#else
  multiply_add_of(T(), c, a, b);
#endif
}
