// SPDX-License-Identifier: Apache-2.0
// OrtModelMetadata, of which providers of gantry know nothing: all of it is empty.
#include "ep_host/functions.h"
#include "ep_host/seen_graph.h"
#include "objects/api_table.h"
#include "objects/memory.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

struct ModelMetadata {};

Status* get_metadata(const SeenGraph*, ModelMetadata** out) {
  return guarded([&] { *out = new ModelMetadata; });
}
Status* get_text(const ModelMetadata*, Allocator* allocator, char** out) {
  return guarded([&] {
    *out = static_cast<char*>(allocator->allocate(allocator, 1));
    if (!*out) throw std::bad_alloc();
    **out = '\0';
  });
}
Status* look_up(const ModelMetadata*, Allocator*, const char*, char** out) {
  *out = nullptr;
  return nullptr;
}
Status* get_version(const ModelMetadata*, int64_t* out) {
  *out = 0;
  return nullptr;
}
Status* get_keys(const ModelMetadata*, Allocator*, char*** keys, int64_t* count) {
  *keys = nullptr;
  *count = 0;
  return nullptr;
}
void release(ModelMetadata* metadata) { delete metadata; }

}  // namespace

void add_metadata_functions(ApiTable& table) {
  table.set(Slot::kGraphGetModelMetadata, get_metadata);
  for (const Slot slot : {Slot::kModelMetadataGetProducerName, Slot::kModelMetadataGetGraphName,
                          Slot::kModelMetadataGetDomain, Slot::kModelMetadataGetDescription,
                          Slot::kModelMetadataGetGraphDescription})
    table.set(slot, get_text);
  table.set(Slot::kModelMetadataLookupCustomMetadataMap, look_up);
  table.set(Slot::kModelMetadataGetVersion, get_version);
  table.set(Slot::kModelMetadataGetCustomMetadataMapKeys, get_keys);
  table.set(Slot::kReleaseModelMetadata, release);
}

}  // namespace gantry::ort
