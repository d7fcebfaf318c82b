// SPDX-License-Identifier: Apache-2.0
// Sums of products of two tensors over any axes. Index, T, C, KEPT_RANK, SUMMED_RANK, HAS_B (false:
// elements of a are summed) and BY_BLOCK (one block per result, else one thread): given.
inline C product_at(const EinsumParameters& p, const T* a, const T* b, Index i) {
  C value = (C)load(a[offset_of<SUMMED_RANK>(i, p.summed_extents, p.summed_a)]);
#if HAS_B
  value *= (C)load(b[offset_of<SUMMED_RANK>(i, p.summed_extents, p.summed_b)]);
#endif
  return value;
}

#if BY_BLOCK
#define OWN_RESULT blockIdx.x
#define RESULTS_AT_ONCE gridDim.x
#define OWN_PART threadIdx.x
#define PARTS blockDim.x
#else
#define OWN_RESULT ((i64)blockIdx.x * blockDim.x + threadIdx.x)
#define RESULTS_AT_ONCE ((i64)gridDim.x * blockDim.x)
#define OWN_PART 0
#define PARTS 1
#endif

KERNEL(EinsumParameters) {
#if BY_BLOCK
  __shared__ C scratch[32];
#endif
  for (i64 kept = OWN_RESULT; kept < p.kept_count; kept += RESULTS_AT_ONCE) {
    const T* a = (const T*)p.a + offset_of<KEPT_RANK>((Index)kept, p.kept_extents, p.kept_a);
    const T* b = (const T*)p.b;
#if HAS_B
    b += offset_of<KEPT_RANK>((Index)kept, p.kept_extents, p.kept_b);
#endif
    C sum = 0;
    for (i64 i = OWN_PART; i < p.summed_count; i += PARTS) sum += product_at(p, a, b, (Index)i);
#if BY_BLOCK
    sum = block_sum(sum, scratch);
#endif
    if (OWN_PART == 0) ((T*)p.result)[kept] = store<T>(sum);
  }
}
