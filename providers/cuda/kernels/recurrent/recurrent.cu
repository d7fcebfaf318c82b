// SPDX-License-Identifier: Apache-2.0
// Steps of recurrent layers: a warp computes a hidden unit of ROWS batch rows; its lanes share the
// dot products with the state. A launch computes one step with blocks for all units, or all steps
// with one block per row tile. T of the tensors, C computed with, GATES (1: RNN, 3: GRU, 4: LSTM),
// RESETS_AFTER (of a GRU), ROWS and first_, second_ and third_function(x, direction): given.
#define SPLIT_STEP (GATES == 3 && !RESETS_AFTER)

// A hidden unit of a row in a step.
struct Unit {
  int direction, row, step, number;
  i64 at;  // in [directions, rows, hidden]
};

inline C limited(const RecurrentParameters& p, C x) {
  if (p.clip <= 0) return x;
  return x < (C)-p.clip ? (C)-p.clip : x > (C)p.clip ? (C)p.clip : x;
}

inline C bias_of(const RecurrentParameters& p, const Unit& unit, int matmul, int gate) {
  if (!p.bias) return 0;
  const i64 at =
      ((i64)unit.direction * 2 + matmul) * GATES * p.hidden + gate * p.hidden + unit.number;
  return (C)load(((const T*)p.bias)[at]);
}

// The input's contribution to a gate, with its bias.
inline C given_gate(const RecurrentParameters& p, const Unit& unit, int gate) {
  const i64 at = unit.step * p.gates_at.step + unit.direction * p.gates_at.direction +
                 unit.row * p.gates_at.row + gate * p.hidden + unit.number;
  return (C)load(((const T*)p.gates)[at]) + bias_of(p, unit, 0, gate);
}
// The same plus the state's contribution.
inline C whole_gate(const RecurrentParameters& p, const Unit& unit, int gate, C matmul) {
  return given_gate(p, unit, gate) + matmul + bias_of(p, unit, 1, gate);
}

// Dot products of the weights of gates [first, first + COUNT) with rows of `vectors`; all lanes get
// the results.
template <int COUNT>
inline void multiply(const RecurrentParameters& p, const Unit& unit, int first, const C* vectors,
                     C sums[COUNT][ROWS]) {
  const T* matrix = (const T*)p.recurrence +
                    ((i64)unit.direction * GATES + first) * p.hidden * p.hidden +
                    (i64)unit.number * p.hidden;
  const C* own = vectors + (i64)unit.direction * p.rows * p.hidden;
  const i64 gate = (i64)p.hidden * p.hidden;
#pragma unroll
  for (int g = 0; g < COUNT; ++g)
    for (int r = 0; r < ROWS; ++r) sums[g][r] = 0;
#pragma unroll 4
  for (int i = threadIdx.x % 32; i < p.hidden; i += 32) {
    C weights[COUNT];
#pragma unroll
    for (int g = 0; g < COUNT; ++g) weights[g] = (C)load(matrix[g * gate + i]);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      // A row out of range reads the last one.
      const i64 row = unit.row + r < p.rows ? unit.row + r : p.rows - 1;
      const C value = own[row * p.hidden + i];
#pragma unroll
      for (int g = 0; g < COUNT; ++g) sums[g][r] += weights[g] * value;
    }
  }
#pragma unroll
  for (int g = 0; g < COUNT; ++g) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      for (int step = 16; step > 0; step /= 2)
        sums[g][r] += __shfl_xor_sync(0xffffffffu, sums[g][r], step);
    }
  }
}

// Writes a unit's new state, and of LSTM its cell.
template <int COUNT>
inline C advance(const RecurrentParameters& p, const Unit& unit, C before, const C (&sums)[COUNT]) {
#if GATES == 1
  return first_function(limited(p, whole_gate(p, unit, 0, sums[0])), unit.direction);
#elif GATES == 3
#if RESETS_AFTER
  const C update = first_function(limited(p, whole_gate(p, unit, 0, sums[0])), unit.direction);
  const C reset = first_function(limited(p, whole_gate(p, unit, 1, sums[1])), unit.direction);
  const C late = given_gate(p, unit, 2) + reset * (sums[2] + bias_of(p, unit, 1, 2));
#else
  const C update = ((const C*)p.reset)[(i64)p.directions * p.rows * p.hidden + unit.at];
  const C late = whole_gate(p, unit, 2, sums[0]);
#endif
  const C fresh = second_function(limited(p, late), unit.direction);
  return ((C)1 - update) * fresh + update * before;
#else
  C* cell = (C*)p.cell + unit.at;
  C look[3] = {0, 0, 0};  // peephole contributions of the cell to the gates i, o and f
  if (p.peepholes) {
    for (int i = 0; i < 3; ++i)
      look[i] =
          (C)load(((const T*)p.peepholes)[((i64)unit.direction * 3 + i) * p.hidden + unit.number]);
  }
  const C old = *cell;
  const C input =
      first_function(limited(p, whole_gate(p, unit, 0, sums[0]) + look[0] * old), unit.direction);
#if IS_COUPLED
  const C forget = (C)1 - input;
#else
  const C forget =
      first_function(limited(p, whole_gate(p, unit, 2, sums[2]) + look[2] * old), unit.direction);
#endif
  const C now =
      input * second_function(limited(p, whole_gate(p, unit, 3, sums[3])), unit.direction) +
      forget * old;
  *cell = now;
  const C output =
      first_function(limited(p, whole_gate(p, unit, 1, sums[1]) + look[1] * now), unit.direction);
  return output * third_function(now, unit.direction);
#endif
}

