// SPDX-License-Identifier: Apache-2.0
// Normalisation of dense rows: LayerNormalization, RMSNormalization, and com.microsoft's with a
// skip connection.
#include <algorithm>
#include <bit>

#include "compile/kernel_texts.h"
#include "operators/nn/norm_rows.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

constexpr int64_t kWarp = 32;
constexpr int64_t kThreadsOfShortRows =
    4 * kWarp;  // threads of short rows, of which a block takes several
constexpr int64_t kMostThreadsOfRow = 512;
constexpr int64_t kMostPacks = 8;  // packs per thread, in registers

// Limits of the kernels for rows of any length.
constexpr int64_t kThreadsOfShare = 256;
constexpr int64_t kLeastPacksOfShare = 4 * kThreadsOfShare;
constexpr int64_t kMostShares =
    64;  // limit of blocks per row: each block reads the partial results of all

// Blocks per row: several if there are fewer rows than multiprocessors and each block has enough
// work. `packs`: vectors of a row.
int64_t shares_of(const Planner& planner, int64_t rows, int64_t packs) {
  if (rows == 0 || 2 * rows > planner.multiprocessors) return 1;
  const int64_t wanted = 2 * planner.multiprocessors / rows;
  return std::clamp<int64_t>(std::min(wanted, packs / kLeastPacksOfShare), 1, kMostShares);
}

// Elements per vector access: 16 bytes, halved until the length is a multiple.
int64_t vector_of(int64_t length, uint32_t dtype) {
  int64_t vector = 16 / bytes_of(dtype);
  while (length % vector != 0) vector /= 2;
  return vector;
}

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

// Plans the kernel for rows that a block holds in registers. False, and nothing is planned: rows
// are too long or not whole words.
bool launch_wide(Planner& planner, const NormParameters& parameters, const Addresses& addresses,
                 const NormTypes& types, const std::string& body) {
  const int64_t vector = 16 / bytes_of(types.tensor);
  const int64_t packs = parameters.length / vector;
  // Short rows get a part of a warp each.
  const int64_t lanes =
      packs > kWarp ? 0 : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(packs)));
  const int64_t lanes_of_row =
      lanes > 0 ? lanes : std::min((packs + kWarp - 1) / kWarp * kWarp, kMostThreadsOfRow);
  const int64_t threads = lanes > 0 ? kThreadsOfShortRows : lanes_of_row;
  const int64_t at_once = threads / lanes_of_row;
  const bool is_by_run = parameters.groups != 1 || parameters.run.divisor != 1;
  if (parameters.length % vector != 0 || packs > lanes_of_row * kMostPacks ||
      (is_by_run && parameters.run.divisor % vector != 0))
    return false;
  const auto has = [&](const void* const* member) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [&](const auto& address) { return address.first == member; });
  };
  planner.launch(
      kernel_source(
          {"index.h", "index.cu", "rows.h", "block_reduce.cu"},
          body + define("VECTOR", vector) +
              define("PACKS", (packs + lanes_of_row - 1) / lanes_of_row) +
              (lanes > 0 ? define("LANES", lanes) : "") + (is_by_run ? "#define BY_RUN\n" : "") +
              define("HAS_SKIP", has(&parameters.skip) ? 1 : 0) +
              define("HAS_BIAS", has(&parameters.bias) ? 1 : 0) +
              std::string(kernel_text("row_lanes.cu")) + std::string(kernel_text("norm_wide.cu"))),
      std::min<int64_t>((parameters.rows + at_once - 1) / at_once, int64_t{1} << 20),
      static_cast<int>(threads), parameters, addresses);
  return true;
}

class LayerNorm final : public Operation {
 public:
  explicit LayerNorm(const NodeView& node)
      : is_centered_(node.op_type() == "LayerNormalization"),
        axis_(node.get_int("axis", -1)),
        epsilon_(node.get_float("epsilon", 1e-5F)) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    const auto axis = static_cast<size_t>(checked_axis(axis_, x.rank(), "axis"));
    NormParameters parameters = {};
    parameters.rows = count_of(x.shape, 0, axis);
    parameters.length = count_of(x.shape, axis, x.shape.size());
    parameters.groups = 1;
    parameters.run = divisor_of(1);
    parameters.epsilon = epsilon_;
    Addresses addresses = {{&parameters.result, planner.output(0, x.dtype, x.shape)},
                           {&parameters.source, Planner::in(0)}};
    for (int slot = 1; slot <= 2; ++slot) {
      if (!planner.has_input(slot)) continue;
      if (planner.input(slot).element_count() != parameters.length) {
        throw sdk::Error(GANTRY_UNSUPPORTED, "input " + std::to_string(slot) + " has the shape " +
                                                 text_of(planner.shape(slot)) + ", expected " +
                                                 std::to_string(parameters.length) + " elements");
      }
      addresses.emplace_back(slot == 1 ? &parameters.scale : &parameters.shift, Planner::in(slot));
    }
    Extents reduced = x.shape;
    std::fill(reduced.begin() + static_cast<int64_t>(axis), reduced.end(), 1);
    // The mean of 16-bit floats is an f32 output.
    const uint32_t mean = x.dtype == GANTRY_DOUBLE ? GANTRY_DOUBLE : GANTRY_FLOAT;
    if (is_centered_ && planner.wants(1))
      addresses.emplace_back(&parameters.mean, planner.output(1, mean, reduced));
    const int last = is_centered_ ? 2 : 1;
    if (planner.wants(last))
      addresses.emplace_back(&parameters.deviation, planner.output(last, mean, reduced));
    const uint32_t scale = planner.has_input(1) ? planner.input(1).dtype : x.dtype;
    launch_norm(planner, parameters, addresses, {x.dtype, scale, mean, is_centered_});
  }

 private:
  bool is_centered_;
  int64_t axis_;
  float epsilon_;
};

