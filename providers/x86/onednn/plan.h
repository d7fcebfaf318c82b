// SPDX-License-Identifier: Apache-2.0
// What is made once for each shape that a kernel meets: a primitive, its memories, and the reorders
// around it where a tensor arrives or leaves in another layout than the primitive's. Plans belong
// to a kernel's context: one run at a time.
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

/// A tensor between the host and a primitive.
class Operand {
 public:
  Operand() = default;
  /// An input that arrives as `given`.
  static Operand input(const Desc& given, const Desc& wanted) {
    return {given, wanted, /*is_input=*/true};
  }
  /// An output that leaves as `given`.
  static Operand output(const Desc& given, const Desc& wanted) {
    return {given, wanted, /*is_input=*/false};
  }

  /// As the primitive sees it.
  [[nodiscard]] const dnnl::memory& memory() const { return inner_; }
  /// Where it stands as the primitive sees it; null: there is none.
  [[nodiscard]] float* data() const {
    return inner_ ? static_cast<float*>(inner_.get_data_handle()) : nullptr;
  }
  /// True if it arrives or leaves in another layout.
  [[nodiscard]] bool is_moved() const { return matrices_ || reorder_.is_set(); }
  /// Says where the tensor is in this run; asks for scratch memory if it has to be reordered.
  void place(sdk::Call& call, void* data);
  /// The reorder, if there is one, on the threads of the arena around.
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

/// The temporary memory of a primitive.
class Scratchpad {
 public:
  Scratchpad() = default;
  explicit Scratchpad(const Desc& desc)
      : memory_(memory_of(desc)), size_bytes_(static_cast<int64_t>(desc.get_size())) {}
  [[nodiscard]] const dnnl::memory& memory() const { return memory_; }
  void place(sdk::Call& call);

 private:
  // A memory's description is a copy: it is not asked for in a run.
  dnnl::memory memory_;
  int64_t size_bytes_ = 0;
};

/// How a primitive with an epilogue does that.
enum class Variant : uint8_t {
  kPlain,    ///< by post-operations
  kInPlace,  ///< likewise; what is added stands where the result goes
  kOwn       ///< behind the primitive, by this provider's code (own_epilogue.h)
};
constexpr size_t kVariants = 3;

/// The tensors of a run.
struct FusedTensors {
  const void* source = nullptr;
  int64_t source_elements = 0;
  const void* addend = nullptr;         ///< null: nothing is added
  void* target = nullptr;               ///< may be the addend
  int64_t target_elements = 0;          ///< of the addend too
  std::span<const float> weights = {};  ///< if they are a tensor of the run
  /// The primitive writes the target itself, so that an addend which stands there is added to.
  bool is_target_inner = true;
};

/// A primitive with one tensor in, one out and, if its epilogue has one, a third that is added to
/// the result, bound to layouts and to a number of threads.
struct FusedPrimitive {
  Operand source;
  Operand addend;
  Operand target;
  Scratchpad scratchpad;
  Launch launch;

  /// Runs it to its end, and the epilogue behind one that has it so.
  void run(sdk::Call& call, int threads, const dnnl::stream& stream, const FusedTensors& tensors,
           Variant variant, const OwnEpilogue& epilogue);
};

/// The ways to run one plan, each made when it is first wanted.
class FusedVariants {
 public:
  /// Runs the one that the tensors need. make(variant) makes it where the library sees the call's
  /// threads.
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

/// Attributes that every primitive here has: its temporary memory comes from the host.
dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops = {});

/// The plans of one context that were used last. What is compared of them, to find out that a shape
/// is new, stands together.
template <class Plan>
class PlanCache final : public sdk::KernelContext {
 public:
  using Key = std::vector<int64_t>;
  /// Where kernels put together the key of a run; kept so that a known shape allocates nothing.
  Key key;
  const dnnl::stream stream{engine()};

  /// The plan of `key`, made by `make` if there is none yet.
  template <class Make>
  Plan& get(Make&& make) {
    const uint64_t digest = digest_of(key);
    Place* place = places_.data();  // unused, or else the one that was used longest ago
    for (Place& other : places_) {
      if (other.kept && other.digest == digest && other.kept->key == key) {
        other.last_use = ++uses_;
        return other.kept->plan;
      }
      if (other.last_use < place->last_use) place = &other;
    }
    auto made = std::make_unique<Kept>(Kept{key, make()});
    *place = {digest, ++uses_, std::move(made)};
    return place->kept->plan;
  }

 private:
  static constexpr size_t kMostPlans = 16;
  struct Kept {
    Key key;
    Plan plan;
  };
  struct Place {
    uint64_t digest = 0;
    uint64_t last_use = 0;  ///< 0: unused
    std::unique_ptr<Kept> kept;
  };

  static uint64_t digest_of(const Key& key) {
    constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;  // odd, so that none is lost
    uint64_t digest = key.size();
    for (const int64_t number : key) {
      digest = (digest ^ static_cast<uint64_t>(number)) * kFactor;
      digest ^= digest >> 32;
    }
    return digest;
  }

  std::array<Place, kMostPlans> places_;
  uint64_t uses_ = 0;
};

}  // namespace gantry::x86
