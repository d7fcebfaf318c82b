// SPDX-License-Identifier: Apache-2.0
// Parameters of the steps of recurrent layers.
#ifndef GANTRY_CUDA_RECURRENT
#define GANTRY_CUDA_RECURRENT
// Strides by step, direction and batch row; units are contiguous.
struct StepStrides {
  long long step, direction, row;
};

struct RecurrentParameters {
  const void* gates;        // contribution of the input, [gates * hidden] by the strides
  const void* recurrence;   // [directions, gates * hidden, hidden]
  const void* bias;         // [directions, 2, gates * hidden], of input and state; null: none
  const void* peepholes;    // [directions, 3, hidden]; null: none
  const int* lengths;       // steps of each row; null: all
  const void* first_state;  // null: 0
  const void* first_cell;   // likewise
  void* all;                // states after each step; null: not wanted
  void* last_state;         // null: not wanted
  void* last_cell;
  void* state;  // of C: [2, directions, rows, hidden], double-buffered: read and written by a step
  void* cell;   // of C: [directions, rows, hidden]
  void* reset;  // of C, GRU with linear_before_reset = 0: [2, directions, rows, hidden]
  struct StepStrides gates_at, all_at, ends_at;
  int hidden, rows, directions;
  int steps;                 // of the longest row
  int first_step, end_step;  // steps of this launch
  int parts;        // bits: parts of a step in this launch: the reset gates (1), the rest (2)
  int unit_blocks;  // blocks that share the units of a row; 1 if a launch has several steps
  int row_tiles;
  int is_reverse;  // of a single direction
  float clip;      // bound of activation inputs; 0: none
};
#endif
