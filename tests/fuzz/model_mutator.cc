// SPDX-License-Identifier: Apache-2.0
// libFuzzer's hooks for inputs that are models: trees of fields are edited, and now and then bytes.
#include <algorithm>
#include <cstring>

#include "wire_tree.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace gantry::fuzz {
namespace {

size_t put(const WireMessage& message, uint8_t* data, size_t size, size_t max_size) {
  const std::string bytes = write_message(message);
  if (bytes.size() > max_size) return size;
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

}  // namespace
}  // namespace gantry::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  auto message = gantry::fuzz::read_message({data, size});
  if (!message || seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const unsigned edits = 1 + seed % 4;
  for (unsigned i = 0; i < edits; ++i)
    gantry::fuzz::mutate_message(*message, *message, uint64_t{seed} * 4 + i);
  return gantry::fuzz::put(*message, data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* first, size_t first_size,
                                            const uint8_t* second, size_t second_size, uint8_t* out,
                                            size_t max_size, unsigned int seed) {
  auto message = gantry::fuzz::read_message({first, first_size});
  const auto donor = gantry::fuzz::read_message({second, second_size});
  const size_t size = std::min(first_size, max_size);
  std::memcpy(out, first, size);
  if (!message || !donor) return size;
  for (unsigned i = 0; i < 4; ++i)
    gantry::fuzz::mutate_message(*message, *donor, uint64_t{seed} * 4 + i);
  return gantry::fuzz::put(*message, out, size, max_size);
}
