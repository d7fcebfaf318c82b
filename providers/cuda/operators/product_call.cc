// SPDX-License-Identifier: Apache-2.0
#include "product_call.h"

#include <algorithm>
#include <functional>

#include "../kernel_texts.h"
#include "../stream.h"
#include "product_tiles.h"

namespace gantry::cuda {
namespace {

using Addresses = std::vector<std::pair<const void* const*, Buffer>>;

constexpr int64_t kTile = 64;
constexpr int64_t kMostFewRows = 8;
constexpr int64_t kMostSplits = 16;

std::string define(const char* name, int64_t value) {
  return std::string("#define ") + name + " " + std::to_string(value) + "\n";
}

void call_blas(Planner& planner, const ProductCall& call) {
  const ProductShape shape = *call.blas;
  const auto bytes = static_cast<uint64_t>(bytes_of(call.dtype));
  const auto at = [&](const Buffer& buffer, int64_t elements) {
    return buffer.at(static_cast<uint64_t>(elements) * bytes);
  };
  const Buffer workspace = planner.scratch(kBlasWorkspaceBytes);
  for (const ProductOffsets& from : call.repeats) {
    std::vector<Buffer> buffers = {at(call.y, from.y), workspace, at(call.a, from.a),
                                   at(call.b, from.b)};
    if (shape.has_bias) buffers.push_back(*call.bias);
    if (shape.beta != 0) buffers.push_back(at(*call.added, from.y));
    const size_t last = buffers.size() - 1;
    planner.call(std::move(buffers), [shape, last](Stream& stream, void* const* to) {
      stream.device().blas()->run(shape, stream, to[2], to[3], shape.beta != 0 ? to[last] : nullptr,
                                  shape.has_bias ? to[4] : nullptr, to[0], to[1]);
    });
  }
  if (call.activation == shape.activation) return;
  ProductParameters whole = {};
  whole.m = call.parameters.m * call.walk.count();
  whole.n = call.parameters.n;
  planner.launch(product_source(call, "", {"product_activated.cu"}),
                 blocks_for(planner, (whole.m * whole.n + 7) / 8), kThreads, whole,
                 {{&whole.result, call.y}});
}

void launch_simple(Planner& planner, const ProductCall& call) {
  ProductParameters& p = call.parameters;
  p.tiles_m = static_cast<unsigned>((p.m + kTile - 1) / kTile);
  p.tiles_n = static_cast<unsigned>((p.n + kTile - 1) / kTile);
  planner.launch(product_source(call, define("BATCH_RANK", call.walk.rank()), {"product.cu"}),
                 call.walk.count() * p.tiles_m * p.tiles_n, 256, p, product_addresses(call));
}

// Elements that are read as one, 16 bytes of them.
int64_t vector_of(const ProductCall& call) { return 16 / bytes_of(call.dtype); }

// Whether rows of the right factor lie dense and are whole vectors.
bool lies_by_rows(const ProductCall& call) {
  const ProductParameters& p = call.parameters;
  return p.b_column == 1 && p.b_row == p.n && p.n % vector_of(call) == 0;
}

// Whether a few rows meet a matrix whose rows or columns lie dense and in whole vectors. Of a batch
// the matrix must be the same for all.
bool is_of_few_rows(const ProductCall& call) {
  const ProductParameters& p = call.parameters;
  constexpr sdk::DTypeSet kTypes = sdk::dtypes(GANTRY_FLOAT, GANTRY_FLOAT16, GANTRY_BFLOAT16);
  if (!(sdk::dtype_bit(call.dtype) & kTypes)) return false;
  const int64_t batch = call.walk.count();
  const bool is_one = batch == 1 || (call.walk.rank() == 1 && call.walk.strides[1][0] == 0 &&
                                     call.walk.strides[0][0] == p.m * p.k && p.c_row == 0);
  const bool is_dense = p.a_column == 1 && (p.m == 1 || p.a_row == p.k);
  const int64_t vector = vector_of(call);
  const bool lies_by_columns = p.b_row == 1 && p.b_column == p.k;
  return is_one && is_dense && p.m * batch <= kMostFewRows && p.k >= vector && p.k % vector == 0 &&
         (lies_by_rows(call) || lies_by_columns);
}

void launch_by_columns(Planner& planner, const ProductCall& call, ProductParameters& p,
                       const std::string& rows) {
  constexpr int64_t kWarps = 8;
  const int64_t columns = p.n >= 2 * 2 * kWarps * planner.multiprocessors ? 2 : 1;
  const int64_t blocks = (p.n + kWarps * columns - 1) / (kWarps * columns);
  p.foreseen = foreseen_bytes(planner, blocks, kWarps * columns * p.k * bytes_of(call.dtype));
  planner.launch(
      product_source(call, rows + define("COLUMNS", columns), {"few_rows_transposed.cu"}), blocks,
      32 * kWarps, p, product_addresses(call));
}

constexpr int64_t kBlock = 256;  // threads
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostRowsOfLargeBlocks = 2;  // whose sums leave registers for as many threads

int64_t tiles_of(int64_t columns, int64_t width) { return (columns + width - 1) / width; }

// Threads that share the columns of a block: fewer until there are two blocks for each
// multiprocessor.
int64_t lanes_for(const Planner& planner, int64_t columns, int64_t vector) {
  int64_t lanes = 8;
  while (lanes > 2 && tiles_of(columns, lanes * vector) < 2 * planner.multiprocessors) lanes /= 2;
  return lanes;
}

void launch_by_rows(Planner& planner, const ProductCall& call, ProductParameters& p,
                    const std::string& rows) {
  const int64_t vector = vector_of(call);
  const int64_t lanes = lanes_for(planner, p.n, vector);
  const int64_t tiles = tiles_of(p.n, lanes * vector);
  // With less than a block for each multiprocessor there are more threads in each, as far as there
  // is work and room for them, and then the inner axis is shared too.
  const auto rounds = [&](int64_t threads) { return p.k / vector / (threads / lanes); };
  const int64_t wanted = planner.multiprocessors * kBlock;  // threads
  int64_t threads = kBlock;
  while (p.m <= kMostRowsOfLargeBlocks && threads < kMostThreads && tiles * threads < wanted &&
         rounds(2 * threads) > 0)
    threads *= 2;
  p.tiles_n = static_cast<unsigned>(tiles);
  p.splits = static_cast<int>(std::clamp<int64_t>(
      std::min<int64_t>(wanted / std::max<int64_t>(tiles * threads, 1), rounds(threads)), 1,
      kMostSplits));
  p.foreseen = foreseen_bytes(planner, tiles * p.splits, lanes * 16 * p.k / p.splits);
  Addresses addresses = product_addresses(call);
  if (p.splits > 1) {
    const Buffer partial = planner.scratch(static_cast<uint64_t>(p.splits * p.m * p.n * 4));
    addresses.emplace_back(&p.partial, partial);
  }
  const std::string source =
      product_source(call, rows + define("LANES", lanes), {"few_rows.cu", "few_rows_alone.cu"});
  planner.launch(source, tiles * p.splits, static_cast<int>(threads), p, addresses);
  if (p.splits > 1) {
    planner.launch(product_source(call, "", {"few_rows_join.cu"}), blocks_for(planner, p.m * p.n),
                   kThreads, p, addresses);
  }
}

void launch_few_rows(Planner& planner, const ProductCall& call) {
  ProductParameters& p = call.parameters;
  p.m *= call.walk.count();
  const std::string rows = define("ROWS", p.m) + define("VECTOR", vector_of(call));
  if (lies_by_rows(call)) {
    launch_by_rows(planner, call, p, rows);
  } else {
    launch_by_columns(planner, call, p, rows);
  }
}

// Several products of few rows in one launch.
void launch_group(Planner& planner, const std::vector<ProductCall>& calls) {
  const ProductCall& first = calls.front();
  const int64_t vector = vector_of(first);
  int64_t columns = 0;
  for (const ProductCall& call : calls) columns += call.parameters.n;
  const int64_t lanes = lanes_for(planner, columns, vector);
  ProductGroupParameters group = {};
  Addresses addresses;
  int64_t blocks = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    ProductParameters& p = group.products[i];
    p = calls[i].parameters;
    p.tiles_n = static_cast<unsigned>(tiles_of(p.n, lanes * vector));
    p.splits = 1;
    p.foreseen = foreseen_bytes(planner, tiles_of(columns, lanes * vector), lanes * 16 * p.k);
    blocks += p.tiles_n;
    addresses.emplace_back(&p.result, calls[i].y);
    addresses.emplace_back(&p.a, calls[i].a);
    addresses.emplace_back(&p.b, calls[i].b);
    if (calls[i].bias) addresses.emplace_back(&p.c, *calls[i].bias);
  }
  planner.launch(product_source(first,
                                define("ROWS", first.parameters.m) + define("VECTOR", vector) +
                                    define("LANES", lanes),
                                {"few_rows.cu", "few_rows_group.cu"}),
                 blocks, kBlock, group, addresses);
}

using Ways = std::vector<std::function<void()>>;

// The library's is the first if `has_blas`; without it nothing is timed, and the last is taken.
void plan_ways(Planner& planner, const Ways& ways, bool has_blas, const std::string& text,
               std::vector<std::string> families) {
  if (ways.size() == 1 || !has_blas) return ways.back()();
  for (const auto& way : ways) {
    planner.begin_way();
    way();
  }
  planner.end_choice(text, std::move(families));
}

}  // namespace

