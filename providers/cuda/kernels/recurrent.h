// SPDX-License-Identifier: Apache-2.0
// Parameters of the steps of recurrent layers.
#ifndef GANTRY_CUDA_RECURRENT
#define GANTRY_CUDA_RECURRENT
// What lies by step, direction and row of the batch; units are dense.
struct StepStrides {
  long long step, direction, row;
};

struct RecurrentParameters {
  const void* gates;        // what the input adds, [gates * hidden] by the strides
  const void* recurrence;   // [directions, gates * hidden, hidden]
  const void* bias;         // [directions, 2, gates * hidden], of both products; null: none
  const void* peepholes;    // [directions, 3, hidden]; null: none
  const int* lengths;       // steps of each row; null: all
  const void* first_state;  // null: 0
  const void* first_cell;   // likewise
  void* all;                // states after each step; null: nobody wants them
  void* last_state;         // null: likewise
  void* last_cell;
  void* state;  // of C: [2, directions, rows, hidden], by turns what a step reads and writes
  void* cell;   // of C: [directions, rows, hidden]
  void* reset;  // of C, of a GRU that resets before the product: likewise, twice
  struct StepStrides gates_at, all_at, ends_at;
  int hidden, rows, directions;
  int steps;                 // of the longest row
  int first_step, end_step;  // of a launch
  int parts;                 // of a step, bits: what the reset needs (1), the rest (2)
  int unit_blocks;           // that share the units of a row; of more than one step 1
  int row_tiles;
  int is_reverse;  // of the only direction
  float clip;      // of what goes into functions; 0: none
};
#endif
