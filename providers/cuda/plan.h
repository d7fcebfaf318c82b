// SPDX-License-Identifier: Apache-2.0
// A plan: what a kernel of the provider does for one set of shapes, as data. It says which outputs
// and which scratch memory there are and which kernels run with which parameters; only addresses
// are left open. Making one is a pure function of shapes, so it needs no device.
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

#include "blas.h"
#include "dnn_graph.h"
#include "driver.h"
#include "kept_memory.h"
#include "programs.h"

namespace gantry::cuda {

class Device;
class Stream;

/// Where memory of a run comes from.
struct Buffer {
  enum class Kind : uint8_t { kInput, kOutput, kScratch, kKept };
  Kind kind = Kind::kInput;
  /// Input slot, or number among the plan's outputs, scratch buffers or kept memory.
  uint32_t index = 0;
  uint64_t offset_bytes = 0;  ///< from its beginning

  [[nodiscard]] Buffer at(uint64_t bytes) const { return {kind, index, offset_bytes + bytes}; }
};

/// What is known of an input when a plan is made.
struct InputFacts {
  bool is_present = false;
  uint32_t dtype = GANTRY_UNDEFINED;
  std::vector<int64_t> shape;
  const void* host_data = nullptr;  ///< its elements, of slots wanted in host memory

  [[nodiscard]] int rank() const { return static_cast<int>(shape.size()); }
  [[nodiscard]] int64_t element_count() const {
    return sdk::Shape(shape.data(), rank()).element_count();
  }
};

/// A piece of work of a plan.
struct Step {
  enum class Kind : uint8_t { kLaunch, kFill, kCopy, kCall, kChoice };
  Kind kind = Kind::kLaunch;
  // kLaunch
  const Program* program = nullptr;
  FunctionHandle function = nullptr;  // once it is loaded
  unsigned blocks = 1;
  unsigned threads = 1;
  std::vector<std::byte> parameters;
  std::vector<std::pair<size_t, Buffer>> addresses;  // where in the parameters which address goes
  // kFill: bytes of the first buffer; kCopy: from the second to the first, unless they are one
  std::vector<Buffer> buffers;
  uint64_t size_bytes = 0;
  unsigned char value = 0;
  int fills = -1;  // kept memory that it fills, by number: left out once that is filled; -1: none
  // kCall: a library's function, with the addresses of the buffers
  std::function<void(Stream& stream, void* const* addresses)> call;
  // kChoice: ways to the same, of which the first run times each and later ones take the fastest
  std::vector<std::vector<Step>> ways;
  std::string chosen_for;             // names what is done, for all plans and processes
  std::vector<std::string> families;  // names of what it is a variant of
  int chosen = -1;                    // number of the way
};

struct PlannedOutput {
  uint32_t slot = 0;
  uint32_t dtype = GANTRY_UNDEFINED;
  std::vector<int64_t> shape;
  std::vector<std::byte> host_bytes;  ///< of an output in host memory: what it is
};

struct Plan {
  std::vector<PlannedOutput> outputs;
  std::vector<uint64_t> scratch_bytes;
  std::vector<std::shared_ptr<KeptMemory>> kept;
  std::vector<Step> steps;
};

/// Calls `use` for the kernel of each launch, those of every way of a choice too.
void for_each_program(const std::vector<Step>& steps,
                      const std::function<void(const Program&)>& use);

/// What a plan may ask of NVIDIA's libraries of kernels; an empty one is not there.
struct LibraryQuestions {
  std::function<bool(const ProductShape& shape)> supports_product;
  std::function<bool(const ConvShape& shape, uint64_t& out_workspace_bytes)> supports_conv;
  /// Memory of the device; empty: the plan is made without one, and none is kept.
  std::function<std::shared_ptr<KeptMemory>(uint64_t size_bytes)> keep;
  /// They may round factors of f32 to TF32, as the session's precision says.
  bool rounds_to_tf32 = false;
};

/// Makes a plan. One thread.
class Planner {
 public:
  Planner(Programs& programs, std::vector<InputFacts> inputs, std::vector<uint8_t> wanted,
          int device_multiprocessors, LibraryQuestions libraries = {})
      : multiprocessors(device_multiprocessors),
        libraries_(std::move(libraries)),
        programs_(programs),
        inputs_(std::move(inputs)),
        wanted_(std::move(wanted)) {}

