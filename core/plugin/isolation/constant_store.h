// SPDX-License-Identifier: Apache-2.0
// Constants of graphs, shared with a worker process. A constant in a mapped file of the model is
// read from that file by the worker too. Every other constant is copied once into a sealed segment
// of shared memory, which lives as long as the constant or a kernel needs it. Any thread; a batch:
// one thread.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "base/mapped_file.h"
#include "base/mutex.h"
#include "base/value.h"
#include "plugin/isolation/shared_memory.h"
#include "plugin/isolation/value_message.h"

namespace gantry {

class ConstantStore {
 public:
  /// A file or a shared-memory segment with constants, and its id in messages.
  struct Segment {
    uint64_t id = 0;
    std::list<uint64_t> note;              // its id: the destructor moves it, without allocating
    std::shared_ptr<SharedMemory> memory;  ///< null: a file
    std::shared_ptr<const MappedFile> mapped;  ///< null: memory
    std::weak_ptr<ConstantStore> store;        // weak: the store owns the segments of its entries
    ~Segment();
    [[nodiscard]] int file() const { return mapped ? mapped->descriptor() : memory->file(); }
    [[nodiscard]] uint64_t size_bytes() const {
      return mapped ? mapped->bytes().size() : memory->size_bytes();
    }
  };
  using Segments = std::vector<std::shared_ptr<const Segment>>;

  /// The constants of one message.
  class Batch {
   public:
    explicit Batch(std::shared_ptr<ConstantStore> store);
    /// The place of a tensor's elements, valid once the batch is finished; kInline for a small
    /// tensor. The value must outlive the batch.
    DataPlace place(const gantry_value& value);
    /// Copies new constants; returns the segments that the message names. OUT_OF_MEMORY.
    Segments finish();

   private:
    DataPlace place_in(std::shared_ptr<const MappedFile> file, const void* data);

    std::shared_ptr<ConstantStore> store_;
    std::shared_ptr<Segment> fresh_;
    std::map<const gantry_value*, uint64_t> added_;  // -> offset
    uint64_t size_bytes_ = 0;
    std::map<uint64_t, std::shared_ptr<const Segment>> used_;
  };

  static std::shared_ptr<ConstantStore> create();
  /// Ids of the segments that have been destroyed since the last call.
  std::vector<uint64_t> take_dropped();

 private:
  struct Entry {
    std::weak_ptr<const gantry_value> value;
    std::shared_ptr<const Segment> segment;
    uint64_t offset = 0;
  };

  std::shared_ptr<Segment> make_segment(const std::shared_ptr<ConstantStore>& self)
      GANTRY_REQUIRES(mutex_);
  void forget_gone() GANTRY_REQUIRES(mutex_);

  Mutex mutex_;
  std::map<const gantry_value*, Entry> entries_ GANTRY_GUARDED_BY(mutex_);
  std::map<const MappedFile*, std::weak_ptr<const Segment>> files_ GANTRY_GUARDED_BY(mutex_);
  uint64_t next_id_ GANTRY_GUARDED_BY(mutex_) = DataPlace::kArena + 1;
  Mutex dropped_mutex_;
  std::list<uint64_t> dropped_ GANTRY_GUARDED_BY(dropped_mutex_);
};

}  // namespace gantry
