// SPDX-License-Identifier: Apache-2.0
// Memory plans. In the first run of a signature a recorder notes the memory that each step requests
// and how long it is used; the plan packs these lifetimes into one arena per memory space, which
// later runs of the signature use.
#pragma once

#include <cstdint>
#include <vector>

#include "gantry/dtype.h"

namespace gantry {

/// One piece of memory of the recorded run: used from step `first` to step `last`, both included.
struct MemoryRecord {
  uint32_t space = 0;  ///< index of the arena: of a space or an area, see RunResources::memory_of
  uint64_t size_bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t offset = 0;  ///< in the arena of its space, set by pack()
};

/// Chooses offsets so that records whose lifetimes overlap do not overlap in memory; 64-byte
/// aligned. Freed space is reused best fit, the most recently freed first. Returns the arena size
/// of each space. O(n log n).
std::vector<uint64_t> pack(std::vector<MemoryRecord>& records, uint32_t space_count);

/// The plan's memory of one slot of the main program.
struct PlannedSlot {
  enum class Kind : uint8_t {
    /// not planned, requested in each run: graph outputs, values that are no tensors, outputs of
    /// control flow
    kDynamic,
    kArena,    ///< at the record's offset
    kRepeats,  ///< the memory of another slot, which changes from run to run
    kResident  ///< the caller's device memory, whose address is in the signature
  };
  Kind kind = Kind::kDynamic;
  int32_t record = -1;
  uint32_t source = 0;   ///< of kRepeats: the other slot
  void* data = nullptr;  ///< of kResident: the address
  DType dtype = DType::kUndefined;
  uint64_t size_bytes = 0;
  std::vector<int64_t> shape;
};

/// Scratch memory that a step requested; a step's requests are in order.
struct PlannedScratch {
  int32_t record = -1;
  uint32_t space = 0;
  uint64_t size_bytes = 0;
};

/// Shapes and types of the inputs, elements of inputs that decide shapes, and addresses of inputs
/// and outputs in device memory. Equal signatures share a plan.
using Signature = std::vector<int64_t>;

struct MemoryPlan {
  Signature signature;
  std::vector<PlannedSlot> slots;                    ///< by slot
  std::vector<std::vector<PlannedScratch>> scratch;  ///< by step
  std::vector<MemoryRecord> records;
  std::vector<uint64_t> arena_bytes;  ///< by space
};

}  // namespace gantry
