// SPDX-License-Identifier: Apache-2.0
// Record and replay: while a signature runs for the first time, a recorder notes which memory each
// step asked for and until when it was used; the plan packs those lifetimes into one arena per
// memory space. Later runs of the signature are served from it.
#pragma once

#include <cstdint>
#include <vector>

#include "gantry/dtype.h"

namespace gantry {

/// One piece of memory of the recorded run: used from step `first` to step `last`, both included.
struct MemoryRecord {
  uint32_t space = 0;  ///< or area, see RunResources::memory_of
  uint64_t size_bytes = 0;
  uint32_t first = 0;
  uint32_t last = 0;
  uint64_t offset = 0;  ///< in the arena of its space, set by pack()
};

/// Chooses offsets so that records whose lifetimes overlap do not overlap in memory; 64-byte
/// aligned. Freed space is reused best fit, the most recently freed first. Returns the arena size
/// of each space. O(n log n).
std::vector<uint64_t> pack(std::vector<MemoryRecord>& records, uint32_t space_count);

/// What the plan says of one slot of the main program.
struct PlannedSlot {
  enum class Kind : uint8_t {
    /// asked for in each run: session outputs, values that are no tensors, what control flow
    /// produced
    kDynamic,
    kArena,    ///< at the record's offset
    kRepeats,  ///< the bytes of another slot, whose memory changes from run to run
    kResident  ///< the caller's memory of a device, whose address is in the signature
  };
  Kind kind = Kind::kDynamic;
  int32_t record = -1;
  uint32_t source = 0;   ///< of kRepeats
  void* data = nullptr;  ///< of kResident
  DType dtype = DType::kUndefined;
  uint64_t size_bytes = 0;
  std::vector<int64_t> shape;
};

/// Scratch memory that a step asked for, in the order of asking.
struct PlannedScratch {
  int32_t record = -1;
  uint32_t space = 0;
  uint64_t size_bytes = 0;
};

/// Input shapes, types and the values that decide shapes, and the addresses of inputs and outputs
/// in the memory of devices; equal signatures share a plan.
using Signature = std::vector<int64_t>;

struct MemoryPlan {
  Signature signature;
  std::vector<PlannedSlot> slots;                    ///< by slot
  std::vector<std::vector<PlannedScratch>> scratch;  ///< by step
  std::vector<MemoryRecord> records;
  std::vector<uint64_t> arena_bytes;  ///< by space
};

}  // namespace gantry
