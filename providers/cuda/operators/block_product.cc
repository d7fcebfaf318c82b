// SPDX-License-Identifier: Apache-2.0
// MatMulNBits of com.microsoft: a few rows are multiplied by the matrix as it lies, which is as
// fast as it can be read; for many rows it is unpacked first.
#include "../kernels/block_product.h"

#include <algorithm>
#include <bit>

#include "../kernel_texts.h"
#include "../product_group.h"
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
static_assert(kMostGrouped <= MOST_BLOCK_PRODUCTS);

std::string source_of(const std::string& defines, std::initializer_list<const char*> files) {
  std::string body = defines + std::string(kernel_text("block_number.cu"));
  for (const char* file : files) body += kernel_text(file);
  return kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "block_product.h"}, body);
}

// A node: what it says, and where its slots begin.
class BlockProduct {
 public:
  BlockProduct(const NodeView& node, int first, int output, bool has_addend = false)
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
    const InputFacts& x = planner.input(first_ + kX);
    Extents shape = x.shape;
    if (shape.empty() || shape.back() != inner_) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input 0 has the shape " + text_of(x.shape) +
                                                    ", its last extent must be " +
                                                    std::to_string(inner_));
    }
    shape.back() = columns_;
    if (has_addend_ && planner.shape(first_ + slots_) != shape) {
      throw sdk::Error(GANTRY_INVALID_ARGUMENT, "what is added has the shape " +
                                                    text_of(planner.shape(first_ + slots_)) +
                                                    ", expected that of the product, " +
                                                    text_of(shape) + ", as the model says");
    }
    return planner.output(output_, x.dtype, shape);
  }

  [[nodiscard]] BlockProductParameters parameters(const Planner& planner) const {
    const Extents& x = planner.shape(first_ + kX);
    BlockProductParameters parameters = {};
    parameters.rows = count_of(x, 0, x.size() - 1);
    parameters.columns = columns_;
    parameters.inner = inner_;
    parameters.block = block_;
    parameters.blocks = (inner_ + block_ - 1) / block_;
    parameters.zero_bytes = (parameters.blocks * bits_ + 7) / 8;
    check_sizes(planner, parameters);
    return parameters;
  }

  void unpack(Planner& planner, BlockProductParameters& parameters, const Buffer& y) const {
    const uint32_t dtype = planner.input(first_ + kX).dtype;
    const Buffer matrix =
        planner.scratch(static_cast<uint64_t>(columns_ * inner_ * bytes_of(dtype)));
    const int64_t in_word = 32 / bits_;
    parameters.words = divisor_of((inner_ + in_word - 1) / in_word);
    const int64_t words = columns_ * parameters.words.divisor;
    const std::string index =
        std::string("typedef ") + index_type(words < int64_t{1} << 31) + " Index;\n";
    planner.launch(source_of(types(planner) + index + lengths(), {"block_unpack.cu"}),
                   blocks_for(planner, words), kThreads, parameters,
                   addresses_of(planner, parameters, matrix, false));
    const Buffer bias = Planner::in(first_ + kBias);
    const Buffer added = addend();
    plan_rows_product(planner, {dtype, parameters.rows, columns_, inner_}, Planner::in(first_ + kX),
                      matrix, has(planner, kBias) ? &bias : nullptr, y,
                      has_addend_ ? &added : nullptr);
  }

  // What the text of a kernel for rows as they lie depends on, with `columns` for each warp.
  [[nodiscard]] std::string text_of_rows(const Planner& planner, int64_t rows,
                                         int64_t columns) const {
    // As many words at a time as lie in a block, at most 16 bytes.
    const int64_t words = std::min<int64_t>(4, block_ * bits_ / 32);
    return types(planner) + "#define ROWS " + std::to_string(rows) + "\n#define COLUMNS " +
           std::to_string(columns) + "\n#define WORDS " + std::to_string(words) + "\n" + lengths();
  }

  [[nodiscard]] Addresses addresses_of(const Planner& planner, const BlockProductParameters& p,
                                       const Buffer& result, bool is_product) const {
    Addresses addresses = {{&p.result, result},
                           {&p.weights, Planner::in(first_ + kWeights)},
                           {&p.scales, Planner::in(first_ + kScales)}};
    if (has(planner, kZeros)) addresses.emplace_back(&p.zeros, Planner::in(first_ + kZeros));
    if (!is_product) return addresses;
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

  void check_sizes(const Planner& planner, const BlockProductParameters& p) const {
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

  // What kernels are told of rows and blocks.
  [[nodiscard]] std::string lengths() const {
    const bool is_whole = inner_ % (32 / bits_) == 0;
    return std::string("#define IS_WHOLE ") + (is_whole ? "1" : "0") + "\n#define BLOCK_BITS " +
           std::to_string(std::countr_zero(static_cast<uint64_t>(block_))) + "\n";
  }

  // Types and bits, for the kernels' text.
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
  bool has_addend_;  // behind the node's slots
  int slots_;
  int64_t inner_;
  int64_t columns_;
  int64_t bits_;
  int64_t block_;
};

// One node, or several that read the same x.
class BlockProducts final : public Operation {
 public:
  explicit BlockProducts(const NodeView& node, bool has_addend = false) {
    products_.emplace_back(node, 0, 0, has_addend);
  }
  explicit BlockProducts(const std::vector<NodeView>& nodes) {
    int first = 0;
    for (const NodeView& node : nodes) {
      products_.emplace_back(node, first, static_cast<int>(products_.size()));
      first += node.input_count();
    }
  }

  void plan(Planner& planner) const override {
    std::vector<Buffer> results;
    std::vector<BlockProductParameters> parameters;
    int64_t columns = 0;
    for (const BlockProduct& product : products_) {
      results.push_back(product.plan_output(planner));
      parameters.push_back(product.parameters(planner));
      columns += parameters.back().columns;
    }
    const int64_t rows = parameters.front().rows;
    if (rows == 0) return;
    if (rows > kMostRowsAsTheyLie) {
      for (size_t i = 0; i < products_.size(); ++i)
        products_[i].unpack(planner, parameters[i], results[i]);
      return;
    }
    const int64_t at_once = std::min<int64_t>(rows, kMostRowsAtOnce);
    const int64_t of_warp = columns_of_warp(planner, at_once, columns);
    const std::string text = products_.front().text_of_rows(planner, at_once, of_warp);
    const bool is_alike =
        std::all_of(products_.begin(), products_.end(), [&](const BlockProduct& product) {
          return product.text_of_rows(planner, at_once, of_warp) == text;
        });
    if (is_alike && products_.size() > 1)
      return launch_group(planner, parameters, results, text, {at_once, of_warp});
    for (size_t i = 0; i < products_.size(); ++i) {
      BlockProductParameters& p = parameters[i];
      const int64_t own = columns_of_warp(planner, at_once, p.columns);
      const int64_t blocks = spread(planner, p, {at_once, own}, products_[i].bits());
      planner.launch(source_of(products_[i].text_of_rows(planner, at_once, own),
                               {"block_rows.cu", "block_rows_alone.cu"}),
                     blocks, 32 * kWarps, p,
                     products_[i].addresses_of(planner, p, results[i], true));
    }
  }

 private:
  // Of a warp.
  struct Share {
    int64_t rows, columns;
  };

  // Columns of a warp share what it reads of x: more of them for fewer rows, as long as every
  // multiprocessor has a block.
  static int64_t columns_of_warp(const Planner& planner, int64_t rows, int64_t all) {
    int64_t columns = rows <= 2 ? 4 : rows <= 4 ? 2 : 1;
    while (columns > 1 && all < columns * kWarps * planner.multiprocessors) columns /= 2;
    return columns;
  }

  // Blocks of threads that make a product.
  static int64_t spread(const Planner& planner, BlockProductParameters& p, const Share& share,
                        int64_t bits) {
    p.column_tiles = (p.columns + share.columns * kWarps - 1) / (share.columns * kWarps);
    const int64_t of_block = share.columns * kWarps * p.blocks * p.block * bits / 8;
    p.foreseen = foreseen_bytes(planner, p.column_tiles, of_block) / kWarps;
    return p.column_tiles * ((p.rows + share.rows - 1) / share.rows);
  }

  void launch_group(Planner& planner, const std::vector<BlockProductParameters>& parameters,
                    const std::vector<Buffer>& results, const std::string& text,
                    const Share& share) const {
    BlockGroupParameters group = {};
    Addresses addresses;
    int64_t blocks = 0;
    for (size_t i = 0; i < products_.size(); ++i) {
      BlockProductParameters& p = group.products[i];
      p = parameters[i];
      group.blocks[i] = static_cast<unsigned>(spread(planner, p, share, products_[i].bits()));
      blocks += group.blocks[i];
      const Addresses own = products_[i].addresses_of(planner, p, results[i], true);
      addresses.insert(addresses.end(), own.begin(), own.end());
    }
    planner.launch(source_of(text, {"block_rows.cu", "block_rows_group.cu"}), blocks, 32 * kWarps,
                   group, addresses);
  }

  std::vector<BlockProduct> products_;
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
    {"MatMulNBits",
     1,
     sdk::kLatest,
     kTypes,
     make<BlockProducts>,
     {},
     is_supported,
     "com.microsoft"},
};

}  // namespace

sdk::KernelTable block_product_kernels() { return sdk::table(kRows); }

bool may_be_block_group(const NodeView& node) {
  if (node.op_type() != "MatMulNBits" || node.domain() != "com.microsoft" ||
      (sdk::dtype_bit(node.input(kX).dtype()) & kTypes) == 0 || !is_supported(node).empty())
    return false;
  for (int slot = kWeights; slot < node.input_count(); ++slot) {
    if (node.input(slot).present() && !node.input(slot).is_constant()) return false;
  }
  return true;
}

std::unique_ptr<Operation> make_block_product(const NodeView& node, bool has_addend) {
  return std::make_unique<BlockProducts>(node, has_addend);
}

std::unique_ptr<Operation> make_block_group(const std::vector<NodeView>& nodes) {
  return std::make_unique<BlockProducts>(nodes);
}

}  // namespace gantry::cuda
