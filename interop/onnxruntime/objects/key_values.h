// SPDX-License-Identifier: Apache-2.0
// OrtKeyValuePairs: texts by their names, in the order of the names. One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gantry::ort {

class KeyValues {
 public:
  KeyValues() = default;
  KeyValues(const KeyValues& other) : texts_(other.texts_) { list(); }
  KeyValues& operator=(const KeyValues& other) {
    texts_ = other.texts_;
    list();
    return *this;
  }
  ~KeyValues() = default;
  void set(const std::string& key, const std::string& value);
  void remove(const std::string& key);
  /// Null: there is no such key. Valid until the next change, as what arrays() returns.
  [[nodiscard]] const char* find(const std::string& key) const;
  /// All keys and all values, as arrays of `size()` pointers.
  [[nodiscard]] const char* const* keys() const { return keys_.data(); }
  [[nodiscard]] const char* const* values() const { return values_.data(); }
  [[nodiscard]] size_t size() const { return texts_.size(); }

 private:
  void list();

  std::map<std::string, std::string> texts_;
  std::vector<const char*> keys_;
  std::vector<const char*> values_;
};

}  // namespace gantry::ort
