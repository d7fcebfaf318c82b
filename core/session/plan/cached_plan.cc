// SPDX-License-Identifier: Apache-2.0
#include "session/plan/cached_plan.h"

#include <gantry/error.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "graph/image.h"

namespace gantry {
namespace {

using nlohmann::json;

constexpr const char* kModelPart = "model";
constexpr const char* kGraphPart = "graph";

// The files that constants may be views of; of a model in memory its bytes come first.
std::vector<ImageSource> sources_of(const ModelSource& source, const ModelFiles& files) {
  std::vector<ImageSource> sources;
  if (!source.bytes.empty()) sources.push_back({source.bytes, nullptr});
  for (const auto& file : files) sources.push_back({file->bytes(), file});
  return sources;
}

std::span<const std::byte> need_part(const ArtefactFile& file, const char* name) {
  const auto* part = file.find(name);
  if (!part) throw Error(Code::kInvalidArgument, std::string("it has no part \"") + name + "\"");
  return *part;
}

json read_model_part(const ArtefactFile& file) {
  const auto bytes = need_part(file, kModelPart);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return json::parse(text, text + bytes.size());
}

[[noreturn]] void fail_unreadable(const json::exception& error) {
  throw Error(Code::kInvalidArgument,
              std::string("its part on the model cannot be read: ") + error.what());
}

}  // namespace

PlanParts to_parts(const PlannedModel& planned, const ModelSource& source) {
  if (planned.has_rules || planned.model->has_functions() || planned.model->has_constant_defaults())
    return {};
  const ModelFiles& files = planned.model->files();
  json model = {{"files", json::array()}, {"metadata", planned.metadata}};
  for (const auto& file : files) model["files"].push_back(file->path().string());
  PlanParts parts;
  try {
    const std::string text = model.dump();
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    parts.model.assign(bytes, bytes + text.size());
  } catch (const json::exception&) {  // a name or a text is not UTF-8
    return {};
  }
  parts.graph = to_image(*planned.graph, sources_of(source, files));
  if (parts.graph.empty()) parts.model.clear();
  return parts;
}

void add_parts(const PlanParts& plan, const ArtefactFile* kept, std::vector<ArtefactPart>& parts) {
  const auto add = [&](const char* name, const std::vector<std::byte>& made) {
    const auto* old = kept ? kept->find(name) : nullptr;
    if (!made.empty()) {
      parts.push_back({name, made});
    } else if (old) {
      parts.push_back({name, *old});
    }
  };
  add(kModelPart, plan.model);
  add(kGraphPart, plan.graph);
}

bool has_plan(const ArtefactFile& file) { return file.find(kGraphPart) != nullptr; }

ModelFiles open_files_of_plan(const ArtefactFile& file, FileAccess access) {
  ModelFiles files;
  try {
    const json model = read_model_part(file);
    for (const json& path : model.at("files"))
      files.push_back(MappedFile::open(path.get<std::string>(), access));
  } catch (const json::exception& error) {
    fail_unreadable(error);
  }
  return files;
}

PlannedModel read_plan(const std::shared_ptr<const ArtefactFile>& file, const ModelFiles& files,
                       const ModelSource& source) {
  PlannedModel planned;
  try {
    planned.metadata =
        read_model_part(*file).at("metadata").get<std::map<std::string, std::string>>();
  } catch (const json::exception& error) {
    fail_unreadable(error);
  }
  planned.graph = from_image(need_part(*file, kGraphPart), file, sources_of(source, files));
  return planned;
}

}  // namespace gantry
