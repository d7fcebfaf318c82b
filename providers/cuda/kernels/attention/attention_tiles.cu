// SPDX-License-Identifier: Apache-2.0
// Attention of many queries of 16-bit floats by tensor cores (tensor_cores.cu), without a matrix of
// scores. Each of QUERY_WARPS groups of warps has 16 queries of a head. A block loads the visible
// keys in strips of STRIP, of which each of the KEY_WARPS warps of a group takes a part. Head
// widths WIDTH and V_WIDTH are multiples of 8, padded with zeros to multiples of 16. T of the
// tensors, M of the mask, C (float), MASK_KIND, STRIP, WIDTH, V_WIDTH, QUERY_WARPS and KEY_WARPS:
// given.
#define QUERIES (QUERY_WARPS * 16)
#define THREADS (QUERY_WARPS * KEY_WARPS * 32)
#define KEYS (STRIP / KEY_WARPS)  // keys of a strip per warp; a multiple of 16
#define STEPS ((WIDTH + 15) / 16)
#define V_STEPS ((V_WIDTH + 15) / 16)
// Chunks per row, rounded up to a count that tensor_cores.cu supports.
#define ROW_CHUNKS (WIDTH > 64 ? 16 : WIDTH > 32 ? 8 : 4)
#define V_ROW_CHUNKS (V_WIDTH > 64 ? 16 : V_WIDTH > 32 ? 8 : 4)
#define STRIP_CHUNKS (STRIP * ROW_CHUNKS)
// Layout of shared memory: queries, strips of keys and values, partial results of warps.
#define TILE_CHUNKS (STRIP_CHUNKS + STRIP * V_ROW_CHUNKS)
#define REDUCTION_CHUNKS (QUERY_WARPS * (KEY_WARPS - 1) * (V_STEPS * 8 + 4) * 8)
#define SCRATCH_CHUNKS (REDUCTION_CHUNKS > TILE_CHUNKS ? REDUCTION_CHUNKS : TILE_CHUNKS)

// Starts copying rows [first, first + ROWS) of `count`; row(index) is a row's address.
template <int ROWS, int ELEMENTS, int CHUNKS, class Row>
inline void fetch_rows(Chunk* tile, i64 first, i64 count, const Row& row) {
  const int filled = (ELEMENTS + 15) / 16 * 2;  // chunks of a row that are read, padding included
  for (int i = (int)threadIdx.x; i < ROWS * filled; i += THREADS) {
    const int r = i / filled, chunk = i % filled;
    const bool is_there = first + r < count && chunk * 8 < ELEMENTS;
    fetch(tile + chunk_position<CHUNKS>(r, chunk),
          row(is_there ? first + r : 0) + (is_there ? chunk * 8 : 0), is_there);
  }
}

