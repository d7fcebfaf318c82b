// SPDX-License-Identifier: Apache-2.0
// OrtModelMetadata: the descriptive members of a model.
#include <gantry/model.h>

#include <memory>
#include <string>

#include "c_api/guard.h"
#include "c_api/session.h"
#include "objects/memory.h"

namespace gantry::ort {
namespace {

Status* get_metadata(const LoadedSession* session, ModelSummary** out) {
  return guarded_call([&] { *out = new ModelSummary(inspect(session->source())); });
}
void release_metadata(ModelSummary* summary) { delete summary; }

template <auto kText>
Status* get_text(const ModelSummary* summary, Allocator* allocator, char** out) {
  return guarded_call([&] { *out = copy_text(*allocator, kText(*summary)); });
}
const std::string& producer_of(const ModelSummary& summary) {
  return summary.description.producer_name;
}
const std::string& graph_of(const ModelSummary& summary) { return summary.name; }
const std::string& domain_of(const ModelSummary& summary) { return summary.description.domain; }
const std::string& description_of(const ModelSummary& summary) { return summary.description.text; }
const std::string& graph_description_of(const ModelSummary& summary) {
  return summary.description.graph_text;
}

Status* get_version(const ModelSummary* summary, int64_t* out) {
  *out = summary->description.version;
  return nullptr;
}
Status* find_entry(const ModelSummary* summary, Allocator* allocator, const char* key, char** out) {
  return guarded_call([&] {
    const auto found = summary->metadata.find(key);
    *out = found == summary->metadata.end() ? nullptr : copy_text(*allocator, found->second);
  });
}
Status* get_keys(const ModelSummary* summary, Allocator* allocator, char*** out, int64_t* count) {
  return guarded_call([&] {
    *count = static_cast<int64_t>(summary->metadata.size());
    *out = nullptr;
    if (summary->metadata.empty()) return;
    auto* keys = static_cast<char**>(
        allocator->allocate(allocator, summary->metadata.size() * sizeof(char*)));
    if (!keys) throw std::bad_alloc();
    *out = keys;
    for (const auto& [key, value] : summary->metadata) *keys++ = copy_text(*allocator, key);
  });
}

}  // namespace

void add_metadata_functions(ApiTable& table) {
  table.set(Slot::kSessionGetModelMetadata, get_metadata);
  table.set(Slot::kReleaseModelMetadata, release_metadata);
  table.set(Slot::kModelMetadataGetProducerName, get_text<producer_of>);
  table.set(Slot::kModelMetadataGetGraphName, get_text<graph_of>);
  table.set(Slot::kModelMetadataGetDomain, get_text<domain_of>);
  table.set(Slot::kModelMetadataGetDescription, get_text<description_of>);
  table.set(Slot::kModelMetadataGetGraphDescription, get_text<graph_description_of>);
  table.set(Slot::kModelMetadataGetVersion, get_version);
  table.set(Slot::kModelMetadataLookupCustomMetadataMap, find_entry);
  table.set(Slot::kModelMetadataGetCustomMetadataMapKeys, get_keys);
}

}  // namespace gantry::ort
