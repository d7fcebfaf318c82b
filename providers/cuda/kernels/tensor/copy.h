// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that copy elements.
#ifndef GANTRY_CUDA_COPY
#define GANTRY_CUDA_COPY
#include "kernels/index.h"
struct CopyParameters {
  void* target;
  const void* source;
  long long count;
  Divisor extents[MOST_AXES];
  long long target_strides[MOST_AXES];
  long long source_strides[MOST_AXES];
};

// A tiled transpose: rows are contiguous in the source, columns in the target.
struct TilesParameters {
  void* target;
  const void* source;
  long long rows, columns;
  long long source_step;  // column pitch in the source
  long long target_step;  // row pitch in the target
  unsigned tiles, tiles_across;
  Divisor extents[MOST_AXES];  // of the batch axes
  long long target_strides[MOST_AXES];
  long long source_strides[MOST_AXES];
};

struct FillParameters {
  void* target;
  const void* value;  // one element on the device; null: `bits`
  unsigned long long bits;
  long long count;
};

// Padding: elements at mapped coordinates.
struct PadParameters {
  void* target;
  const void* source;
  long long count;
  int mode;  // 1: edge, 2: reflect, 3: wrap
  Divisor extents[MOST_AXES];
  long long strides[MOST_AXES];
  long long source_extents[MOST_AXES];
  long long begins[MOST_AXES];
};

// Gather and scatter of rows by index.
struct GatherParameters {
  void* target;
  const void* source;
  const void* indices;
  long long count;      // of elements of the result
  Divisor inner;        // elements of a row
  Divisor index_count;  // indices per outer position
  long long axis_extent;
};

struct GatherElementsParameters {
  void* target;
  const void* source;
  const void* indices;
  long long count;
  Divisor extents[MOST_AXES];    // of the indices
  long long strides[MOST_AXES];  // of the data, 0 along the axis
  long long axis_extent;
  long long axis_stride;
};

struct GatherNdParameters {
  void* target;
  const void* source;
  const void* indices;
  long long count;  // of elements moved
  long long slice;  // elements of a slice
  long long tuples_a_batch;
  long long batch_stride;  // of the data
  int depth;               // length of an index tuple
  long long extents[MOST_AXES];
  long long strides[MOST_AXES];
};

// Sequences in a tensor [times, batch, inner], or [batch, times, inner].
struct ReverseParameters {
  void* target;
  const void* source;
  const void* indices;  // length of each sequence
  long long count;
  Divisor inner;    // words of an element of a sequence
  Divisor columns;  // extent of the second axis
  long long times;
  int is_time_first;
};
#endif
