// SPDX-License-Identifier: Apache-2.0
// Random tensors: RandomNormal, RandomUniform and their Like forms, Bernoulli, Multinomial,
// Dropout. Element i depends only on the key, the run counter and i. With a seed every run gives
// the same numbers. Without one the runs are counted in device memory, so that launches of a
// captured graph count too.
#include "kernels/random/random.h"

#include <gantry/sdk/mutex.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <random>

#include "compile/kernel_texts.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

uint64_t random_key() {
  std::random_device device;
  return (static_cast<uint64_t>(device()) << 32) | device();
}

// The random key of a node. Any thread.
class Chance {
 public:
  explicit Chance(const NodeView& node)
      : has_seed_(node.has("seed") && node.op_type() != "Dropout") {
    key_ = has_seed_ ? std::bit_cast<uint32_t>(node.get_float("seed", 0)) : random_key();
  }

  void add(Planner& planner, RandomParameters& parameters, Addresses& addresses) const {
    parameters.key = key_;
    if (has_seed_) return;
    RunCounterParameters count = {};
    // Distinguishes plans that initialise the counter at the same time.
    count.first = plans_.fetch_add(1) << 32;
    const sdk::MutexLock lock(mutex_);
    const Buffer runs = planner.begin_cached(runs_, sizeof(uint64_t));
    planner.fill(runs, sizeof(uint64_t), 0);
    planner.end_cached(runs);
    const Buffer number = planner.scratch(sizeof(uint64_t));
    planner.launch(kernel_source({"random.h"}, std::string(kernel_text("run_counter.cu"))), 1, 1,
                   count,
                   {{reinterpret_cast<const void* const*>(&count.runs), runs},
                    {reinterpret_cast<const void* const*>(&count.number), number}});
    addresses.emplace_back(&parameters.number, number);
  }

 private:
  bool has_seed_;
  uint64_t key_;
  mutable std::atomic<uint64_t> plans_{0};
  mutable sdk::Mutex mutex_;
  mutable std::shared_ptr<CachedMemory> runs_ GANTRY_GUARDED_BY(mutex_);
};

// `source`: type of the input; the result's type without one.
void launch(Planner& planner, const char* which, uint32_t dtype, uint32_t source,
            const RandomParameters& parameters, const Addresses& addresses) {
  const std::string body =
      join({"\n#define ", which, "\ntypedef ", type_name(dtype), " T;\ntypedef ",
            computed_name(dtype), " C;\ntypedef ", type_name(source), " S;\n",
            kernel_text("philox.cu"), kernel_text("random.cu")});
  planner.launch(kernel_source({"random.h"}, body), blocks_for(planner, (parameters.count + 1) / 2),
                 kThreads, parameters, addresses);
}

class RandomTensor final : public Operation {
 public:
  explicit RandomTensor(const NodeView& node)
      : is_normal_(node.op_type().substr(0, 12) == "RandomNormal"),
        is_like_(node.input_count() > 0),
        shape_(node.get_ints("shape")),
        dtype_(node.output(0).dtype()),
        chance_(node) {
    offset_ = is_normal_ ? node.get_float("mean", 0) : node.get_float("low", 0);
    scale_ = is_normal_ ? node.get_float("scale", 1) : node.get_float("high", 1) - offset_;
  }
  void plan(Planner& planner) const override {
    const Extents& shape = is_like_ ? planner.shape(0) : shape_;
    RandomParameters parameters = {};
    parameters.count = count_of(shape);
    parameters.offset = offset_;
    parameters.scale = scale_;
    Addresses addresses = {{&parameters.result, planner.output(0, dtype_, shape)}};
    if (parameters.count == 0) return;
    chance_.add(planner, parameters, addresses);
    launch(planner, is_normal_ ? "NORMAL" : "UNIFORM", dtype_, dtype_, parameters, addresses);
  }

 private:
  bool is_normal_;
  bool is_like_;
  Extents shape_;
  uint32_t dtype_;
  double offset_;
  double scale_;
  Chance chance_;
};

