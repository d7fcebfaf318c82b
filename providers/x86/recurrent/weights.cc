// SPDX-License-Identifier: Apache-2.0
#include "recurrent/weights.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "onednn/digest.h"
#include "onednn/library.h"
#include "onednn/packed_share.h"

namespace gantry::x86 {
namespace {

/// The range of a step's gates among those of the operator.
struct Gates {
  int64_t first = 0;
  int64_t all = 0;
};

Gates gates_among_all(CellKind kind) {
  constexpr int64_t kOfGru = gates_of(CellKind::kGru);
  if (kind == CellKind::kGruGates) return {0, kOfGru};
  if (kind == CellKind::kGruRest) return {gates_of(CellKind::kGruGates), kOfGru};
  return {0, gates_of(kind)};
}

/// Packs one block of units of one direction. `plain`: weights of the step's gates, [gates, hidden,
/// hidden].
void fill_block(const float* plain, int64_t gates, int64_t hidden, int64_t block, float* target) {
  const int64_t first = block * kUnitBlock;
  const int64_t count = std::min(kUnitBlock, hidden - first);
  std::fill_n(target, hidden * gates * kUnitBlock, 0.0F);
  for (int64_t gate = 0; gate < gates; ++gate) {
    for (int64_t unit = 0; unit < count; ++unit) {
      const float* row = plain + (gate * hidden + first + unit) * hidden;
      float* to = target + gate * kUnitBlock + unit;
      for (int64_t k = 0; k < hidden; ++k)
        std::memcpy(to + k * gates * kUnitBlock, row + k, sizeof(float));
    }
  }
}

}  // namespace

void RecurrentWeights::pack(const gantry_host* host, sdk::Choices& choices, CellKind kind,
                            int64_t directions, int64_t hidden, const void* plain) {
  const int64_t gates = gates_of(kind);
  const int64_t blocks = unit_blocks_of(hidden);
  const int64_t of_block = hidden * gates * kUnitBlock;
  elements_ = blocks * of_block;
  const Gates among = gates_among_all(kind);
  const std::string form = "recurrent/" + std::to_string(directions) + "/" +
                           std::to_string(among.first) + "+" + std::to_string(gates) + " of " +
                           std::to_string(among.all) + "/" + std::to_string(hidden);
  const auto size = static_cast<uint64_t>(directions * among.all * hidden * hidden) * sizeof(float);
  const Digest content =
      cached_digest(choices, "recurrent weights of gate " + std::to_string(among.first),
                    [&] { return digest_of(plain, size, form); });
  const Digest shape = digest_of(form.data(), form.size(), "");
  const auto packed = static_cast<uint64_t>(directions * elements_) * sizeof(float);
  share_ = share_packed(host, {content, shape}, packed, [&](void* target) {
    with_threads(machine_threads(), [&] {
      for_each(directions * blocks, [&](int64_t index) {
        const auto* from = static_cast<const float*>(plain) +
                           (index / blocks * among.all + among.first) * hidden * hidden;
        fill_block(from, gates, hidden, index % blocks,
                   static_cast<float*>(target) + index * of_block);
      });
    });
  });
}

}  // namespace gantry::x86