Addresses product_addresses(const ProductCall& call) {
  const ProductParameters& p = call.parameters;
  Addresses addresses = call.more;
  addresses.emplace_back(&p.result, call.y);
  addresses.emplace_back(&p.a, call.a);
  addresses.emplace_back(&p.b, call.b);
  return addresses;
}

std::string product_source(const ProductCall& call, const std::string& defines,
                           std::initializer_list<const char*> files) {
  const char* const gelu = call.activation == ProductActivation::kGeluTanh ? "1\n"
                           : call.activation == ProductActivation::kGelu   ? "2\n"
                                                                           : "0\n";
  std::string texts(kernel_text("product_result.cu"));
  for (const char* file : files) texts += kernel_text(file);
  return kernel_source({"index.h", "index.cu", "product.h"},
                       "\ntypedef " + type_name(call.dtype) + " T;\ntypedef " +
                           computed_name(call.dtype) + " C;\n#define GELU " + gelu + defines +
                           texts);
}

void plan_products(Planner& planner, const std::vector<ProductCall>& calls) {
  const auto all = [&](const auto& holds) {
    return calls.size() <= MOST_PRODUCTS && std::all_of(calls.begin(), calls.end(), holds);
  };
  const bool is_few =
      all([](const auto& call) { return is_of_few_rows(call) && lies_by_rows(call); });
  const bool is_tiles = !is_few && all(takes_product_tiles);
  if (!is_few && !is_tiles) {
    for (const ProductCall& call : calls) plan_product(planner, call);
    return;
  }
  const bool has_blas =
      all([&](const auto& call) { return call.blas && planner.supports(*call.blas); });
  std::string text = is_few ? "group of few rows 1" : "group of tiles 1";
  Ways ways;
  if (has_blas) {
    ways.emplace_back([&] {
      for (const ProductCall& call : calls) call_blas(planner, call);
    });
    for (const ProductCall& call : calls) text += "|" + call.blas->text();
  }
  ways.emplace_back(
      [&] { is_few ? launch_group(planner, calls) : launch_product_tiles(planner, calls); });
  // Constant matrices: of few rows there are as many variants of them as numbers of these.
  plan_ways(planner, ways, has_blas, text,
            is_few || !has_blas ? std::vector<std::string>() : calls.front().blas->families());
}

void plan_product(Planner& planner, const ProductCall& call) {
  const bool has_blas = call.blas && planner.supports(*call.blas);
  const bool is_few = is_of_few_rows(call);
  Ways ways;
  if (has_blas) ways.emplace_back([&] { call_blas(planner, call); });
  if (is_few) ways.emplace_back([&] { launch_few_rows(planner, call); });
  if (!is_few && takes_product_tiles(call)) {
    ways.emplace_back([&] { launch_product_tiles(planner, {call}); });
    if (shares_inner_axis(planner, call))
      ways.emplace_back([&] { launch_shared_product_tiles(planner, call); });
  }
  if (ways.empty()) return launch_simple(planner, call);
  plan_ways(planner, ways, has_blas,
            has_blas ? (is_few ? "few rows 1|" : "tiles 1|") + call.blas->text() : "",
            has_blas ? call.blas->families() : std::vector<std::string>());
}

}  // namespace gantry::cuda
