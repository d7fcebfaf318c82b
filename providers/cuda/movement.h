// SPDX-License-Identifier: Apache-2.0
// Steps that move elements, for the operators that do so. Pure functions of shapes.
#pragma once

#include "indexing.h"
#include "operation.h"

namespace gantry::cuda {

constexpr int kThreads = 256;

/// Blocks of kThreads for `count` pieces of work, which each kernel goes through in steps.
int64_t blocks_for(const Planner& planner, int64_t count);

/// Bytes of a matrix that each of `blocks` blocks, which reads as many as `bytes_of_block`, asks
/// for before the kernel before has ended: the device's cache holds what all of them ask for.
int foreseen_bytes(const Planner& planner, int64_t blocks, int64_t bytes_of_block);

/// Threads of a block that works on a row: whole warps.
int threads_for_row(int64_t length);

/// Rows or results for a block where they lie side by side and what they are made of does not: 32
/// bytes of 16-bit floats, which is what memory is read by.
constexpr int64_t kColumns = 16;

/// Threads of a block that works on kColumns rows: a power of 2.
int threads_for_columns(int64_t length);

/// Copies the elements of `shape` from strides to strides, in elements of `element_bytes`.
void plan_copy(Planner& planner, const Extents& shape, int64_t element_bytes, const Buffer& target,
               const Extents& target_strides, const Buffer& source, const Extents& source_strides);

/// Fills `count` elements with the bits of one, or, with `value`, with the element that lies there
/// on the device.
void plan_fill(Planner& planner, int64_t count, int64_t element_bytes, const Buffer& target,
               uint64_t bits, const Buffer* value = nullptr);

/// Name of an unsigned type of that many bytes in the kernels' text.
std::string word_name(int64_t bytes);

}  // namespace gantry::cuda
