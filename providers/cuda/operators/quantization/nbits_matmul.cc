// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft, alone, with an addend, or grouped. A few rows are multiplied by the
// packed weights (GEMV, bound by memory bandwidth); for many rows the weights are dequantised
// first.
#include "kernels/quantization/nbits_matmul.h"

#include <algorithm>
#include <bit>

#include "compile/kernel_texts.h"
#include "fuse/matmul_group.h"
#include "fuse/nbits_matmul.h"
#include "operators/linear_algebra/rows_matmul.h"
#include "operators/operators.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

enum Slot : int { kX, kWeights, kScales, kZeros, kOrder, kBias };

constexpr int64_t kMostRowsAsTheyLie = 16;
constexpr int64_t kMostRowsAtOnce = 8;
constexpr int kWarps = 8;
static_assert(kMostGrouped <= MOST_NBITS_MATMULS);

std::string source_of(const std::string& defines, std::initializer_list<const char*> files) {
  std::string body = defines + std::string(kernel_text("nbits_zero_point.cu"));
  for (const char* file : files) body += kernel_text(file);
  return kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "nbits_matmul.h"}, body);
}

// One node: its attributes and the position of its slots in the claim.
class NBitsMatmul {
 public:
  NBitsMatmul(const NodeView& node, int first, int output, bool has_addend = false)
      : first_(first),
        output_(output),
        has_addend_(has_addend),
        slots_(node.input_count()),
        inner_(node.get_int("K", 0)),
        columns_(node.get_int("N", 0)),
        bits_(node.get_int("bits", 4)),
        block_(node.get_int("block_size", 0)) {}

  [[nodiscard]] int64_t bits() const { return bits_; }