// Bernoulli: 1 with the probability in the input.
class Bernoulli final : public Operation {
 public:
  explicit Bernoulli(const NodeView& node) : dtype_(node.output(0).dtype()), chance_(node) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    RandomParameters parameters = {};
    parameters.count = x.element_count();
    Addresses addresses = {{&parameters.result, planner.output(0, dtype_, x.shape)},
                           {&parameters.source, Planner::in(0)}};
    if (parameters.count == 0) return;
    chance_.add(planner, parameters, addresses);
    launch(planner, "BERNOULLI", dtype_, x.dtype, parameters, addresses);
  }

 private:
  uint32_t dtype_;
  Chance chance_;
};

// Multinomial: draws classes by log-probabilities [row, class].
class Multinomial final : public Operation {
 public:
  explicit Multinomial(const NodeView& node)
      : samples_(node.get_int("sample_size", 1)), dtype_(node.output(0).dtype()), chance_(node) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    if (x.rank() != 2 || x.shape[1] == 0 || samples_ < 0) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "input 0 has the shape " + text_of(x.shape) + " for " +
                           std::to_string(samples_) +
                           " samples, expected rows of one class at least");
    }
    RandomParameters parameters = {};
    parameters.classes = x.shape[1];
    parameters.samples = samples_;
    Addresses addresses = {{&parameters.result, planner.output(0, dtype_, {x.shape[0], samples_})},
                           {&parameters.source, Planner::in(0)}};
    if (x.shape[0] == 0 || samples_ == 0) return;
    const Buffer sums = planner.scratch(static_cast<uint64_t>(x.element_count()) * sizeof(double));
    addresses.emplace_back(reinterpret_cast<const void* const*>(&parameters.sums), sums);
    chance_.add(planner, parameters, addresses);
    const std::string body = join({"\ntypedef ", type_name(dtype_), " T;\ntypedef ",
                                   type_name(x.dtype), " S;\n", kernel_text("block_reduce.cu"),
                                   kernel_text("philox.cu"), kernel_text("multinomial.cu")});
    planner.launch(kernel_source({"random.h"}, body), x.shape[0], kThreads, parameters, addresses);
  }

 private:
  int64_t samples_;
  uint32_t dtype_;
  Chance chance_;
};

// Dropout: identity and a mask of ones; in training, random elements are zeroed.
class Dropout final : public Operation {
 public:
  explicit Dropout(const NodeView& node)
      : has_inputs_(node.since_version() >= 12),
        mask_(node.output(1).present() ? node.output(1).dtype() : GANTRY_BOOL),
        chance_(node) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const double ratio = has_inputs_ ? ratio_of(planner) : 0;
    const bool is_training =
        has_inputs_ && planner.has_input(2) && planner.host_integers(2).at(0) != 0;
    if (!is_training || ratio == 0) return plan_identity(planner);
    RandomParameters parameters = {};
    parameters.count = x.element_count();
    parameters.offset = ratio;
    parameters.scale = 1 / (1 - ratio);
    Addresses addresses = {{&parameters.source, Planner::in(0)}};
    if (planner.wants(0))
      addresses.emplace_back(&parameters.result, planner.output(0, x.dtype, x.shape));
    if (planner.wants(1))
      addresses.emplace_back(&parameters.mask, planner.output(1, GANTRY_BOOL, x.shape));
    if (parameters.count == 0) return;
    chance_.add(planner, parameters, addresses);
    launch(planner, "DROPOUT", x.dtype, x.dtype, parameters, addresses);
  }

 private:
  static double ratio_of(const Planner& planner) {
    double ratio = 0.5;
    if (planner.has_input(1)) {
      const InputMetadata& given = planner.input(1);
      float number = 0;
      if (given.dtype == GANTRY_DOUBLE) {
        std::memcpy(&ratio, given.host_data, sizeof(ratio));
      } else {
        std::memcpy(&number, given.host_data, sizeof(number));
        ratio = number;
      }
    }
    if (ratio >= 0 && ratio < 1) return ratio;
    throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the ratio is " + std::to_string(ratio) +
                                                  ", expected at least 0 and less than 1");
  }

  void plan_identity(Planner& planner) const {
    const InputMetadata& x = planner.input(0);
    const int64_t count = x.element_count();
    if (planner.wants(0)) {
      const Buffer y = planner.output(0, x.dtype, x.shape);
      planner.copy(y, Planner::in(0), static_cast<uint64_t>(count * bytes_of(x.dtype)));
    }
    if (planner.wants(1)) {
      // Before version 10 the mask has the data's type.
      constexpr uint64_t kTrue = 1;
      const uint64_t one = mask_ == GANTRY_FLOAT16    ? 0x3c00
                           : mask_ == GANTRY_BFLOAT16 ? 0x3f80
                           : mask_ == GANTRY_FLOAT    ? std::bit_cast<uint32_t>(1.0F)
                           : mask_ == GANTRY_DOUBLE   ? std::bit_cast<uint64_t>(1.0)
                                                      : kTrue;
      plan_fill(planner, count, bytes_of(mask_), planner.output(1, mask_, x.shape), one);
    }
  }

  bool has_inputs_;
  uint32_t mask_;
  Chance chance_;
};

