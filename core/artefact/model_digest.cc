// SPDX-License-Identifier: Apache-2.0
#include "artefact/model_digest.h"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "artefact/content_sum.h"

namespace gantry {
namespace {

using nlohmann::json;

// Granularity of file times: some milliseconds, on remote file systems up to seconds.
constexpr int64_t kSettledNs = 3'000'000'000;

int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace

ModelDigests::ModelDigests(std::filesystem::path notes) : notes_(std::move(notes)) {
  if (notes_.empty()) return;
  std::ifstream stream(notes_, std::ios::binary);
  const json kept = json::parse(stream, nullptr, false);
  if (!kept.is_object()) return;
  for (const auto& [state, digest] : kept.items()) {
    if (digest.is_string()) known_.emplace(state, digest.get<std::string>());
  }
}

std::string ModelDigests::of(const std::vector<std::shared_ptr<const MappedFile>>& files,
                             uint32_t threads) {
  std::string all;
  for (const auto& file : files) {
    const FileState& state = file->state();
    const auto known = known_.find(state.text);
    const bool is_known = known != known_.end();
    // Tested before the file is read: a later write changes the time.
    const bool is_settled = now_ns() - state.changed_ns > kSettledNs;
    const std::string digest =
        is_known ? known->second : content_digest(file->bytes(), threads, true);
    if (is_known || is_settled) seen_[state.text] = digest;
    has_changed_ |= !is_known && is_settled;
    all += (all.empty() ? "" : " ") + digest;
  }
  return all;
}

void ModelDigests::save() const noexcept {
  if (notes_.empty() || !has_changed_) return;
  try {
    const std::filesystem::path draft = notes_.string() + "." + std::to_string(getpid());
    std::ofstream stream(draft, std::ios::binary);
    stream << json(seen_).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
    stream.close();
    std::error_code error;
    if (stream) std::filesystem::rename(draft, notes_, error);
    if (!stream || error) std::filesystem::remove(draft, error);
  } catch (const std::exception&) {  // not cached: the next start reads the files again
    return;
  }
}

}  // namespace gantry