  [[nodiscard]] Buffer plan_output(Planner& planner) const {
    const InputMetadata& x = planner.input(first_ + kX);
    Extents shape = x.shape;
    if (shape.empty() || shape.back() != inner_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 0 has the shape " + text_of(x.shape) +
                                                    ", its last extent must be " +
                                                    std::to_string(inner_));
    }
    shape.back() = columns_;
    if (has_addend_ && planner.shape(first_ + slots_) != shape) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "the addend has the shape " +
                                                    text_of(planner.shape(first_ + slots_)) +
                                                    ", expected that of the result, " +
                                                    text_of(shape) + ", as the model says");
    }
    return planner.output(output_, x.dtype, shape);
  }

  [[nodiscard]] NBitsMatmulParameters parameters(const Planner& planner) const {
    const Extents& x = planner.shape(first_ + kX);
    NBitsMatmulParameters parameters = {};
    parameters.rows = count_of(x, 0, x.size() - 1);
    parameters.columns = columns_;
    parameters.inner = inner_;
    parameters.block = block_;
    parameters.blocks = (inner_ + block_ - 1) / block_;
    parameters.zero_bytes = (parameters.blocks * bits_ + 7) / 8;
    check_sizes(planner, parameters);
    return parameters;
  }

  void unpack(Planner& planner, NBitsMatmulParameters& parameters, const Buffer& y) const {
    const uint32_t dtype = planner.input(first_ + kX).dtype;
    const Buffer matrix =
        planner.scratch(static_cast<uint64_t>(columns_ * inner_ * bytes_of(dtype)));
    const int64_t in_word = 32 / bits_;
    parameters.words = divisor_of((inner_ + in_word - 1) / in_word);
    const int64_t words = columns_ * parameters.words.divisor;
    const std::string index =
        std::string("typedef ") + index_type(words < int64_t{1} << 31) + " Index;\n";
    planner.launch(source_of(types(planner) + index + lengths(), {"nbits_dequantize.cu"}),
                   blocks_for(planner, words), kThreads, parameters,
                   addresses_of(planner, parameters, matrix, false));
    const Buffer bias = Planner::in(first_ + kBias);
    const Buffer added = addend();
    plan_rows_matmul(planner, {dtype, parameters.rows, columns_, inner_}, Planner::in(first_ + kX),
                     matrix, has(planner, kBias) ? &bias : nullptr, y,
                     has_addend_ ? &added : nullptr);
  }

  // Definitions for the GEMV kernel. `columns`: per warp.
  [[nodiscard]] std::string text_of_rows(const Planner& planner, int64_t rows,
                                         int64_t columns) const {
    // 32-bit words per load: those of a block, at most 16 bytes.
    const int64_t words = std::min<int64_t>(4, block_ * bits_ / 32);
    return types(planner) + "#define ROWS " + std::to_string(rows) + "\n#define COLUMNS " +
           std::to_string(columns) + "\n#define WORDS " + std::to_string(words) + "\n" + lengths();
  }

  [[nodiscard]] Addresses addresses_of(const Planner& planner, const NBitsMatmulParameters& p,
                                       const Buffer& result, bool is_matmul) const {
    Addresses addresses = {{&p.result, result},
                           {&p.weights, Planner::in(first_ + kWeights)},
                           {&p.scales, Planner::in(first_ + kScales)}};
    if (has(planner, kZeros)) addresses.emplace_back(&p.zeros, Planner::in(first_ + kZeros));
    if (!is_matmul) return addresses;
    addresses.emplace_back(&p.x, Planner::in(first_ + kX));
    if (has(planner, kBias)) addresses.emplace_back(&p.bias, Planner::in(first_ + kBias));
    if (has_addend_) addresses.emplace_back(&p.added, addend());
    return addresses;
  }

 private:
  [[nodiscard]] Buffer addend() const { return Planner::in(first_ + slots_); }

  [[nodiscard]] bool has(const Planner& planner, int slot) const {
    return slot < slots_ && planner.has_input(first_ + slot);
  }

  void check_sizes(const Planner& planner, const NBitsMatmulParameters& p) const {
    const int64_t bytes = columns_ * p.blocks * block_ * bits_ / 8;
    if (planner.input(first_ + kWeights).element_count() != bytes ||
        planner.input(first_ + kScales).element_count() != columns_ * p.blocks) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the matrix has the shape " + text_of(planner.shape(first_ + kWeights)) +
                           " and its scales " + text_of(planner.shape(first_ + kScales)) +
                           ", expected " + std::to_string(bytes) + " bytes and " +
                           std::to_string(columns_ * p.blocks) + " scales");
    }
  }

  // Definitions of the block size, and of whether rows are whole words.
  [[nodiscard]] std::string lengths() const {
    const bool is_whole = inner_ % (32 / bits_) == 0;
    return std::string("#define IS_WHOLE ") + (is_whole ? "1" : "0") + "\n#define BLOCK_BITS " +
           std::to_string(std::countr_zero(static_cast<uint64_t>(block_))) + "\n";
  }

  // Definitions of types and bits.
  [[nodiscard]] std::string types(const Planner& planner) const {
    const uint32_t dtype = planner.input(first_ + kX).dtype;
    const bool has_zeros = has(planner, kZeros);
    const uint32_t zeros =
        has_zeros ? planner.input(first_ + kZeros).dtype : uint32_t{GANTRY_UINT8};
    return "\ntypedef " + type_name(dtype) + " T;\ntypedef " +
           type_name(planner.input(first_ + kScales).dtype) + " S;\ntypedef " + type_name(zeros) +
           " Z;\ntypedef " + computed_name(dtype) + " C;\n#define BITS " + std::to_string(bits_) +
           "\n#define ZEROS " +
           (!has_zeros              ? "0"
            : zeros == GANTRY_UINT8 ? "1"
                                    : "2") +
           "\n";
  }

  int first_;
  int output_;
  bool has_addend_;  // in the slot behind the node's own
  int slots_;
  int64_t inner_;
  int64_t columns_;
  int64_t bits_;
  int64_t block_;
};

// One node, or several with the same x.
class NBitsMatmulGroup final : public Operation {
 public:
  explicit NBitsMatmulGroup(const NodeView& node, bool has_addend = false) {
    matmuls_.emplace_back(node, 0, 0, has_addend);
  }
  explicit NBitsMatmulGroup(const std::vector<NodeView>& nodes) {
    int first = 0;
    for (const NodeView& node : nodes) {
      matmuls_.emplace_back(node, first, static_cast<int>(matmuls_.size()));
      first += node.input_count();
    }
  }

