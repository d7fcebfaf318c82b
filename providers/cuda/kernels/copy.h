// SPDX-License-Identifier: Apache-2.0
// Parameters of the kernels that move elements without looking at them.
#ifndef GANTRY_CUDA_COPY
#define GANTRY_CUDA_COPY
#include "index.h"
struct CopyParameters {
  void* target;
  const void* source;
  long long count;
  Divisor extents[MOST_AXES];
  long long target_strides[MOST_AXES];
  long long source_strides[MOST_AXES];
};

// Rows lie dense in the source, columns in the target, by tiles.
struct TilesParameters {
  void* target;
  const void* source;
  long long rows, columns;
  long long source_step;  // from a column to the next in the source
  long long target_step;  // from a row to the next in the target
  unsigned tiles, tiles_across;
  Divisor extents[MOST_AXES];  // of the axes around
  long long target_strides[MOST_AXES];
  long long source_strides[MOST_AXES];
};

struct FillParameters {
  void* target;
  const void* value;  // one element on the device; null: `bits`
  unsigned long long bits;
  long long count;
};

// Elements from where coordinates lie that are changed along each axis.
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

// Rows that are read or written by number.
struct GatherParameters {
  void* target;
  const void* source;
  const void* indices;
  long long count;      // of elements of the result
  Divisor inner;        // elements of a row
  Divisor index_count;  // rows of one outer number
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
  int depth;               // numbers in a tuple
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