std::string has_float_output(const NodeView& node) {
  return sdk::dtype_bit(node.output(0).dtype()) & sdk::kFloats
             ? ""
             : "the type of the output is not known to be a float";
}

std::string has_known_output(const NodeView& node) {
  return sdk::dtype_bit(node.output(0).dtype()) & kComputed ? ""
                                                            : "the type of the output is not known";
}

// A seed means NumPy's generator, which is sequential.
std::string may_drop(const NodeView& node) {
  if (node.since_version() < 7 && node.get_int("is_test", 0) == 0)
    return "training, which is_test has to end in this version, is not supported";
  if (node.since_version() < 12) return "";
  const sdk::ValueView ratio = node.input(1);
  if (ratio.present() && ratio.dtype() != GANTRY_FLOAT && ratio.dtype() != GANTRY_DOUBLE)
    return "only ratios of 32 and 64 bits are supported";
  if (!node.input(2).present() || !node.has("seed")) return "";
  const gantry_tensor* training = node.input(2).constant();
  const bool is_inference =
      training && training->size_bytes == 1 && *static_cast<const uint8_t*>(training->data) == 0;
  return is_inference ? "" : "the numbers that a seed names in training are not supported";
}

constexpr sdk::KernelRow random_row(const char* op_type, sdk::Factory factory, uint64_t shapes) {
  sdk::KernelRow row = {op_type, 1, sdk::kLatest, sdk::kFloats, factory, {}, has_float_output};
  row.typed_slot = -1;
  row.marks.shape_only_inputs = shapes;
  return row;
}

constexpr sdk::Marks kDropoutMarks = [] {
  sdk::Marks marks;
  marks.host_inputs = 6;
  marks.overwrites = 1;
  return marks;
}();
constexpr sdk::Marks kOverFirst = [] {
  sdk::Marks marks;
  marks.overwrites = 1;
  return marks;
}();

constexpr sdk::KernelRow kRows[] = {
    {"Bernoulli", 15, sdk::kLatest, sdk::kFloats, make<Bernoulli>, {}, has_known_output},
    {"Dropout", 1, 11, sdk::kFloats, make<Dropout>, kOverFirst, may_drop},
    {"Dropout", 12, sdk::kLatest, sdk::kFloats, make<Dropout, 6>, kDropoutMarks, may_drop},
    {"Multinomial", 7, sdk::kLatest, sdk::kFloats, make<Multinomial>, {}, has_known_output},
    random_row("RandomNormal", make<RandomTensor>, 0),
    random_row("RandomNormalLike", make<RandomTensor>, 1),
    random_row("RandomUniform", make<RandomTensor>, 0),
    random_row("RandomUniformLike", make<RandomTensor>, 1),
};

}  // namespace

sdk::KernelTable random_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
