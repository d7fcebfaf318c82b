// SPDX-License-Identifier: Apache-2.0
#include "ep_host/settings.h"

#include <cstring>
#include <utility>

#include "ep_host/functions.h"
#include "objects/api_table.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

Status* has_entry(const SessionEntries* settings, const char* key, int* out) {
  *out = settings->entries.find(key) ? 1 : 0;
  return nullptr;
}
/// Without `out`, or with too little room, it tells the size that the text needs.
Status* get_entry(const SessionEntries* settings, const char* key, char* out, size_t* size) {
  return guarded([&] {
    const char* text = settings->entries.find(key);
    if (!text) {
      throw ApiError(ErrorCode::kInvalidArgument,
                     std::string("there is no session entry \"") + key + "\"");
    }
    const size_t needed = std::strlen(text) + 1;
    const size_t room = std::exchange(*size, needed);
    if (!out) return;
    if (room < needed)
      throw ApiError(ErrorCode::kInvalidArgument, "there is no room for a session entry");
    std::memcpy(out, text, needed);
  });
}
Status* get_entries(const SessionEntries* settings, KeyValues** out) {
  return guarded([&] { *out = new KeyValues(settings->entries); });
}

}  // namespace

void add_settings_functions(ApiTable& table) {
  table.set(Slot::kHasSessionConfigEntry, has_entry);
  table.set(Slot::kGetSessionConfigEntry, get_entry);
  table.set(Slot::kGetSessionOptionsConfigEntries, get_entries);
}

}  // namespace gantry::ort
