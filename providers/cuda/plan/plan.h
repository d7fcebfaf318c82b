// SPDX-License-Identifier: Apache-2.0
// A plan: what a kernel does for one set of shapes, as data: outputs, scratch memory, launches and
// their parameters. Only addresses are left open; each run fills them in. Planning is a pure
// function of shapes and needs no device.
#pragma once

#include <gantry/sdk/kernel.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compile/programs.h"
#include "driver/cached_memory.h"
#include "driver/driver.h"
#include "libraries/cublaslt.h"
#include "libraries/cudnn_graph.h"

namespace gantry::cuda {

class Device;
class Stream;

/// A range of memory that a run binds to an address.
struct Buffer {
  enum class Kind : uint8_t { kInput, kOutput, kScratch, kCached };
  Kind kind = Kind::kInput;
  /// Input slot, or index among the plan's outputs, scratch buffers or cached buffers.
  uint32_t index = 0;
  uint64_t offset_bytes = 0;  ///< from the start of the buffer

  [[nodiscard]] Buffer at(uint64_t bytes) const { return {kind, index, offset_bytes + bytes}; }
};

/// What a plan may depend on of an input.
struct InputMetadata {
  bool is_present = false;
  uint32_t dtype = GANTRY_UNDEFINED;
  std::vector<int64_t> shape;
  const void* host_data = nullptr;  ///< elements of an input in host memory

  [[nodiscard]] int rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] int64_t element_count() const {
    return sdk::Shape(shape.data(), rank()).element_count();
  }
};

/// One step of a plan.
struct Step {
  enum class Kind : uint8_t { kLaunch, kFill, kCopy, kCall, kAutotune };
  Kind kind = Kind::kLaunch;
  // kLaunch
  const Program* program = nullptr;
  FunctionHandle function = nullptr;  // null until it is loaded
  unsigned blocks = 1;
  unsigned threads = 1;
  std::vector<std::byte> parameters;
  std::vector<std::pair<size_t, Buffer>> addresses;  // offset in the parameters, buffer
  // kFill: buffers[0]; kCopy: from buffers[1] to buffers[0], nothing if their addresses are equal
  std::vector<Buffer> buffers;
  uint64_t size_bytes = 0;
  unsigned char value = 0;
  int fills = -1;  // cached buffer that the step fills, once; -1: none
  // kCall: calls a library with the addresses of the buffers.
  std::function<void(Stream& stream, void* const* addresses)> call;
  // kAutotune: alternative steps; the first run times each candidate, later runs take the fastest.
  std::vector<std::vector<Step>> candidates;
  std::string tuning_key;             // key of the choice in the autotune cache
  std::vector<std::string> families;  // keys of the families that it is a variant of
  int chosen = -1;                    // index of the candidate
};

struct PlannedOutput {
  uint32_t slot = 0;
  uint32_t dtype = GANTRY_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> host_bytes;  ///< content of an output in host memory
};

struct Plan {
  std::vector<PlannedOutput> outputs;
  std::vector<uint64_t> scratch_bytes;
  std::vector<std::shared_ptr<CachedMemory>> cached;
  std::vector<Step> steps;
};

/// Calls `use` for the kernel of each launch, those of all candidates included.
void for_each_program(const std::vector<Step>& steps,
                      const std::function<void(const Program&)>& use);

/// Callbacks by which a planner asks cuBLASLt, cuDNN and the device; an empty one means
/// "unavailable".
struct LibrarySupport {
  std::function<bool(const MatmulShape& shape)> supports_matmul;
  std::function<bool(const ConvShape& shape, uint64_t& out_workspace_bytes)> supports_conv;
  /// Allocates cached memory; empty: the plan is made without a device and caches nothing.
  std::function<std::shared_ptr<CachedMemory>(uint64_t size_bytes)> allocate_cached;
  /// The libraries may round f32 operands to TF32, as the session's precision says.
  bool rounds_to_tf32 = false;
};

/// Makes a plan. One thread.
class Planner {
 public:
  Planner(Programs& programs, std::vector<InputMetadata> inputs, std::vector<uint8_t> wanted,
          int device_multiprocessors, LibrarySupport libraries = {})
      : multiprocessors(device_multiprocessors),
        libraries_(std::move(libraries)),
        programs_(programs),
        inputs_(std::move(inputs)),
        wanted_(std::move(wanted)) {}

