// SPDX-License-Identifier: Apache-2.0
#include "objects/key_values.h"

#include <new>

#include "objects/api_table.h"

namespace gantry::ort {
namespace {

// These functions have no status to return: what does not fit into memory is not kept.
void create(KeyValues** out) { *out = new (std::nothrow) KeyValues; }
void release(KeyValues* pairs) { delete pairs; }
void add(KeyValues* pairs, const char* key, const char* value) {
  if (pairs && key && value) pairs->set(key, value);
}
void remove(KeyValues* pairs, const char* key) {
  if (pairs && key) pairs->remove(key);
}
const char* find(const KeyValues* pairs, const char* key) { return pairs->find(key); }
void list(const KeyValues* pairs, const char* const** keys, const char* const** values,
          size_t* count) {
  *keys = pairs->keys();
  *values = pairs->values();
  *count = pairs->size();
}

}  // namespace

void KeyValues::set(const std::string& key, const std::string& value) {
  texts_[key] = value;
  list();
}

void KeyValues::remove(const std::string& key) {
  texts_.erase(key);
  list();
}

const char* KeyValues::find(const std::string& key) const {
  const auto found = texts_.find(key);
  return found == texts_.end() ? nullptr : found->second.c_str();
}

void KeyValues::list() {
  keys_.clear();
  values_.clear();
  for (const auto& [key, value] : texts_) {
    keys_.push_back(key.c_str());
    values_.push_back(value.c_str());
  }
}

void add_key_value_functions(ApiTable& table) {
  table.set(Slot::kCreateKeyValuePairs, create);
  table.set(Slot::kAddKeyValuePair, add);
  table.set(Slot::kGetKeyValue, find);
  table.set(Slot::kGetKeyValuePairs, list);
  table.set(Slot::kRemoveKeyValuePair, remove);
  table.set(Slot::kReleaseKeyValuePairs, release);
}

}  // namespace gantry::ort
