// SPDX-License-Identifier: Apache-2.0
// A model on the provider cpu: loaded with all passes, and run twice on small inputs drawn from its
// bytes. Inputs are memory of the heap of exactly their size, so that AddressSanitizer sees a read
// beyond them. Results are read, so that MemorySanitizer would see what was never written.
#include <gantry/session.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "fuzz_target.h"

namespace gantry {
namespace {

constexpr int64_t kMostElements = 1 << 12;
constexpr uint64_t kTimeoutNs = 2'000'000'000;

Runtime& runtime() {
  static Runtime only({.config_json = R"({"session": {"threads": 1, "memory_limit_bytes": 67108864},
                                          "placement": {"prefer": ["CPU"]}})"});
  return only;
}

Tensor draw_input(const ValueInfo& info, std::mt19937& random, int64_t extent) {
  std::vector<int64_t> shape = info.shape;
  for (int64_t& axis : shape) axis = axis < 0 ? extent : axis;
  int64_t count = 1;
  for (const int64_t axis : shape) {
    if (axis > kMostElements || (count *= axis) > kMostElements)
      throw Error(Code::kUnsupported, "the input is too large for a fuzzer");
  }
  if (info.dtype == DType::kString)
    return {shape, std::vector<std::string>(static_cast<size_t>(count), "text")};
  Tensor tensor(info.dtype, shape);
  auto* bytes = static_cast<uint8_t*>(tensor.data());
  // Small values of few kinds: indices and extents that lie at the edge, numbers, all bits set.
  const unsigned kind = random() % 4;
  std::generate_n(bytes, tensor.size_bytes(), [&]() -> uint8_t {
    if (kind == 0) return 0;
    if (kind == 1) return random() % 4 == 0 ? 1 : 0;
    return static_cast<uint8_t>(kind == 2 ? random() : 0xFF);
  });
  return tensor;
}

size_t sum_of_bytes(const Value& value) {
  size_t sum = 0;
  if (value.kind() == Kind::kTensor) {
    const Tensor tensor = value.tensor();
    if (tensor.dtype() == DType::kString) {
      for (const std::string& text : tensor.strings()) sum += text.size();
      return sum;
    }
    const auto* bytes = static_cast<const uint8_t*>(tensor.data());
    return std::accumulate(bytes, bytes + tensor.size_bytes(), sum);
  }
  for (size_t i = 0; i < value.size(); ++i) sum += sum_of_bytes(value.at(i));
  return sum;
}

void load_and_run(std::span<const std::byte> bytes) {
  Session session(runtime(), {bytes, {}}, {.device = "CPU"});
  std::mt19937 random(static_cast<unsigned>(bytes.size()));
  size_t seen = 0;
  for (const int64_t extent : {2, 3}) {
    fuzz::run_or_refuse([&] {
      Inputs inputs;
      for (const ValueInfo& info : session.inputs()) {
        if (info.kind != Kind::kTensor)
          throw Error(Code::kUnsupported, "the fuzzer draws tensors only");
        inputs.emplace(info.name, draw_input(info, random, extent));
      }
      for (const Value& value : session.run_values(inputs, {.timeout_ns = kTimeoutNs}))
        seen += sum_of_bytes(value);
    });
  }
  if (seen == SIZE_MAX) std::abort();  // so that all of it is read
}

}  // namespace
}  // namespace gantry

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  setenv("GANTRY_PROVIDER_FILES", GANTRY_CPU_MANIFEST, 1);
  if (!gantry::runtime().supports_device("CPU")) std::abort();  // every input would be refused
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gantry::fuzz::run_or_refuse([&] { gantry::load_and_run(gantry::fuzz::bytes_of(data, size)); });
  return 0;
}