  [[nodiscard]] int input_count() const { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] bool has_input(int slot) const {
    return slot < input_count() && inputs_[static_cast<size_t>(slot)].is_present;
  }
  [[nodiscard]] const InputMetadata& input(int slot) const {
    return inputs_[static_cast<size_t>(slot)];
  }
  [[nodiscard]] const std::vector<int64_t>& shape(int slot) const { return input(slot).shape; }
  /// Elements of an integer input in host memory, as int64.
  [[nodiscard]] std::vector<int64_t> host_integers(int slot) const;
  /// The first element of an input in host memory, of a type that number_at reads.
  [[nodiscard]] double host_number(int slot) const;
  [[nodiscard]] bool wants(int slot) const {
    return static_cast<size_t>(slot) < wanted_.size() && wanted_[static_cast<size_t>(slot)] != 0;
  }

  static Buffer in(int slot) { return {Buffer::Kind::kInput, static_cast<uint32_t>(slot), 0}; }
  Buffer output(int slot, uint32_t dtype, std::vector<int64_t> shape);
  Buffer scratch(uint64_t size_bytes);
  /// Starts the steps that fill cached memory; they are skipped in later runs. `memory` is
  /// allocated if it is null, and may be shared by plans.
  Buffer begin_cached(std::shared_ptr<CachedMemory>& memory, uint64_t size_bytes);
  void end_cached(const Buffer& cached);
  /// Adds an output in host memory with this content.
  void host_output(int slot, uint32_t dtype, std::vector<int64_t> shape, const void* data,
                   uint64_t size_bytes);

  /// Adds a launch of the kernel `source` with a copy of `parameters`. `addresses` lists the
  /// pointer members of `parameters` that a run sets to addresses of buffers. Adds nothing if
  /// `blocks` is 0.
  template <class Parameters>
  void launch(const std::string& source, int64_t blocks, int threads, const Parameters& parameters,
              const std::vector<std::pair<const void* const*, Buffer>>& addresses) {
    std::vector<std::pair<size_t, Buffer>> positions;
    positions.reserve(addresses.size());
    for (const auto& [member, buffer] : addresses) {
      positions.emplace_back(static_cast<size_t>(reinterpret_cast<const char*>(member) -
                                                 reinterpret_cast<const char*>(&parameters)),
                             buffer);
    }
    add_launch(source, blocks, threads, &parameters, sizeof(parameters), std::move(positions));
  }
  void fill(Buffer target, uint64_t size_bytes, unsigned char value);
  void copy(Buffer target, Buffer source, uint64_t size_bytes);
  void call(std::vector<Buffer> buffers, std::function<void(Stream&, void* const*)> function);

  /// Starts a candidate: steps up to the next begin_candidate() or end_candidates() are one of
  /// several implementations of the same. The first run takes the fastest, or the first candidate
  /// if many variants of one of `families` were timed already; `text` is the tuning key.
  void begin_candidate() { candidates_begin_.push_back(plan_.steps.size()); }
  void end_candidates(const std::string& text, std::vector<std::string> families);

  Plan finish() && { return std::move(plan_); }

  const int multiprocessors;  ///< of the device

  /// Whether libraries may round f32 operands to TF32.
  [[nodiscard]] bool rounds_to_tf32() const { return libraries_.rounds_to_tf32; }

  /// Whether cuBLASLt is available and has an algorithm for a matmul; opens the library on first
  /// use.
  [[nodiscard]] bool supports(const MatmulShape& shape) const {
    return libraries_.supports_matmul && libraries_.supports_matmul(shape);
  }
  /// Whether cuDNN is available and has a plan for a convolution, and the size of its workspace.
  [[nodiscard]] bool supports(const ConvShape& shape, uint64_t& out_workspace_bytes) const {
    return libraries_.supports_conv && libraries_.supports_conv(shape, out_workspace_bytes);
  }

 private:
  void add_launch(const std::string& source, int64_t blocks, int threads, const void* parameters,
                  size_t size_bytes, std::vector<std::pair<size_t, Buffer>> addresses);

  LibrarySupport libraries_;
  Programs& programs_;
  std::vector<InputMetadata> inputs_;
  std::vector<uint8_t> wanted_;
  size_t cached_begin_ = 0;               // first step that fills the cached memory
  std::vector<size_t> candidates_begin_;  // first step of each candidate
  Plan plan_;
};

}  // namespace gantry::cuda
