// SPDX-License-Identifier: Apache-2.0
#include "onednn/reorder.h"

#include <gantry/sdk/error.h>
#include <gantry/sdk/kernel.h>

#include <cstdint>

#include "simd/transpose.h"

namespace gantry::x86 {
namespace {

template <class T>
void reorder(const gantry_host* host, gantry_run* run, const gantry_tensor& source,
             gantry_tensor& target) {
  const sdk::Shape shape(source);
  struct Job {
    Matrices matrices;
    const T* source;
    T* target;
  } job{{shape[0], shape.count(2, shape.rank), shape[1]},
        static_cast<const T*>(source.data),
        static_cast<T*>(target.data)};
  host->parallel_for(
      run, job.matrices.blocks(), job.matrices.grain(),
      [](void* arg, int64_t begin, int64_t end) {
        const Job& part = *static_cast<const Job*>(arg);
        transpose(part.matrices, part.source, part.target, begin, end);
      },
      &job);
}

}  // namespace

void bring_to_dense(const gantry_host* host, gantry_run* run, const gantry_tensor& source,
                    gantry_tensor& target) {
  const bool is_f32 = source.dtype == GANTRY_FLOAT;
  if (source.rank < 3 || (!is_f32 && source.dtype != GANTRY_UINT8 && source.dtype != GANTRY_INT8)) {
    throw sdk::Error(GANTRY_UNSUPPORTED,
                     "x86: only tensors of float32, uint8 and int8 of rank 3 or more stand "
                     "channels-last");
  }
  if (is_f32) {
    reorder<float>(host, run, source, target);
  } else {
    reorder<uint8_t>(host, run, source, target);
  }
}

}  // namespace gantry::x86
