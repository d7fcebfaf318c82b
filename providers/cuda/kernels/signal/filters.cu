// SPDX-License-Identifier: Apache-2.0
// Window functions and mel weights. T of the results and which of the kernels: given.
#ifdef COSINE_WINDOW
// In f32, as in the operators' function bodies.
KERNEL(CosineWindowParameters) {
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count;
       i += (i64)gridDim.x * blockDim.x) {
    const float x = (float)i * p.increment;
    ((T*)p.result)[i] = store<T>(p.a0 - p.a1 * cos_(x) + p.a2 * cos_(x * 2.0f));
  }
}
#endif
#ifdef MEL
// Triangles of height 1, evenly spaced in mel, over the bins of a onesided spectrum.
inline i64 bin_of(const MelParameters& p, i64 edge) {
  const double hertz =
      700.0 * (pow_(10.0, (p.first_mel + (double)edge * p.mel_step) / 2595.0) - 1.0);
  return (i64)floor_(p.bins_per_hertz * hertz);
}

KERNEL(MelParameters) {
  FOR_EACH(i, p.count) {
    const i64 bin = (i64)quotient(i, p.bands);
    const i64 band = (i64)i - bin * p.bands.divisor;
    const i64 left = bin_of(p, band), center = bin_of(p, band + 1), right = bin_of(p, band + 2);
    double value = 0;
    if (bin >= center && bin < right) {
      value = (double)(right - bin) / (double)(right - center);
    } else if (bin >= left && bin <= center) {
      value = center > left ? (double)(bin - left) / (double)(center - left) : 1.0;
    }
    ((T*)p.result)[i] = store<T>(value);
  }
}
#endif