  [[nodiscard]] int input_count() const { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] bool has_input(int slot) const {
    return slot < input_count() && inputs_[static_cast<size_t>(slot)].is_present;
  }
  [[nodiscard]] const InputFacts& input(int slot) const {
    return inputs_[static_cast<size_t>(slot)];
  }
  [[nodiscard]] const std::vector<int64_t>& shape(int slot) const { return input(slot).shape; }
  /// Elements of an input in host memory, of an integer type, as int64.
  [[nodiscard]] std::vector<int64_t> host_integers(int slot) const;
  /// The first element of an input in host memory, of a type that number_at reads.
  [[nodiscard]] double host_number(int slot) const;
  [[nodiscard]] bool wants(int slot) const {
    return static_cast<size_t>(slot) < wanted_.size() && wanted_[static_cast<size_t>(slot)] != 0;
  }

  static Buffer in(int slot) { return {Buffer::Kind::kInput, static_cast<uint32_t>(slot), 0}; }
  Buffer output(int slot, uint32_t dtype, std::vector<int64_t> shape);
  Buffer scratch(uint64_t size_bytes);
  /// Memory that is kept, made here if `held` is null. What is planned between this and `end_kept`
  /// fills it, and is left out of later runs.
  Buffer begin_kept(std::shared_ptr<KeptMemory>& held, uint64_t size_bytes);
  void end_kept(const Buffer& kept);
  /// An output in host memory.
  void host_output(int slot, uint32_t dtype, std::vector<int64_t> shape, const void* data,
                   uint64_t size_bytes);

  /// Launches the kernel `source` with a copy of `parameters`, in which the members pointed to get
  /// the addresses of buffers. Nothing is launched if `blocks` is 0.
  template <class Parameters>
  void launch(const std::string& source, int64_t blocks, int threads, const Parameters& parameters,
              const std::vector<std::pair<const void* const*, Buffer>>& addresses) {
    std::vector<std::pair<size_t, Buffer>> places;
    places.reserve(addresses.size());
    for (const auto& [member, buffer] : addresses) {
      places.emplace_back(static_cast<size_t>(reinterpret_cast<const char*>(member) -
                                              reinterpret_cast<const char*>(&parameters)),
                          buffer);
    }
    add_launch(source, blocks, threads, &parameters, sizeof(parameters), std::move(places));
  }
  void fill(Buffer target, uint64_t size_bytes, unsigned char value);
  void copy(Buffer target, Buffer source, uint64_t size_bytes);
  void call(std::vector<Buffer> buffers, std::function<void(Stream&, void* const*)> function);

  /// What is planned from here to the next `begin_way` or to `end_choice` is one way of doing what
  /// the others do too. The fastest is taken, or the first way if there have been many variants of
  /// one of `families`; `text` names what they do.
  void begin_way() { ways_begin_.push_back(plan_.steps.size()); }
  void end_choice(const std::string& text, std::vector<std::string> families);

  Plan finish() && { return std::move(plan_); }

  const int multiprocessors;  ///< of the device

  /// Of shapes that libraries are asked for.
  [[nodiscard]] bool rounds_to_tf32() const { return libraries_.rounds_to_tf32; }

  /// Whether cuBLASLt can be called and has a way for a product; opens it when it is first asked.
  [[nodiscard]] bool supports(const ProductShape& shape) const {
    return libraries_.supports_product && libraries_.supports_product(shape);
  }
  /// Whether cuDNN can be called and has a way for a convolution, and the scratch memory of it.
  [[nodiscard]] bool supports(const ConvShape& shape, uint64_t& out_workspace_bytes) const {
    return libraries_.supports_conv && libraries_.supports_conv(shape, out_workspace_bytes);
  }

 private:
  void add_launch(const std::string& source, int64_t blocks, int threads, const void* parameters,
                  size_t size_bytes, std::vector<std::pair<size_t, Buffer>> addresses);

  LibraryQuestions libraries_;
  Programs& programs_;
  std::vector<InputFacts> inputs_;
  std::vector<uint8_t> wanted_;
  size_t kept_begin_ = 0;           // of the steps that fill kept memory
  std::vector<size_t> ways_begin_;  // of the steps of each way of a choice
  Plan plan_;
};

}  // namespace gantry::cuda
