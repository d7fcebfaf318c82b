// SPDX-License-Identifier: Apache-2.0
// Plans copies, transposes and fills, and chooses launch sizes. Pure functions of shapes.
#pragma once

#include "plan/indexing.h"
#include "plan/plan.h"

namespace gantry::cuda {

constexpr int kThreads = 256;

/// Number of blocks of kThreads for `count` pieces of work, for a kernel with a grid-stride loop.
int64_t blocks_for(const Planner& planner, int64_t count);

/// Bytes of a weight matrix that each of `blocks` blocks prefetches into L2 while the preceding
/// kernel runs, at most the `bytes_of_block` that it reads. The sum over the blocks fits into L2.
int prefetch_bytes_for(const Planner& planner, int64_t blocks, int64_t bytes_of_block);

/// Threads of a block for a row of `length` elements: a multiple of the warp size.
int threads_for_row(int64_t length);

/// Adjacent rows or results that one block computes where only neighbouring rows are contiguous: 32
/// bytes of 16-bit floats, a memory sector.
constexpr int64_t kColumns = 16;

/// Threads of a block that works on kColumns rows: a power of 2.
int threads_for_columns(int64_t length);

/// Plans a strided copy of `shape`, in elements of `element_bytes`.
void plan_copy(Planner& planner, const Extents& shape, int64_t element_bytes, const Buffer& target,
               const Extents& target_strides, const Buffer& source, const Extents& source_strides);

/// Plans a fill of `count` elements with `bits`, or with the element at `value` in device memory.
void plan_fill(Planner& planner, int64_t count, int64_t element_bytes, const Buffer& target,
               uint64_t bits, const Buffer* value = nullptr);

/// Kernel type of an unsigned word of `bytes` bytes.
std::string word_name(int64_t bytes);

}  // namespace gantry::cuda