// Maximum or sum over the four threads that share rows.
inline float quad_largest(float x) {
  x = larger(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return larger(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// The online softmax of a warp's queries; each thread has rows g and g + 8.
struct Strips {
  float sums[V_STEPS * 2][4];  // sums of values, in the fragment layout of multiply_add
  float most[2], total[2];     // of the scores; the total of this thread's alone
};

// Adds the scores and values of a warp's keys.
inline void take_scores(Strips& strips, float (*scores)[4], const Chunk* values, int key) {
  const int lane = (int)threadIdx.x % 32;
  float factor[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = Limits<float>::below();
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j)
      most = larger(most, larger(scores[j][2 * r], scores[j][2 * r + 1]));
    most = larger(strips.most[r], quad_largest(most));
    // Before the first visible key there is nothing to scale, and inf - inf is NaN.
    const float least = most == Limits<float>::below() ? 0 : most;
    factor[r] = exp_(strips.most[r] - least);
    float total = 0;
#pragma unroll
    for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
      for (int e = 2 * r; e < 2 * r + 2; ++e) {
        scores[j][e] = exp_(scores[j][e] - least);
        total += scores[j][e];
      }
    }
    strips.most[r] = most;
    strips.total[r] = strips.total[r] * factor[r] + total;
  }
#pragma unroll
  for (int j = 0; j < V_STEPS * 2; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) strips.sums[j][e] *= factor[e / 2];
  }
#pragma unroll
  for (int step = 0; step < KEYS / 16; ++step) {
    // The fragment layout of the scores of 16 keys is that of a left operand.
    u32 weights[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weights[i] =
          pair_of(scores[2 * step + i / 2][i % 2 * 2], scores[2 * step + i / 2][i % 2 * 2 + 1]);
#pragma unroll
    for (int j = 0; j < V_STEPS; ++j) {
      u32 right[4];
      const int row = key + step * 16 + lane % 16;
      load_matrices<true>(right, values + chunk_position<V_ROW_CHUNKS>(row, j * 2 + lane / 16));
      multiply_add(strips.sums[2 * j], weights, right);
      multiply_add(strips.sums[2 * j + 1], weights, right + 2);
    }
  }
}

// Merges the softmax states of warps that share queries, in the first of them.
#if KEY_WARPS > 1
inline void reduce_warps(Strips& strips, float* scratch) {
  const int query_warp = (int)threadIdx.x / 32 / KEY_WARPS;
  const int key_warp = (int)threadIdx.x / 32 % KEY_WARPS;
  const int count = V_STEPS * 8 + 4;
  // Adjacent addresses for adjacent threads.
  const auto at = [&](int warp, int i) -> float& {
    return scratch[((query_warp * (KEY_WARPS - 1) + warp - 1) * count + i) * 32 +
                   (int)threadIdx.x % 32];
  };
  __syncthreads();  // all warps have finished reading the strips
  if (key_warp > 0) {
#pragma unroll
    for (int i = 0; i < V_STEPS * 8; ++i) at(key_warp, i) = strips.sums[i / 4][i % 4];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      at(key_warp, V_STEPS * 8 + r) = strips.most[r];
      at(key_warp, V_STEPS * 8 + 2 + r) = strips.total[r];
    }
  }
  __syncthreads();
  if (key_warp > 0) return;
  for (int warp = 1; warp < KEY_WARPS; ++warp) {
    float own[2], other[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float theirs = at(warp, V_STEPS * 8 + r);
      const float most = larger(strips.most[r], theirs);
      const float least = most == Limits<float>::below() ? 0 : most;
      own[r] = exp_(strips.most[r] - least);
      other[r] = exp_(theirs - least);
      strips.most[r] = most;
      strips.total[r] = strips.total[r] * own[r] + at(warp, V_STEPS * 8 + 2 + r) * other[r];
    }
#pragma unroll
    for (int i = 0; i < V_STEPS * 8; ++i)
      strips.sums[i / 4][i % 4] =
          strips.sums[i / 4][i % 4] * own[i % 4 / 2] + at(warp, i) * other[i % 4 / 2];
  }
}
#endif