// Finishes a unit from its dot products, on one lane.
template <int COUNT>
inline void finish(const RecurrentParameters& p, const Unit& unit, int iteration,
                   const C (&sums)[COUNT]) {
  const i64 plane = (i64)p.directions * p.rows * p.hidden;
  const C before = ((const C*)p.state)[(iteration % 2) * plane + unit.at];
  const bool goes_on = !p.lengths || unit.step < p.lengths[unit.row];
  // A row whose sequence has ended, or in reverse not begun, keeps its state.
  const C after = goes_on ? advance(p, unit, before, sums) : before;
  ((C*)p.state)[((iteration + 1) % 2) * plane + unit.at] = after;
  if (p.all) {
    const i64 at = unit.step * p.all_at.step + unit.direction * p.all_at.direction +
                   unit.row * p.all_at.row + unit.number;
    ((T*)p.all)[at] = store<T>(goes_on ? after : (C)0);
  }
  if (iteration + 1 != p.steps) return;
  const i64 at = unit.direction * p.ends_at.direction + unit.row * p.ends_at.row + unit.number;
  if (p.last_state) ((T*)p.last_state)[at] = store<T>(after);
  if (p.last_cell) ((T*)p.last_cell)[at] = store<T>(((const C*)p.cell)[unit.at]);
}

// Computes all units of a block's rows in part `part` of a step.
inline void make_part(const RecurrentParameters& p, Unit unit, int iteration, int part) {
  const int warps = (int)blockDim.x / 32;
  const int lane = (int)threadIdx.x % 32;
  const int first_row = unit.row;
  const i64 plane = (i64)p.directions * p.rows * p.hidden;
  const C* before = (const C*)p.state + (iteration % 2) * plane;
  const int first = (int)blockIdx.x % p.unit_blocks * warps + (int)threadIdx.x / 32;
  for (unit.number = first; unit.number < p.hidden; unit.number += p.unit_blocks * warps) {
    unit.row = first_row;
#if SPLIT_STEP
    const int count = part == 1 ? 2 : 1;
    C sums[2][ROWS];
    if (count == 2) {
      multiply<2>(p, unit, 0, before, sums);
    } else {
      multiply<1>(p, unit, 2, (const C*)p.reset, sums);
    }
#else
    C sums[GATES][ROWS];
    multiply<GATES>(p, unit, 0, before, sums);
#endif
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      unit.row = first_row + r;
      unit.at = ((i64)unit.direction * p.rows + unit.row) * p.hidden + unit.number;
      if (lane != r || unit.row >= p.rows) continue;
#if SPLIT_STEP
      if (part == 1) {
        const C update =
            first_function(limited(p, whole_gate(p, unit, 0, sums[0][r])), unit.direction);
        const C reset =
            first_function(limited(p, whole_gate(p, unit, 1, sums[1][r])), unit.direction);
        ((C*)p.reset)[unit.at] = reset * before[unit.at];
        ((C*)p.reset)[plane + unit.at] = update;
        continue;
      }
      const C own[1] = {sums[0][r]};
#else
      C own[GATES];
      for (int g = 0; g < GATES; ++g) own[g] = sums[g][r];
#endif
      finish(p, unit, iteration, own);
    }
  }
}

KERNEL(RecurrentParameters) {
  const int tile = (int)blockIdx.x / p.unit_blocks;
  Unit unit;
  unit.direction = tile / p.row_tiles;
  unit.row = tile % p.row_tiles * ROWS;
  for (int iteration = p.first_step; iteration < p.end_step; ++iteration) {
    const bool is_backward = unit.direction == 1 || p.is_reverse;
    unit.step = is_backward ? p.steps - 1 - iteration : iteration;
    for (int part = 1; part <= 2; ++part) {
      if (!(p.parts & part)) continue;
      make_part(p, unit, iteration, part);
      __syncthreads();
    }
  }
}
