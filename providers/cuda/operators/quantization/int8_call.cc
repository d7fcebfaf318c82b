// SPDX-License-Identifier: Apache-2.0
#include "operators/quantization/int8_call.h"

#include <algorithm>

#include "compile/kernel_texts.h"

namespace gantry::cuda {
namespace {

constexpr int64_t kPositionsOfBlock = 64;
constexpr int64_t kWordsOfBlock = 16;
constexpr int64_t kStrip = 64;  // of the inner axis, in the tiled kernels

bool is_centred(const sdk::ValueView& data, const sdk::ValueView& zero) {
  const int wanted = data.dtype() == GANTRY_UINT8 ? 128 : 0;
  if (!zero.present()) return wanted == 0;
  const gantry_tensor* tensor = zero.constant();
  if (!tensor) return false;
  const auto* bytes = static_cast<const uint8_t*>(tensor->data);
  return std::all_of(bytes, bytes + tensor->size_bytes,
                     [&](uint8_t byte) { return byte == wanted; });
}

// Stride of a scale or zero point: 0 for one element, 1 for one per each of `count`.
int64_t step_of(const Planner& planner, int slot, int64_t count) {
  const int64_t found = planner.input(slot).element_count();
  if (found == 1) return 0;
  if (found == count) return 1;
  throw sdk::Error(GANTRY_INVALID_ARGUMENT, "input " + std::to_string(slot) + " has the shape " +
                                                text_of(planner.shape(slot)) +
                                                ", expected one number or " +
                                                std::to_string(count));
}

bool has(const Planner& planner, int slot) { return slot >= 0 && planner.has_input(slot); }

}  // namespace

Int8Problem int8_problem(const sdk::NodeView& node) {
  Int8Problem work;
  Int8Slots& slots = work.slots;
  work.is_linear = node.op_type().substr(0, 7) == "QLinear";
  if (work.is_linear) {
    slots = {0, 1, 2, 3, 4, 5, -1, -1, 6, 7};
    if (node.input(8).present()) slots.bias = 8;
    work.dtype = node.input(7).dtype();
  } else {
    slots.x_zero = 2;
    slots.w_zero = 3;
  }
  work.has_constant_w = node.input(slots.w).is_constant();
  work.is_x_centred = is_centred(node.input(slots.x), node.input(slots.x_zero));
  work.is_w_centred = is_centred(node.input(slots.w), node.input(slots.w_zero));
  return work;
}

Int8Problem int8_problem(const sdk::FusionCompile& compile, const Int8Fusion& fusion) {
  const sdk::GraphIndex& index = compile.scope.index();
  const auto slot_of = [&](uint32_t value) {
    return value == GANTRY_NONE ? -1 : compile.slot_of(value);
  };
  const Int8Operands& roles = fusion.roles;
  Int8Problem work;
  work.slots = {slot_of(roles.x),     slot_of(roles.x_scale),    slot_of(roles.x_zero),
                slot_of(roles.w),     slot_of(roles.w_scale),    slot_of(roles.w_zero),
                slot_of(roles.bias),  slot_of(roles.bias_scale), slot_of(roles.y_scale),
                slot_of(roles.y_zero)};
  work.dtype = fusion.dtype;
  work.least = fusion.least;
  work.most = fusion.most;
  work.has_constant_w = index.value(roles.w).is_constant();
  work.is_x_centred = is_centred(index.value(roles.x), index.value(roles.x_zero));
  work.is_w_centred = is_centred(index.value(roles.w), index.value(roles.w_zero));
  return work;
}

void add_result(const Planner& planner, const Int8Problem& work, bool is_conv, int64_t rows,
                int64_t columns, const Buffer& y, Int8Epilogue& result, Int8Addresses& addresses) {
  const Int8Slots& slots = work.slots;
  const auto add = [&](const void* const* member, int slot, int64_t count) {
    if (!has(planner, slot)) return int64_t{0};
    addresses.emplace_back(member, Planner::in(slot));
    return step_of(planner, slot, count);
  };
  const auto as_member = [](const float* const* member) {
    return reinterpret_cast<const void* const*>(member);
  };
  addresses.emplace_back(&result.result, y);
  const int64_t channels = is_conv ? rows : columns;
  // The x of a convolution has one scale and one zero point.
  result.left_zero_step = add(&result.left_zero, is_conv ? slots.w_zero : slots.x_zero, rows);
  result.right_zero_step = add(&result.right_zero, is_conv ? slots.x_zero : slots.w_zero, columns);
  result.left_scale_step =
      add(as_member(&result.left_scale), is_conv ? slots.w_scale : slots.x_scale, rows);
  result.right_scale_step =
      add(as_member(&result.right_scale), is_conv ? slots.x_scale : slots.w_scale, columns);
  const int64_t bias_step = add(&result.bias, slots.bias, channels);
  result.bias_row_step = is_conv ? bias_step : 0;
  result.bias_column_step = is_conv ? 0 : bias_step;
  result.bias_scale_step = add(as_member(&result.bias_scale), slots.bias_scale, channels);
  result.result_scale_step =
      add(as_member(&result.result_scale), slots.y_scale, is_conv ? 1 : rows);
  const int64_t zero_step = add(&result.result_zero, slots.y_zero, is_conv ? 1 : rows);
  if (has(planner, slots.y_zero) && zero_step != result.result_scale_step) {
    throw sdk::Error(GANTRY_INVALID_ARGUMENT,
                     "the scale and the zero point of the result have the shapes " +
                         text_of(planner.shape(slots.y_scale)) + " and " +
                         text_of(planner.shape(slots.y_zero)) + ", expected one shape");
  }
  result.least = work.least;
  result.most = work.most;
}

std::string text_of_result(const Planner& planner, const Int8Problem& work, bool is_conv,
                           bool is_shared) {
  const std::string x = type_name(planner.input(work.slots.x).dtype);
  const std::string w = type_name(planner.input(work.slots.w).dtype);
  const char* makes = work.dtype == GANTRY_INT32   ? "SUMS"
                      : work.dtype == GANTRY_FLOAT ? "FLOATS"
                                                   : "BYTES";
  const char* linear = work.is_linear ? "1\n" : "0\n";
  return join({"\ntypedef ", is_conv ? w : x, " L;\ntypedef ", is_conv ? x : w, " R;\ntypedef ",
               type_name(work.dtype), " T;\n#define MAKES ", makes, "\n#define ADDS_INTEGERS ",
               linear, "#define IS_LINEAR ", linear, "#define IS_SPLIT ", is_shared ? "1\n" : "0\n",
               kernel_text("int8_epilogue.cu")});
}

const char* flip_of(uint32_t dtype) { return dtype == GANTRY_UINT8 ? "0x80808080u" : "0u"; }

Int8Tile tile_for(const Planner& planner, int64_t rows, int64_t columns, int64_t batch) {
  const auto blocks = [&](const Int8Tile& tile) {
    return (rows + tile.rows - 1) / tile.rows * ((columns + tile.columns - 1) / tile.columns) *
           batch;
  };
  // The largest tile that leaves one block for each multiprocessor.
  constexpr Int8Tile kFew[] = {{16, 128, 1}, {16, 64, 1}};
  constexpr Int8Tile kMany[] = {{128, 128, 2}, {64, 64, 2}};
  const Int8Tile* tiles = rows <= 16 ? kFew : kMany;
  return blocks(tiles[0]) >= planner.multiprocessors ? tiles[0] : tiles[1];
}

std::string text_of_tile(const Int8Tile& tile, bool sums_left, bool sums_right) {
  return join({"#define TILE_M ", std::to_string(tile.rows), "\n#define TILE_N ",
               std::to_string(tile.columns), "\n#define WARPS_M ", std::to_string(tile.warp_rows),
               "\n#define SUMS_LEFT ", sums_left ? "1" : "0", "\n#define SUMS_RIGHT ",
               sums_right ? "1\n" : "0\n", kernel_text("int8_tiles.cu")});
}

int64_t plan_split_k(Planner& planner, const Int8Tiles& tiles, Int8Epilogue& result,
                     Int8Addresses& addresses) {
  // At least this many strips per block, so that adding partial sums does not dominate.
  constexpr int64_t kLeastStrips = 4;
  constexpr int64_t kMostShares = 16;
  const int64_t strips = (tiles.depth + kStrip - 1) / kStrip;
  const int64_t wanted = std::min({2 * planner.multiprocessors / std::max<int64_t>(tiles.blocks, 1),
                                   strips / kLeastStrips, kMostShares});
  if (wanted < 2) return 1;
  result.share = (strips + wanted - 1) / wanted * kStrip;
  result.blocks = static_cast<unsigned>(tiles.blocks);
  const uint64_t size_bytes = static_cast<uint64_t>(tiles.count) * sizeof(int32_t);
  const Buffer partial = planner.scratch(size_bytes);
  planner.fill(partial, size_bytes, 0);
  addresses.emplace_back(reinterpret_cast<const void* const*>(&result.partial), partial);
  return (tiles.depth + result.share - 1) / result.share;
}

void plan_split_k_reduction(Planner& planner, const Int8Tiles& tiles, const Int8Problem& work,
                            bool is_conv, const Int8Epilogue& result,
                            const Int8Addresses& addresses) {
  Int8ReductionParameters parameters = {result, tiles.count, tiles.rows, tiles.columns};
  Int8Addresses own;
  for (const auto& [member, buffer] : addresses) {
    const auto* position = reinterpret_cast<const char*>(member);
    const auto* first = reinterpret_cast<const char*>(&result);
    if (position < first || position >= first + sizeof(result)) continue;
    const char* moved = reinterpret_cast<const char*>(&parameters.out) + (position - first);
    own.emplace_back(reinterpret_cast<const void* const*>(moved), buffer);
  }
  const std::string body =
      join({text_of_result(planner, work, is_conv, true), "#define HAS_COLUMNS ",
            is_conv ? "false\n" : "true\n", kernel_text("int8_split_reduction.cu")});
  planner.launch(kernel_source({"int8_epilogue.h", "elementwise.cu"}, body),
                 blocks_for(planner, tiles.count), kThreads, parameters, own);
}

void plan_transpose(Planner& planner, const Int8Transpose& transpose, uint32_t dtype,
                    const Buffer& target, const Buffer& source) {
  Int8TransposeParameters parameters = {};
  parameters.outer = transpose.outer;
  parameters.positions = transpose.positions;
  parameters.groups = transpose.groups;
  parameters.channels = transpose.channels;
  parameters.group_words = transpose.padded / 4;
  parameters.words = transpose.groups * parameters.group_words;
  const int64_t across = (parameters.words + kWordsOfBlock - 1) / kWordsOfBlock;
  const int64_t down = (transpose.positions + kPositionsOfBlock - 1) / kPositionsOfBlock;
  parameters.tiles_words = static_cast<unsigned>(across);
  parameters.tiles_positions = static_cast<unsigned>(down);
  planner.launch(kernel_source({"index.h", "int8_epilogue.h", "int8_matmul.h"},
                               std::string("\n#define FLIP ") + flip_of(dtype) + "\n" +
                                   std::string(kernel_text("int8_transpose.cu"))),
                 transpose.outer * across * down, kThreads, parameters,
                 {{&parameters.result, target}, {&parameters.source, source}});
}

Buffer TransposedWeights::plan(Planner& planner, const Int8Transpose& transpose,
                               const Int8Problem& work) const {
  const uint32_t dtype = planner.input(work.slots.w).dtype;
  const Buffer source = Planner::in(work.slots.w);
  if (!work.has_constant_w) {
    const Buffer made = planner.scratch(transpose.size_bytes());
    plan_transpose(planner, transpose, dtype, made, source);
    return made;
  }
  const sdk::MutexLock lock(mutex_);
  const Buffer cached = planner.begin_cached(cached_, transpose.size_bytes());
  plan_transpose(planner, transpose, dtype, cached, source);
  planner.end_cached(cached);
  return cached;
}

}  // namespace gantry::cuda