KERNEL(AttentionParameters) {
  __shared__ Chunk scratch[SCRATCH_CHUNKS];
  Chunk* const keys = scratch;
  Chunk* const values = scratch + STRIP_CHUNKS;
  const int lane = (int)threadIdx.x % 32;
  const int query_warp = (int)threadIdx.x / 32 / KEY_WARPS;
  const int first_key = (int)threadIdx.x / 32 % KEY_WARPS * KEYS;  // of the warp, in a strip
  const u32 tiles = (u32)(p.q_length + QUERIES - 1) / QUERIES;
  // The last queries first: with a causal mask they see most keys.
  const int first = (int)(tiles - 1 - blockIdx.x % tiles) * QUERIES;
  const int head = (int)(blockIdx.x / tiles % p.q_heads);
  const i64 batch = blockIdx.x / tiles / p.q_heads;
  const int last = (first + QUERIES < p.q_length ? first + QUERIES : p.q_length) - 1;
  const i64 begin = keys_seen(p, batch, first).begin;
  const i64 end = keys_seen(p, batch, last).end;
  const int kv_head = head / (p.q_heads / p.kv_heads);
  const T* const query = (const T*)p.queries + batch * p.q.batch + head * p.q.head;
  // Past keys and values come first.
  const auto row_of = [&](const void* past, const HeadStrides& past_strides, const void* fresh,
                          const HeadStrides& strides) {
    const T* const before =
        (const T*)past + batch * past_strides.batch + kv_head * past_strides.head;
    const T* const from = (const T*)fresh + batch * strides.batch + kv_head * strides.head;
    const i64 past_row = past_strides.row, row = strides.row, count = p.k_past;
    return [=](i64 number) {
      return number < count ? before + number * past_row : from + (number - count) * row;
    };
  };
  const auto key_row = row_of(p.past_keys, p.past_k, p.keys, p.k);
  const auto value_row = row_of(p.past_values, p.past_v, p.values, p.v);

  fetch_rows<QUERIES, WIDTH, ROW_CHUNKS>(scratch, first, p.q_length,
                                         [&](i64 number) { return query + number * p.q.row; });
  end_group();
  await_groups<0>();
  __syncthreads();
  u32 left[STEPS][4];
#pragma unroll
  for (int step = 0; step < STEPS; ++step)
    load_matrices<false>(
        left[step],
        scratch + chunk_position<ROW_CHUNKS>(query_warp * 16 + lane % 16, step * 2 + lane / 16));
  __syncthreads();

  Strips strips;
#pragma unroll
  for (int i = 0; i < V_STEPS * 8; ++i) strips.sums[i / 4][i % 4] = 0;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    strips.most[r] = Limits<float>::below();
    strips.total[r] = 0;
  }
  KeyRange seen[2];
  int at[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    at[r] = first + query_warp * 16 + lane / 4 + 8 * r;
    if (at[r] > last) at[r] = last;  // out of range: computed, but not written
    seen[r] = keys_seen(p, batch, at[r]);
  }
  if (begin < end) fetch_rows<STRIP, WIDTH, ROW_CHUNKS>(keys, begin, end, key_row);
  end_group();
  for (i64 strip = begin; strip < end; strip += STRIP) {
    fetch_rows<STRIP, V_WIDTH, V_ROW_CHUNKS>(values, strip, end, value_row);
    end_group();
    await_groups<1>();
    __syncthreads();
    float scores[KEYS / 8][4];
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i) scores[i / 4][i % 4] = 0;
#pragma unroll
    for (int j = 0; j < KEYS / 16; ++j) {
      const int row = first_key + j * 16 + lane / 16 * 8 + lane % 8;
#pragma unroll
      for (int step = 0; step < STEPS; ++step) {
        u32 right[4];
        load_matrices<false>(right,
                             keys + chunk_position<ROW_CHUNKS>(row, step * 2 + lane / 8 % 2));
        multiply_add(scores[2 * j], left[step], right);
        multiply_add(scores[2 * j + 1], left[step], right + 2);
      }
    }
    __syncthreads();
    // The scores are finished while the next keys are copied.
    if (strip + STRIP < end)
      fetch_rows<STRIP, WIDTH, ROW_CHUNKS>(keys, strip + STRIP, end, key_row);
    end_group();
#pragma unroll
    for (int i = 0; i < KEYS / 2; ++i) {
      const int r = i % 4 / 2;
      const i64 key = strip + first_key + i / 4 * 8 + lane % 4 * 2 + i % 2;
      float& score = scores[i / 4][i % 4];
      score = key >= seen[r].begin && key < seen[r].end
                  ? finished_score(p, score * p.scale, batch, head, at[r], key)
                  : Limits<float>::below();
    }
    await_groups<1>();
    __syncthreads();
    take_scores(strips, scores, values, first_key);
    __syncthreads();
  }
  await_groups<0>();
#if KEY_WARPS > 1
  reduce_warps(strips, (float*)scratch);
  if (first_key > 0) return;
#endif
  T* const result = (T*)p.result + batch * p.y.batch + head * p.y.head;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float total = quad_sum(strips.total[r]);
    const int row = first + query_warp * 16 + lane / 4 + 8 * r;
    const float scale = total == 0 ? 0 : 1 / total;
#pragma unroll
    for (int j = 0; j < V_STEPS * 2; ++j) {
      const int column = j * 8 + lane % 4 * 2;
      if (row <= last && column < V_WIDTH)
        *(u32*)(result + row * p.y.row + column) =
            pair_of(strips.sums[j][2 * r] * scale, strips.sums[j][2 * r + 1] * scale);
    }
  }
}
