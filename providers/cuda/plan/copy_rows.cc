// SPDX-License-Identifier: Apache-2.0
#include "plan/copy_rows.h"

#include <algorithm>

#include "compile/kernel_texts.h"
#include "kernels/tensor/copy_rows.h"
#include "plan/indexing.h"
#include "plan/movement.h"

namespace gantry::cuda {
namespace {

using Copies = std::vector<RowsCopy>;

// The largest word size, in bytes, that divides all extents and offsets.
int64_t word_bytes(const Copies& copies) {
  int64_t word = 16;
  const auto fit = [&](int64_t bytes) {
    while (bytes % word != 0) word /= 2;
  };
  for (const RowsCopy& copy : copies) {
    fit(copy.row_bytes);
    fit(copy.target_pitch_bytes);
    fit(copy.source_pitch_bytes);
    fit(static_cast<int64_t>(copy.target.offset_bytes));
    fit(static_cast<int64_t>(copy.source.offset_bytes));
  }
  return word;
}

// One launch. Requires at most MOST_PARTS copies.
void launch(Planner& planner, const Copies& copies) {
  const int64_t word = word_bytes(copies);
  RowsCopyParameters parameters = {};
  std::vector<std::pair<const void* const*, Buffer>> addresses;
  int64_t blocks = 0;
  bool is_small = true;
  for (size_t i = 0; i < copies.size(); ++i) {
    const RowsCopy& copy = copies[i];
    RowsPart& part = parameters.parts[i];
    part.count = copy.rows * copy.row_bytes / word;
    part.target_pitch = copy.target_pitch_bytes / word;
    part.source_pitch = copy.source_pitch_bytes / word;
    part.row = divisor_of(copy.row_bytes / word);
    is_small = is_small && part.count < int64_t{1} << 31;
    blocks += blocks_for(planner, part.count);
    part.last_block = static_cast<unsigned>(blocks);
    addresses.emplace_back(&part.target, copy.target);
    addresses.emplace_back(&part.source, copy.source);
  }
  const std::string body = std::string("\ntypedef ") + index_type(is_small) + " Index;\ntypedef " +
                           word_name(word) + " Word;\n" + std::string(kernel_text("copy_rows.cu"));
  planner.launch(kernel_source({"index.h", "index.cu", "copy.h", "copy.cu", "copy_rows.h"}, body),
                 blocks, kThreads, parameters, addresses);
}

}  // namespace

void plan_row_copies(Planner& planner, const Copies& copies) {
  Copies batch;
  const auto finish = [&] {
    if (!batch.empty()) launch(planner, batch);
    batch.clear();
  };
  for (const RowsCopy& copy : copies) {
    if (copy.rows == 0 || copy.row_bytes == 0) continue;
    batch.push_back(copy);
    if (batch.size() == MOST_PARTS) finish();
  }
  finish();
}

}  // namespace gantry::cuda
