// SPDX-License-Identifier: Apache-2.0
#include "artefact/artefact.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "artefact/content_sum.h"
#include "base/log.h"
#include "plugin/error.h"

namespace gantry {
namespace {

constexpr const char* kBlocksMissing = "packed weights were not in it";

std::string name_of(const PackedKey& key) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = "packed ";
  for (const uint8_t byte : key) {
    name += kDigits[byte >> 4];
    name += kDigits[byte & 15];
  }
  return name;
}

// Receives a kernel's compiled form and compares it with the cached blob. Stores bytes only once
// they differ.
struct FormSink {
  std::span<const std::byte> given;
  size_t equal_bytes = 0;
  bool is_equal = true;
  std::vector<std::byte> form = {};
  std::exception_ptr failure = nullptr;

  static void write(void* target, const void* data, uint64_t size_bytes) {
    auto& sink = *static_cast<FormSink*>(target);
    try {
      sink.add({static_cast<const std::byte*>(data), size_bytes});
    } catch (...) {  // must not cross the boundary
      sink.failure = std::current_exception();
    }
  }

  void add(std::span<const std::byte> bytes) {
    if (is_equal) {
      const auto rest = given.subspan(equal_bytes);
      if (bytes.size() <= rest.size() && std::equal(bytes.begin(), bytes.end(), rest.begin())) {
        equal_bytes += bytes.size();
        return;
      }
      is_equal = false;
      form.assign(given.begin(), given.begin() + static_cast<ptrdiff_t>(equal_bytes));
    }
    form.insert(form.end(), bytes.begin(), bytes.end());
  }

  /// True if the form equals the cached blob.
  bool finish() {
    if (failure) std::rethrow_exception(failure);
    if (is_equal && equal_bytes < given.size()) {
      is_equal = false;
      form.assign(given.begin(), given.begin() + static_cast<ptrdiff_t>(equal_bytes));
    }
    return is_equal;
  }
};

}  // namespace

std::string Artefact::begin_claim(const std::string& description) {
  const std::string name = "blob " + digest_text(description);
  const uint64_t number = claims_[name]++;
  return number == 0 ? name : name + " " + std::to_string(number);
}

std::span<const std::byte> Artefact::blob(const std::string& claim) const {
  const auto* found = file_ ? file_->find(claim) : nullptr;
  return found ? *found : std::span<const std::byte>();
}

void Artefact::keep(const std::string& claim, const std::string& label,
                    const gantry_kernel& kernel) {
  if (!kernel.serialize) return;
  FormSink sink{blob(claim)};
  gantry_error* error =
      contain([&] { return kernel.serialize(kernel.self, &sink, FormSink::write); });
  if (error) {  // the kernel can run; the next start compiles it again
    log(LogLevel::kWarning,
        label + ": its compiled form is not kept: " + std::string(message_of(error)));
    release_error(error);
    return;
  }
  if (sink.finish()) {
    if (!sink.given.empty()) old_forms_.emplace(claim, sink.given);
    return;
  }
  const MutexLock lock(mutex_);
  // Missing blocks are a consequence of a rejected form, so the form is the better reason.
  if (file_ && (fault_.empty() || fault_ == kBlocksMissing)) {
    fault_ = sink.given.empty() ? label + " was not in it"
                                : label + ": the provider did not take what it had of it";
  }
  forms_[claim] = std::move(sink.form);
}

std::shared_ptr<const void> Artefact::find(const PackedKey& key, uint64_t size_bytes) {
  const auto* found = file_ ? file_->find(name_of(key)) : nullptr;
  if (!found || found->size() != size_bytes) return nullptr;
  return {file_, found->data()};
}

void Artefact::note(const PackedBlock& block) {
  const MutexLock lock(mutex_);
  if (!blocks_.emplace(block.key, block).second || !file_ || !fault_.empty()) return;
  if (!file_->find(name_of(block.key))) fault_ = kBlocksMissing;
}

void Artefact::restart() {
  claims_.clear();
  forms_.clear();
  old_forms_.clear();
  const MutexLock lock(mutex_);
  blocks_.clear();
}

std::vector<ArtefactPart> Artefact::parts() const {
  std::vector<ArtefactPart> parts;
  for (const auto& [name, form] : forms_) parts.push_back({name, form});
  for (const auto& [name, form] : old_forms_) parts.push_back({name, form});
  const MutexLock lock(mutex_);
  for (const auto& [key, block] : blocks_) {
    parts.push_back(
        {name_of(key), {static_cast<const std::byte*>(block.memory.get()), block.size_bytes}});
  }
  return parts;
}

}  // namespace gantry
