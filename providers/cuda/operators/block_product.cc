// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft: a few rows are multiplied by the matrix as it lies, which is as
// fast as it can be read; for many rows it is unpacked first.
#include "../kernels/block_product.h"

#include <algorithm>
#include <bit>

#include "../kernel_texts.h"
#include "operators.h"
#include "rows_product.h"

namespace gantry::cuda {
namespace {

using sdk::NodeView;
using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

enum Slot : int { kX, kWeights, kScales, kZeros, kOrder, kBias };

constexpr int64_t kMostRowsAsTheyLie = 16;
constexpr int64_t kMostRowsAtOnce = 8;
constexpr int kWarps = 8;

class BlockProduct final : public Operation {
 public:
  explicit BlockProduct(const NodeView& node)
      : inner_(node.get_int("K", 0)),
        columns_(node.get_int("N", 0)),
        bits_(node.get_int("bits", 4)),
        block_(node.get_int("block_size", 0)) {}

  void plan(Planner& planner) const override {
    const InputFacts& x = planner.input(kX);
    if (x.shape.empty() || x.shape.back() != inner_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 0 has the shape " + text_of(x.shape) +
                                                    ", its last extent must be " +
                                                    std::to_string(inner_));
    }
    Extents shape = x.shape;
    shape.back() = columns_;
    const Buffer y = planner.output(0, x.dtype, shape);
    BlockProductParameters parameters = {};
    parameters.rows = count_of(x.shape, 0, x.shape.size() - 1);
    parameters.columns = columns_;
    parameters.inner = inner_;
    parameters.block = block_;
    parameters.blocks = (inner_ + block_ - 1) / block_;
    parameters.zero_bytes = (parameters.blocks * bits_ + 7) / 8;
    check_sizes(planner, parameters);
    if (parameters.rows == 0) return;
    if (parameters.rows <= kMostRowsAsTheyLie) return as_it_lies(planner, parameters, y);
    const Buffer matrix =
        planner.scratch(static_cast<uint64_t>(columns_ * inner_ * bytes_of(x.dtype)));
    unpack(planner, parameters, matrix);
    const Buffer bias = Planner::in(kBias);
    plan_rows_product(planner, {x.dtype, parameters.rows, columns_, inner_}, Planner::in(kX),
                      matrix, planner.has_input(kBias) ? &bias : nullptr, y);
  }

 private:
  void unpack(Planner& planner, BlockProductParameters& parameters, const Buffer& matrix) const {
    const int64_t in_word = 32 / bits_;
    parameters.words = divisor_of((inner_ + in_word - 1) / in_word);
    const int64_t words = columns_ * parameters.words.divisor;
    const std::string more =
        std::string("typedef ") + index_type(words < int64_t{1} << 31) + " Index;\n" + lengths();
    planner.launch(source_of(planner, "block_unpack.cu", more), blocks_for(planner, words),
                   kThreads, parameters, addresses_of(planner, parameters, matrix, false));
  }

  // What kernels are told of rows and blocks.
  [[nodiscard]] std::string lengths() const {
    const bool is_whole = inner_ % (32 / bits_) == 0;
    return std::string("#define IS_WHOLE ") + (is_whole ? "1" : "0") + "\n#define BLOCK_BITS " +
           std::to_string(std::countr_zero(static_cast<uint64_t>(block_))) + "\n";
  }

  void check_sizes(const Planner& planner, const BlockProductParameters& p) const {
    const int64_t bytes = columns_ * p.blocks * block_ * bits_ / 8;
    if (planner.input(kWeights).element_count() != bytes ||
        planner.input(kScales).element_count() != columns_ * p.blocks) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                       "the matrix has the shape " + text_of(planner.shape(kWeights)) +
                           " and its scales " + text_of(planner.shape(kScales)) + ", expected " +
                           std::to_string(bytes) + " bytes and " +
                           std::to_string(columns_ * p.blocks) + " scales");
    }
  }

  void as_it_lies(Planner& planner, BlockProductParameters& parameters, const Buffer& y) const {
    const int64_t rows = std::min<int64_t>(parameters.rows, kMostRowsAtOnce);
    // Columns of a warp share what it reads of x: more of them for fewer rows, as long as every
    // multiprocessor has a block.
    int64_t columns = rows <= 2 ? 4 : rows <= 4 ? 2 : 1;
    while (columns > 1 && columns_ < columns * kWarps * planner.multiprocessors) columns /= 2;
    parameters.column_tiles = (columns_ + columns * kWarps - 1) / (columns * kWarps);
    // As many words at a time as lie in a block, at most 16 bytes.
    const int64_t words = std::min<int64_t>(4, block_ * bits_ / 32);
    const std::string more = "#define ROWS " + std::to_string(rows) + "\n#define COLUMNS " +
                             std::to_string(columns) + "\n#define WORDS " + std::to_string(words) +
                             "\n" + lengths();
    planner.launch(source_of(planner, "block_rows.cu", more),
                   parameters.column_tiles * ((parameters.rows + rows - 1) / rows), 32 * kWarps,
                   parameters, addresses_of(planner, parameters, y, true));
  }

  static Addresses addresses_of(const Planner& planner, const BlockProductParameters& p,
                                const Buffer& result, bool is_product) {
    Addresses addresses = {{&p.result, result},
                           {&p.weights, Planner::in(kWeights)},
                           {&p.scales, Planner::in(kScales)}};
    if (planner.has_input(kZeros)) addresses.emplace_back(&p.zeros, Planner::in(kZeros));
    if (!is_product) return addresses;
    addresses.emplace_back(&p.x, Planner::in(kX));
    if (planner.has_input(kBias)) addresses.emplace_back(&p.bias, Planner::in(kBias));
    return addresses;
  }

  [[nodiscard]] std::string source_of(const Planner& planner, const char* file,
                                      const std::string& more) const {
    const uint32_t dtype = planner.input(kX).dtype;
    const bool has_zeros = planner.has_input(kZeros);
    const uint32_t zeros = has_zeros ? planner.input(kZeros).dtype : uint32_t{GANTRY_UINT8};
    return kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "block_product.h"},
                         "\ntypedef " + type_name(dtype) + " T;\ntypedef " +
                             type_name(planner.input(kScales).dtype) + " S;\ntypedef " +
                             type_name(zeros) + " Z;\ntypedef " + computed_name(dtype) +
                             " C;\n#define BITS " + std::to_string(bits_) + "\n#define ZEROS " +
                             (!has_zeros              ? "0"
                              : zeros == GANTRY_UINT8 ? "1"
                                                      : "2") +
                             "\n" + more + std::string(kernel_text("block_number.cu")) +
                             std::string(kernel_text(file)));
  }

  int64_t inner_;
  int64_t columns_;
  int64_t bits_;
  int64_t block_;
};

std::string is_supported(const NodeView& node) {
  const int64_t bits = node.get_int("bits", 4);
  const int64_t block = node.get_int("block_size", 0);
  if (bits != 4 && bits != 8) return "matrices of other than 4 or 8 bits are not supported";
  if (block < 16 || (block & (block - 1)) != 0)
    return "the length of a block is no power of 2 of 16 or more";
  if (node.input(kOrder).present()) return "an order of the rows (g_idx) is not supported";
  return "";
}

constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);

constexpr sdk::KernelRow kRows[] = {
    {"MatMulNBits", 1, sdk::kLatest, kTypes, make<BlockProduct>, {}, is_supported, "com.microsoft"},
};

}  // namespace

sdk::KernelTable block_product_kernels() { return sdk::table(kRows); }

}  // namespace gantry::cuda
