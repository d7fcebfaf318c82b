// SPDX-License-Identifier: Apache-2.0
#include "session/file_guard.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "base/mapped_file.h"

namespace gantry {
namespace {

// A session copies all its mapped constants up to kMostOwned bytes in total; if it has more, only
// those of at most kLargestOwned bytes.
constexpr uint64_t kMostOwned = uint64_t{16} << 20;
constexpr uint64_t kLargestOwned = uint64_t{64} << 10;

void for_each_mapped(const Program& program, const std::function<void(const gantry_value&)>& take) {
  for (const SlotInfo& slot : program.slots()) {
    if (slot.constant && slot.space == 0 && slot.constant->is_mapped) take(*slot.constant);
  }
  for (size_t step = 0; step < program.steps().size(); ++step) {
    for (const auto& body : program.bodies(step)) for_each_mapped(*body, take);
  }
}

}  // namespace

FileGuard::FileGuard(const Program& program, std::vector<std::shared_ptr<const FileWatch>> others)
    : watched_(std::move(others)) {
  uint64_t total = 0;
  for_each_mapped(program, [&](const gantry_value& value) { total += value.view.size_bytes; });
  for_each_mapped(program, [&](const gantry_value& value) {
    const std::span bytes(static_cast<const std::byte*>(value.view.data), value.view.size_bytes);
    const auto file = MappedFile::find(bytes.data(), bytes.size());
    if (!file || !file->watch()) return;  // a copy, or a file of the compiled-model cache
    const bool is_small = total <= kMostOwned || bytes.size() <= kLargestOwned;
    if (is_small && own_pages(bytes)) return;
    watched_.push_back(file->watch());
  });
  std::sort(watched_.begin(), watched_.end());
  watched_.erase(std::unique(watched_.begin(), watched_.end()), watched_.end());
  for (const auto& file : watched_) file->settle();
}

void FileGuard::require_unchanged() const {
  for (const auto& file : watched_) file->require_unchanged();
}

}  // namespace gantry
