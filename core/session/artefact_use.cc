// SPDX-License-Identifier: Apache-2.0
#include "session/artefact_use.h"

#include <gantry/error.h>

#include <algorithm>
#include <sys/auxv.h>
#include <system_error>
#include <utility>

#include "artefact/content_sum.h"
#include "base/log.h"
#include "plugin/discovery/library_file.h"
#include "plugin/discovery/machine.h"
#include "session/runtime_impl.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr uint64_t kLeastPart = 64;  // what an empty artefact would be

std::string short_digest(const std::string& text) { return digest_text(text).substr(0, 12); }

// One build of a library from another, though their versions are equal.
std::string build_of(const std::string& library) {
  const FileIdentity identity = FileIdentity::of(library);
  return short_digest(library + " " + std::to_string(identity.device) + " " +
                      std::to_string(identity.inode) + " " + std::to_string(identity.size_bytes) +
                      " " + std::to_string(identity.modified_ns));
}

std::string processor() {
  std::string all;
  for (const std::string& feature : cpu_features()) all += feature + " ";
  return short_digest(all);
}

// Of the session's settings those that compiling depends on.
std::string settings_of(const Config& config) {
  json session = config.root.at("session");
  for (const char* name : {"threads", "memory_limit_bytes", "capture", "stop_grace_ms", "profile",
                           "artefact_cache", "artefact_cache_limit_bytes"})
    session.erase(name);
  return session.dump() + " " + config.root.at("placement").dump() + " " +
         config.root.at("providers").at("options").dump();
}

bool is_from_code(const Candidate& candidate) { return candidate.provider->library().empty(); }

// Everything but the model.
ArtefactFacts facts_of(const Config& config, const Preference& preference, uint32_t threads) {
  ArtefactFacts facts = {{"gantry's build", build_of(own_library())},
                         {"the set of the processor's features", processor()}};
  std::string devices;
  for (const Candidate& candidate : preference.candidates) {
    const PluginProvider& provider = *candidate.provider;
    const DeviceInfo info = provider.info(candidate.device_index);
    facts.emplace_back("provider \"" + provider.name() + "\"",
                       provider.manifest().version + ", build " + build_of(provider.library()));
    facts.emplace_back("what provider \"" + provider.name() + "\" was told",
                       provider.options() + " " + candidate.options);
    devices += (devices.empty() ? "" : ", ") + candidate.device.to_string() + " \"" + info.name +
               "\" " + info.uid;
  }
  facts.emplace_back("the list of devices", devices);
  facts.emplace_back("the number of threads", std::to_string(threads));
  facts.emplace_back("the configuration", settings_of(config));
  return facts;
}

}  // namespace

ArtefactUse::ArtefactUse(const Config& config, const Preference& preference,
                         const ModelSource& source, std::string subject, uint32_t threads)
    : config_(config),
      preference_(preference),
      source_(source),
      subject_(std::move(subject)),
      threads_(threads),
      folder_(config.session.artefact_cache) {
  if (config.session.artefact_cache.empty()) return;
  const auto& candidates = preference.candidates;
  const auto odd = std::find_if(candidates.begin(), candidates.end(), is_from_code);
  if (odd != candidates.end()) {  // the next process may give another one under its name
    report_.reason = "provider \"" + odd->provider->name() + "\" was added from code";
    return;
  }
  is_on_ = true;
  find_file(source);
  begin_check();
}

ArtefactUse::~ArtefactUse() = default;

void ArtefactUse::find_file(const ModelSource& source) {
  std::error_code error;
  const std::filesystem::path path =
      source.bytes.empty() ? std::filesystem::absolute(source.path, error) : source.path;
  std::string identity = path.string() + "\n" + settings_of(config_) + "\n" + preference_.named +
                         "\n" + std::to_string(threads_);
  if (!source.bytes.empty()) identity += "\n" + content_digest(source.bytes, threads_, false);
  file_ = folder_.file_of(source.bytes.empty() ? path.stem().string() : "model", identity);
  report_.file = file_.string();
}

void ArtefactUse::begin_check() {
  std::error_code error;
  if (!std::filesystem::is_directory(folder_.path(), error)) {
    digests_ = ModelDigests(file_.string() + ".digests");
    return;
  }
  try {
    folder_.require_trusted(getauxval(AT_SECURE) != 0);
    digests_ = ModelDigests(file_.string() + ".digests");
    kept_ = ArtefactFile::open(file_);
  } catch (const Error& failure) {
    if (failure.code() != Code::kNotFound) report_.reason = failure.message();
    return;
  }
  const auto verify = [file = kept_, threads = threads_]() -> std::string {
    try {
      file->verify(threads);
      return {};
    } catch (const std::exception& failure) {
      return failure.what();
    }
  };
  try {
    check_ = std::async(std::launch::async, verify);
  } catch (const std::system_error&) {  // no thread to be had
    check_ = std::async(std::launch::deferred, verify);
  }
}

Artefact* ArtefactUse::artefact(const OnnxModel& model) {
  if (!is_on_) return nullptr;
  if (!artefact_) decide(model);
  return artefact_.get();
}

void ArtefactUse::decide(const OnnxModel& model) {
  facts_ = facts_of(config_, preference_, threads_);
  // The content of a model in memory is in the artefact's name; its files are those beside it.
  facts_.emplace_back("the model's content", digests_.of(model.files(), threads_));
  if (kept_) {
    report_.reason = difference_of(kept_->facts(), facts_);
    if (report_.reason.empty()) report_.reason = check_.get();
    if (!report_.reason.empty()) kept_.reset();
  }
  artefact_ = std::make_unique<Artefact>(kept_);
}

ArtefactReport ArtefactUse::finish() {
  if (!is_on_ || !artefact_) return report_;
  if (kept_ && artefact_->fault().empty()) {
    report_.state = "used";
    report_.size_bytes = kept_->size_bytes();
    ArtefactFolder::touch(file_);
    digests_.save();
    return report_;
  }
  if (kept_) report_.reason = artefact_->fault();
  const bool is_replaced = !report_.reason.empty();
  try {
    write();
    if (is_replaced && report_.state == "made") report_.state = "rebuilt";
    if (report_.state == "rebuilt") {
      log(LogLevel::kWarning, subject_ + ": the compiled artefact " + report_.file +
                                  " could not be used and was rebuilt: " + report_.reason);
    }
  } catch (const std::exception& failure) {
    report_.state = "not kept";
    const std::string why = failure.what();
    const bool is_news = is_replaced && report_.reason != why;
    report_.reason = (is_news ? report_.reason + "; and: " : std::string()) + why;
    log(LogLevel::kWarning,
        subject_ + ": the compiled artefact " + report_.file + " is not kept: " + report_.reason);
  }
  return report_;
}

void ArtefactUse::write() {
  const std::vector<ArtefactPart> parts = artefact_->parts();
  if (artefact_bytes(parts) <= artefact_bytes({}) + kLeastPart) {
    report_.state = "empty";
    return;
  }
  folder_.make();
  folder_.require_trusted(getauxval(AT_SECURE) != 0);
  folder_.make_room(config_.session.artefact_cache_limit_bytes, artefact_bytes(parts), file_);
  report_.size_bytes = write_artefact(file_, facts_, parts);
  report_.state = "made";
  digests_.save();
}

}  // namespace gantry
