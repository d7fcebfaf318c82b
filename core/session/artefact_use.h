// SPDX-License-Identifier: Apache-2.0
// The artefact cache as one session uses it: finds the model's artefact, checks it on another
// thread while the model is imported, decides whether it may be used, and keeps what was compiled.
// Nothing that is wrong with the cache is an error of the session. One thread.
#pragma once

#include <gantry/artefacts.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "artefact/artefact.h"
#include "artefact/artefact_folder.h"
#include "artefact/model_digest.h"
#include "onnx/model.h"
#include "session/config.h"
#include "session/plan_model.h"

namespace gantry {

class ArtefactUse {
 public:
  /// Begins to check the artefact, if there is one. All arguments but `subject` outlive this.
  ArtefactUse(const Config& config, const Preference& preference, const ModelSource& source,
              std::string subject, uint32_t threads);
  ~ArtefactUse();
  ArtefactUse(const ArtefactUse&) = delete;
  ArtefactUse& operator=(const ArtefactUse&) = delete;

  /// What the compilation takes and leaves; null: nothing is kept. Waits for the check.
  Artefact* artefact(const OnnxModel& model);
  /// Writes what the compilation left, unless it stands in the file already; logs a line where an
  /// artefact had to be replaced or could not be kept.
  ArtefactReport finish();

 private:
  void find_file(const ModelSource& source);
  void begin_check();
  void decide(const OnnxModel& model);
  void write();

  const Config& config_;
  const Preference& preference_;
  const ModelSource& source_;
  std::string subject_;
  uint32_t threads_;
  bool is_on_ = false;
  ArtefactFolder folder_;
  std::filesystem::path file_;
  std::shared_ptr<const ArtefactFile> kept_;  // may be damaged until the check has ended
  std::future<std::string> check_;            // what is wrong with it
  ModelDigests digests_{{}};
  ArtefactFacts facts_;
  std::unique_ptr<Artefact> artefact_;
  ArtefactReport report_;
};

}  // namespace gantry
