// SPDX-License-Identifier: Apache-2.0
// Plans: what a kernel makes once for each input shape. A plan has a primitive, its memory objects,
// and reorders for tensors whose layout is not the primitive's. Plans belong to a kernel's context:
// one run at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "onednn/library.h"
#include "onednn/own_epilogue.h"
#include "simd/transpose.h"

namespace gantry::x86 {

/// A tensor of the host as an operand of a primitive, with a reorder if the layouts differ.
class Operand {
 public:
  Operand() = default;
  /// An input that the host has in layout `given` and the primitive reads in layout `wanted`.
  static Operand input(const Desc& given, const Desc& wanted) {
    return {given, wanted, /*is_input=*/true};
  }
  /// An output that the primitive writes in layout `wanted` and the host wants in layout `given`.
  static Operand output(const Desc& given, const Desc& wanted) {
    return {given, wanted, /*is_input=*/false};
  }

  /// The primitive's argument.
  [[nodiscard]] const dnnl::memory& memory() const { return inner_; }
  /// The data of the primitive's argument; null: there is no such operand.
  [[nodiscard]] float* data() const {
    return inner_ ? static_cast<float*>(inner_.get_data_handle()) : nullptr;
  }
  /// True if it is reordered.
  [[nodiscard]] bool is_moved() const { return matrices_ || reorder_.is_set(); }
  /// Binds the host's tensor of this run; takes scratch memory of the call if it is reordered.
  void place(sdk::Call& call, void* data);
  /// Runs the reorder, if there is one, on the threads of with_threads().
  void run(const dnnl::stream& stream) const;

 private:
  Operand(const Desc& given, const Desc& wanted, bool is_input);

  dnnl::memory outer_;
  dnnl::memory inner_;
  int64_t inner_bytes_ = 0;  // of scratch memory
  bool is_input_ = true;
  std::optional<Matrices> matrices_;  // to be transposed; else:
  Launch reorder_;
};

/// A primitive's scratchpad, in scratch memory of the call.
class Scratchpad {
 public:
  Scratchpad() = default;
  explicit Scratchpad(const Desc& desc)
      : memory_(memory_of(desc)), size_bytes_(static_cast<int64_t>(desc.get_size())) {}
  [[nodiscard]] const dnnl::memory& memory() const { return memory_; }
  void place(sdk::Call& call);

 private:
  // get_desc() copies, so the size is stored for the runs.
  dnnl::memory memory_;
  int64_t size_bytes_ = 0;
};

/// How the epilogue of a primitive is computed.
enum class Variant : uint8_t {
  kPlain,    ///< by post-ops
  kInPlace,  ///< by post-ops, the addend being in the output's memory
  kOwn       ///< after the primitive, by this provider's code (own_epilogue.h)
};
constexpr size_t kVariants = 3;

/// The tensors of a run.
struct FusedTensors {
  const void* source = nullptr;
  int64_t source_elements = 0;
  const void* addend = nullptr;         ///< null: none
  void* target = nullptr;               ///< may be the addend
  int64_t target_elements = 0;          ///< of the addend too
  std::span<const float> weights = {};  ///< if they are not constant
  /// The primitive writes the target without a reorder, so that Variant::kInPlace is possible.
  bool is_target_inner = true;
};

/// A primitive with a source, a target and perhaps an addend, for given layouts and thread count.
struct FusedPrimitive {
  Operand source;
  Operand addend;
  Operand target;
  Scratchpad scratchpad;
  Launch launch;

  /// Runs reorders, primitive and, for Variant::kOwn, the epilogue. Returns when all is done.
  void run(sdk::Call& call, int threads, const dnnl::stream& stream, const FusedTensors& tensors,
           Variant variant, const OwnEpilogue& epilogue);
};

/// The variants of one plan, each made when it is first needed.
class FusedVariants {
 public:
  /// Runs the variant that the tensors need. make(variant) returns its FusedPrimitive; it is called
  /// within with_threads() of the call's threads.
  template <class Make>
  void run(sdk::Call& call, const dnnl::stream& stream, const FusedTensors& tensors,
           const OwnEpilogue& epilogue, Make&& make) {
    const int threads = call.thread_count();
    const Variant variant = variant_for(threads, tensors, epilogue);
    std::optional<FusedPrimitive>& primitive = primitives_[static_cast<size_t>(variant)];
    if (!primitive) with_threads(threads, [&] { primitive = make(variant); });
    primitive->run(call, threads, stream, tensors, variant, epilogue);
  }

 private:
  static Variant variant_for(int threads, const FusedTensors& tensors, const OwnEpilogue& epilogue);

  std::array<std::optional<FusedPrimitive>, kVariants> primitives_;
};

/// Attributes of every primitive here: its scratchpad is the caller's.
dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops = {});

/// LRU cache of the plans of one context. Not thread-safe: a context has one run at a time.
template <class Plan>
class PlanCache final : public sdk::KernelContext {
 public:
  using Key = std::vector<int64_t>;
  /// The key of the run, which the kernel fills before get(). It keeps its capacity, so that a
  /// cached shape allocates nothing.
  Key key;
  const dnnl::stream stream{engine()};

  /// The plan of `key`, made by `make` if it is not cached. Valid until the next get().
  template <class Make>
  Plan& get(Make&& make) {
    const uint64_t digest = digest_of(key);
    Entry* entry = entries_.data();  // unused, or else the least recently used one
    for (Entry& other : entries_) {
      if (other.kept && other.digest == digest && other.kept->key == key) {
        other.last_use = ++uses_;
        return other.kept->plan;
      }
      if (other.last_use < entry->last_use) entry = &other;
    }
    auto made = std::make_unique<Kept>(Kept{key, make()});
    *entry = {digest, ++uses_, std::move(made)};
    return entry->kept->plan;
  }

 private:
  static constexpr size_t kMostPlans = 16;
  struct Kept {
    Key key;
    Plan plan;
  };
  struct Entry {
    uint64_t digest = 0;
    uint64_t last_use = 0;  ///< 0: unused
    std::unique_ptr<Kept> kept;
  };

  static uint64_t digest_of(const Key& key) {
    constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;  // odd, so that no bit is lost
    uint64_t digest = key.size();
    for (const int64_t number : key) {
      digest = (digest ^ static_cast<uint64_t>(number)) * kFactor;
      digest ^= digest >> 32;
    }
    return digest;
  }

  std::array<Entry, kMostPlans> entries_;
  uint64_t uses_ = 0;
};

}  // namespace gantry::x86