  void plan(Planner& planner) const override {
    std::vector<Buffer> results;
    std::vector<NBitsMatmulParameters> parameters;
    int64_t columns = 0;
    for (const NBitsMatmul& matmul : matmuls_) {
      results.push_back(matmul.plan_output(planner));
      parameters.push_back(matmul.parameters(planner));
      columns += parameters.back().columns;
    }
    const int64_t rows = parameters.front().rows;
    if (rows == 0) return;
    if (rows > kMostRowsAsTheyLie) {
      for (size_t i = 0; i < matmuls_.size(); ++i)
        matmuls_[i].unpack(planner, parameters[i], results[i]);
      return;
    }
    const int64_t at_once = std::min<int64_t>(rows, kMostRowsAtOnce);
    const int64_t of_warp = columns_of_warp(planner, at_once, columns);
    const std::string text = matmuls_.front().text_of_rows(planner, at_once, of_warp);
    const bool is_alike =
        std::all_of(matmuls_.begin(), matmuls_.end(), [&](const NBitsMatmul& matmul) {
          return matmul.text_of_rows(planner, at_once, of_warp) == text;
        });
    if (is_alike && matmuls_.size() > 1)
      return launch_group(planner, parameters, results, text, {at_once, of_warp});
    for (size_t i = 0; i < matmuls_.size(); ++i) {
      NBitsMatmulParameters& p = parameters[i];
      const int64_t own = columns_of_warp(planner, at_once, p.columns);
      const int64_t blocks = spread(planner, p, {at_once, own}, matmuls_[i].bits());
      planner.launch(source_of(matmuls_[i].text_of_rows(planner, at_once, own),
                               {"nbits_gemv.cu", "nbits_gemv_single.cu"}),
                     blocks, 32 * kWarps, p,
                     matmuls_[i].addresses_of(planner, p, results[i], true));
    }
  }

 private:
  // Work of a warp.
  struct Share {
    int64_t rows, columns;
  };

  // Columns per warp. They share the loads of x, so there are more of them for fewer rows, as long
  // as every multiprocessor has a block.
  static int64_t columns_of_warp(const Planner& planner, int64_t rows, int64_t all) {
    int64_t columns = rows <= 2 ? 4 : rows <= 4 ? 2 : 1;
    while (columns > 1 && all < columns * kWarps * planner.multiprocessors) columns /= 2;
    return columns;
  }

  // Sets the tile count of a matmul; returns its number of thread blocks.
  static int64_t spread(const Planner& planner, NBitsMatmulParameters& p, const Share& share,
                        int64_t bits) {
    p.column_tiles = (p.columns + share.columns * kWarps - 1) / (share.columns * kWarps);
    const int64_t of_block = share.columns * kWarps * p.blocks * p.block * bits / 8;
    p.prefetch_bytes = prefetch_bytes_for(planner, p.column_tiles, of_block) / kWarps;
    return p.column_tiles * ((p.rows + share.rows - 1) / share.rows);
  }

  void launch_group(Planner& planner, const std::vector<NBitsMatmulParameters>& parameters,
                    const std::vector<Buffer>& results, const std::string& text,
                    const Share& share) const {
    NBitsGroupParameters group = {};
    Addresses addresses;
    int64_t blocks = 0;
    for (size_t i = 0; i < matmuls_.size(); ++i) {
      NBitsMatmulParameters& p = group.matmuls[i];
      p = parameters[i];
      group.blocks[i] = static_cast<unsigned>(spread(planner, p, share, matmuls_[i].bits()));
      blocks += group.blocks[i];
      const Addresses own = matmuls_[i].addresses_of(planner, p, results[i], true);
      addresses.insert(addresses.end(), own.begin(), own.end());
    }
    planner.launch(source_of(text, {"nbits_gemv.cu", "nbits_gemv_group.cu"}), blocks, 32 * kWarps,
                   group, addresses);
  }

  std::vector<NBitsMatmul> matmuls_;
};

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

constexpr sdk::KernelRow kRows[] = {
    {"MatMulNBits",
     1,
     sdk::kLatest,
     kTypes,
     make<NBitsMatmulGroup>,
     {},
     nbits_matmul_refusal,
     "com.microsoft"},
};

std::unique_ptr<sdk::Kernel> make_fused(const sdk::FusionCompile& compile,
                                        const MatmulFusion& fusion) {
  return kernel_of(std::make_unique<NBitsMatmulGroup>(compile.scope.index().node(fusion.root),
                                                      fusion.epilogue.has_addend));
}

std::unique_ptr<sdk::Kernel> make_group(const sdk::FusionCompile& compile,
                                        const MatmulGroupFusion& fusion) {
  std::vector<NodeView> nodes;
  for (const uint32_t node : fusion.nodes) nodes.push_back(compile.scope.index().node(node));
  return kernel_of(std::make_unique<NBitsMatmulGroup>(nodes));
}

}  // namespace

sdk::KernelTable nbits_matmul_kernels() { return sdk::table(kRows); }

sdk::FusionRow nbits_matmul_row() {
  return sdk::fusion_row<MatmulFusion, match_nbits_matmul, no_refusal<MatmulFusion>, make_fused>(
      "cuda.nbits_matmul");
}

sdk::FusionRow nbits_matmul_group_row() {
  return sdk::fusion_row<MatmulGroupFusion, match_nbits_matmul_group, no_refusal<MatmulGroupFusion>,
                         make_group>("cuda.nbits_matmul_group");
}

}  // namespace gantry::cuda
