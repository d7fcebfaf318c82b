// SPDX-License-Identifier: Apache-2.0
// The cache entry that one compilation reads and writes: compiled forms of kernels (blobs) and
// packed blocks, by name. find() and note() may be called by all threads that compile; all other
// functions by one thread while no other compiles.
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
  /// `file`: a verified file; null: the cache has none.
  explicit Artefact(std::shared_ptr<const ArtefactFile> file) : file_(std::move(file)) {}

  /// Returns a name for the claim that is compiled next; claims of equal descriptions are numbered.
  std::string begin_claim(const std::string& description);
  /// The cached blob of a claim; empty: none.
  [[nodiscard]] std::span<const std::byte> blob(const std::string& claim) const;
  /// Stores the kernel's compiled form (gantry_kernel.serialize), if it has one. A form that
  /// differs from the cached blob means that the provider did not use the blob.
  void keep(const std::string& claim, const std::string& label, const gantry_kernel& kernel);

  std::shared_ptr<const void> find(const PackedKey& key, uint64_t size_bytes) override;
  void note(const PackedBlock& block) override;

  /// Discards what was stored so far: the compilation begins again.
  void restart();
  /// Why the file must be written again; empty: it had everything, and all of it was used.
  [[nodiscard]] std::string fault() const {
    const MutexLock lock(mutex_);
    return fault_;
  }
  /// The parts of the new file; valid as long as this.
  [[nodiscard]] std::vector<ArtefactPart> parts() const;

 private:
  std::shared_ptr<const ArtefactFile> file_;
  std::map<std::string, uint64_t> claims_;  // by description: number of claims
  std::map<std::string, std::vector<std::byte>> forms_;
  std::map<std::string, std::span<const std::byte>> old_forms_;  // in the file, still valid
  mutable Mutex mutex_;
  std::map<PackedKey, PackedBlock> blocks_ GANTRY_GUARDED_BY(mutex_);
  std::string fault_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
