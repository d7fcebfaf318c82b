// SPDX-License-Identifier: Apache-2.0
// Linear attention: a state [keys, values] per head, which each step decays and updates. A block
// has 32 value columns of a head, one per lane, and its warps share the keys: a thread has ROWS
// state elements in registers for all steps. T of the tensors, S of the state, WARPS, ROWS, KEYS
// (WARPS * ROWS, keys out of range are 0), SHARED (query heads per state), HAS_DECAY, HAS_BETA:
// given.
KERNEL(LinearAttentionParameters) {
  __shared__ float keys[KEYS];
  __shared__ float decays[KEYS];
  __shared__ float queries[SHARED * KEYS];
  __shared__ float parts[SHARED * WARPS * 32];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32;
  for (i64 block = blockIdx.x; block < p.blocks; block += gridDim.x) {
    const i64 row = block / p.tiles;  // of [batch, heads]
    const i64 batch = row / p.heads;
    const i64 head = row - batch * p.heads;
    const i64 column = (block - row * p.tiles) * 32 + lane;
    const bool is_in = column < p.values;
    float state[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const i64 key = warp * ROWS + r;
      const bool is_there = p.past && is_in && key < p.keys;
      state[r] = is_there
                     ? (float)load(((const S*)p.past)[(row * p.keys + key) * p.values + column])
                     : 0.0f;
    }
    for (i64 step = 0; step < p.steps; ++step) {
      const i64 position = batch * p.steps + step;
      __syncthreads();  // the previous step has finished reading shared memory
      for (int i = threadIdx.x; i < KEYS; i += blockDim.x) {
        const bool is_there = i < p.keys;
        keys[i] = is_there
                      ? (float)load(((const T*)p.key)[(position * p.heads + head) * p.keys + i])
                      : 0.0f;
#if HAS_DECAY
        const i64 own = p.decays == p.heads ? head : head * p.keys + (is_there ? i : 0);
        decays[i] = exp_((float)load(((const T*)p.decay)[position * p.decays + own]));
#endif
      }
      for (int i = threadIdx.x; i < SHARED * KEYS; i += blockDim.x) {
        const int key = i % KEYS;
        const i64 from = ((position * p.heads + head) * SHARED + i / KEYS) * p.keys + key;
        queries[i] = key < p.keys ? (float)load(((const T*)p.query)[from]) : 0.0f;
      }
      __syncthreads();
#if HAS_DECAY
#pragma unroll
      for (int r = 0; r < ROWS; ++r) state[r] *= decays[warp * ROWS + r];
#endif
      float added =
          is_in ? (float)load(((const T*)p.value)[(position * p.heads + head) * p.values + column])
                : 0.0f;
#if HAS_BETA
      float known = 0;
#pragma unroll
      for (int r = 0; r < ROWS; ++r) known += state[r] * keys[warp * ROWS + r];
      parts[warp * 32 + lane] = known;
      __syncthreads();
      known = 0;
      for (int w = 0; w < WARPS; ++w) known += parts[w * 32 + lane];
      __syncthreads();
      const float beta =
          (float)load(((const T*)p.beta)[position * p.betas + (p.betas == 1 ? 0 : head)]);
      added = beta * (added - known);
#endif
#pragma unroll
      for (int r = 0; r < ROWS; ++r) state[r] += keys[warp * ROWS + r] * added;
#pragma unroll
      for (int q = 0; q < SHARED; ++q) {
        float sum = 0;
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sum += state[r] * queries[q * KEYS + warp * ROWS + r];
        parts[(q * WARPS + warp) * 32 + lane] = sum;
      }
      __syncthreads();
      for (int q = warp; q < SHARED; q += WARPS) {
        float sum = 0;
        for (int w = 0; w < WARPS; ++w) sum += parts[(q * WARPS + w) * 32 + lane];
        if (p.result && is_in)
          ((T*)p.result)[((position * p.heads + head) * SHARED + q) * p.values + column] =
              store<T>(sum * p.scale);
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      const i64 key = warp * ROWS + r;
      if (p.present && is_in && key < p.keys)
        ((S*)p.present)[(row * p.keys + key) * p.values + column] = store<S>(state[r]);
    }
  }
}
