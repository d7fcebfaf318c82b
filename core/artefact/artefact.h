// SPDX-License-Identifier: Apache-2.0
// What one compilation takes from an artefact and leaves for the next one: blobs of kernels and
// packed blocks, by name. Of the blocks it is asked and told by all threads that compile; the rest
// is one thread's, while no other compiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "artefact/artefact_file.h"
#include "base/mutex.h"
#include "plugin/error.h"
#include "plugin/packed.h"

namespace gantry {

class Artefact final : public PackedLedger {
 public:
  /// `file`: verified; null: there is nothing to take.
  explicit Artefact(std::shared_ptr<const ArtefactFile> file) : file_(std::move(file)) {}

  /// Names the claim that is compiled next; equal names are told apart by their order.
  std::string begin_claim(const std::string& description);
  /// The blob that a claim left; empty: none.
  [[nodiscard]] std::span<const std::byte> blob(const std::string& claim) const;
  /// Has the kernel of a claim hand out its compiled form, if it can. A form other than the one
  /// that was given to it says that the provider did not take that.
  void keep(const std::string& claim, const std::string& label, const gantry_kernel& kernel);

  std::shared_ptr<const void> find(const PackedKey& key, uint64_t size_bytes) override;
  void note(const PackedBlock& block) override;

  /// Forgets what was left so far: the compilation begins again.
  void restart();
  /// Why the file has to be written anew; empty: it had everything, and all of it was taken.
  [[nodiscard]] std::string fault() const {
    const MutexLock lock(mutex_);
    return fault_;
  }
  /// Everything that is to be kept; valid as long as this.
  [[nodiscard]] std::vector<ArtefactPart> parts() const;

 private:
  std::shared_ptr<const ArtefactFile> file_;
  std::map<std::string, uint64_t> claims_;  // by description: how many there were
  std::map<std::string, std::vector<std::byte>> forms_;
  std::map<std::string, std::span<const std::byte>> old_forms_;  // in the file, still good
  mutable Mutex mutex_;
  std::map<PackedKey, PackedBlock> blocks_ GANTRY_GUARDED_BY(mutex_);
  std::string fault_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
