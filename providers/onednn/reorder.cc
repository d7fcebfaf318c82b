// SPDX-License-Identifier: Apache-2.0
#include "reorder.h"

#include <gantry/sdk/error.h>
#include <gantry/sdk/kernel.h>

#include <algorithm>
#include <cstdint>

namespace gantry::onednn {
namespace {

constexpr int64_t kTile = 16;  // elements; floats of a cache line

/// Matrices of [pixels, channels], to be transposed.
template <class T>
struct Job {
  const T* source;
  T* target;
  int64_t pixels;
  int64_t channels;
  int64_t tile_rows;  // of kTile channels, in one matrix

  // Rows of the target from `begin` to `end`, in tiles of all matrices.
  void run(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t matrix = row / tile_rows * pixels * channels;
      const int64_t first = row % tile_rows * kTile;
      const int64_t last = std::min(first + kTile, channels);
      for (int64_t p = 0; p < pixels; p += kTile) {
        const int64_t end_pixel = std::min(p + kTile, pixels);
        for (int64_t c = first; c < last; ++c) {
          for (int64_t i = p; i < end_pixel; ++i)
            target[matrix + c * pixels + i] = source[matrix + i * channels + c];
        }
      }
    }
  }
};

template <class T>
void transpose(const gantry_host* host, gantry_run* run, const gantry_tensor& source,
               gantry_tensor& target) {
  const sdk::Shape shape(source);
  Job<T> job{static_cast<const T*>(source.data), static_cast<T*>(target.data),
             shape.count(2, shape.rank), shape[1], (shape[1] + kTile - 1) / kTile};
  constexpr int64_t kGrainElements = 1 << 14;
  const int64_t grain =
      std::max<int64_t>(1, kGrainElements / std::max<int64_t>(1, job.pixels * kTile));
  host->parallel_for(
      run, shape[0] * job.tile_rows, grain,
      [](void* arg, int64_t begin, int64_t end) {
        static_cast<const Job<T>*>(arg)->run(begin, end);
      },
      &job);
}

}  // namespace

void bring_to_dense(const gantry_host* host, gantry_run* run, const gantry_tensor& source,
                    gantry_tensor& target) {
  const bool is_f32 = source.dtype == GANTRY_FLOAT;
  if (source.rank < 3 || (!is_f32 && source.dtype != GANTRY_UINT8 && source.dtype != GANTRY_INT8)) {
    throw sdk::Error(GANTRY_UNSUPPORTED,
                     "onednn: only tensors of float32, uint8 and int8 of rank 3 or more stand "
                     "channels-last");
  }
  if (is_f32) {
    transpose<float>(host, run, source, target);
  } else {
    transpose<uint8_t>(host, run, source, target);
  }
}

}  // namespace gantry::onednn