// y = norm(x + skip + bias) * gamma + beta, and the sum as output 3.
class SkipNorm final : public Operation {
 public:
  explicit SkipNorm(const NodeView& node)
      : is_centered_(node.op_type() == "SkipLayerNormalization"),
        epsilon_(node.get_float("epsilon", 1e-12F)) {}
  void plan(Planner& planner) const override {
    const InputMetadata& x = planner.input(0);
    NormParameters parameters = {};
    parameters.length = x.shape.back();
    parameters.rows = count_of(x.shape, 0, x.shape.size() - 1);
    parameters.skip_rows = std::max<int64_t>(
        1, planner.input(1).element_count() / std::max<int64_t>(parameters.length, 1));
    parameters.groups = 1;
    parameters.run = divisor_of(1);
    parameters.epsilon = epsilon_;
    Addresses addresses = {{&parameters.result, planner.output(0, x.dtype, x.shape)},
                           {&parameters.source, Planner::in(0)},
                           {&parameters.skip, Planner::in(1)},
                           {&parameters.scale, Planner::in(2)}};
    const int bias = is_centered_ ? 4 : 3;
    if (is_centered_ && planner.has_input(3))
      addresses.emplace_back(&parameters.shift, Planner::in(3));
    if (planner.has_input(bias)) addresses.emplace_back(&parameters.bias, Planner::in(bias));
    if (planner.wants(3))
      addresses.emplace_back(&parameters.sum, planner.output(3, x.dtype, x.shape));
    launch_norm(planner, parameters, addresses,
                {x.dtype, planner.input(2).dtype, GANTRY_FLOAT, is_centered_});
  }

 private:
  bool is_centered_;
  float epsilon_;
};

std::string has_no_statistics(const NodeView& node) {
  return node.output(1).present() || node.output(2).present()
             ? "the mean and the deviation of it are not supported"
             : "";
}

constexpr const char* kMicrosoft = "com.microsoft";

constexpr sdk::KernelRow kRows[] = {
    {"LayerNormalization", 17, sdk::kLatest, sdk::kFloats, make<LayerNorm>},
    {"RMSNormalization", 23, sdk::kLatest, sdk::kFloats, make<LayerNorm>},
    {"SimplifiedLayerNormalization", 1, sdk::kLatest, sdk::kFloats, make<LayerNorm>},
    {"SkipLayerNormalization",
     1,
     sdk::kLatest,
     sdk::kFloats,
     make<SkipNorm>,
     {},
     has_no_statistics,
     kMicrosoft},
    {"SkipSimplifiedLayerNormalization",
     1,
     sdk::kLatest,
     sdk::kFloats,
     make<SkipNorm>,
     {},
     has_no_statistics,
     kMicrosoft},
};

}  // namespace

void launch_norm(Planner& planner, NormParameters& parameters, const Addresses& addresses,
                 const NormTypes& types) {
  if (parameters.length == 0) return;
  std::string body = "\ntypedef " + type_name(types.tensor) + " T;\ntypedef " +
                     type_name(types.scale) + " S;\ntypedef " + type_name(types.mean) +
                     " M;\ntypedef " + computed_name(types.tensor) + " C;\n" +
                     (types.is_centered ? "#define CENTERED\n" : "");
  const int64_t vector = vector_of(parameters.length, types.tensor);
  const int64_t packs = parameters.length / vector;
  parameters.shares = shares_of(planner, parameters.rows, packs);
  if (parameters.shares == 1 && launch_wide(planner, parameters, addresses, types, body)) return;
  body += std::string("typedef ") + index_type(parameters.length < int64_t{1} << 31) + " Index;\n" +
          define("VECTOR", vector);
  Addresses all = addresses;
  const auto launch = [&](const std::string& which, int threads) {
    planner.launch(kernel_source({"index.h", "index.cu", "rows.h", "block_reduce.cu"},
                                 body + which + std::string(kernel_text("moments.cu")) +
                                     std::string(kernel_text("norm.cu"))),
                   std::min<int64_t>(parameters.rows * parameters.shares, int64_t{1} << 20),
                   threads, parameters, all);
  };
  if (parameters.shares == 1) return launch("", threads_for_row(packs));
  const int64_t bytes = types.tensor == GANTRY_DOUBLE ? 8 : 4;
  all.emplace_back(
      &parameters.partial,
      planner.scratch(static_cast<uint64_t>(2 * bytes * parameters.rows * parameters.shares)));
  launch("#define ONLY_PARTS\n", kThreadsOfShare);
  launch("#define FROM_PARTS\n", kThreadsOfShare);
}

sdk::KernelTable norm_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
