// SPDX-License-Identifier: Apache-2.0
// Files of compiled artefacts. Every byte of one is under a sum; the sums of the input are made
// right before it is read, so that what they guard is reached too.
#include <cstring>
#include <vector>

#include "artefact/artefact_file.h"
#include "artefact/content_sum.h"
#include "fuzz_target.h"

namespace gantry {
namespace {

// Offsets of members in the header of the file (artefact/artefact_file.cc).
constexpr size_t kIndexOffset = 32;
constexpr size_t kJsonBytes = 40;
constexpr size_t kIndexSum = 48;
constexpr size_t kHeaderSum = 56;
constexpr size_t kHeaderBytes = 64;
constexpr uint64_t kDataOffset = 4096;

template <class T>
T get(const std::vector<std::byte>& file, size_t offset) {
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(value));
  return value;
}
template <class T>
void put(std::vector<std::byte>& file, size_t offset, const T& value) {
  std::memcpy(file.data() + offset, &value, sizeof(value));
}

void mend_sums(std::vector<std::byte>& file) {
  if (file.size() < kHeaderBytes) return;
  const auto index = get<uint64_t>(file, kIndexOffset);
  const auto json_bytes = get<uint64_t>(file, kJsonBytes);
  if (index >= kDataOffset && index <= file.size()) {
    const std::span data =
        std::span<const std::byte>(file).subspan(kDataOffset, index - kDataOffset);
    const std::vector<uint64_t> sums = chunk_sums(data, 1, false);
    const uint64_t room = file.size() - index;
    if (json_bytes <= room && sums.size() * sizeof(uint64_t) == room - json_bytes && !sums.empty())
      std::memcpy(file.data() + index + json_bytes, sums.data(), sums.size() * sizeof(uint64_t));
    put(file, kIndexSum, sum_of(std::span<const std::byte>(file).subspan(index)));
  }
  put(file, kHeaderSum, sum_of({file.data(), kHeaderSum}));
}

}  // namespace
}  // namespace gantry

// The first byte says whether the sums are mended.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static gantry::fuzz::InputFile input("artefact");
  const auto bytes = gantry::fuzz::bytes_of(data + 1, size - 1);
  std::vector<std::byte> file(bytes.begin(), bytes.end());
  if (data[0] % 2 == 1) gantry::mend_sums(file);
  const std::string& path = input.write(file);
  gantry::fuzz::run_or_refuse([&] {
    const auto artefact = gantry::ArtefactFile::open(path);
    artefact->verify(1);
    size_t seen = 0;
    for (const auto& [name, value] : artefact->metadata()) seen += name.size() + value.size();
    for (const char* name : {"a", "plan", "blob"}) {
      const std::span<const std::byte>* part = artefact->find(name);
      for (const std::byte byte : part ? *part : std::span<const std::byte>()) seen += size_t(byte);
    }
    if (seen == SIZE_MAX) std::abort();  // so that all of it is read
  });
  return 0;
}
