// SPDX-License-Identifier: Apache-2.0
// The schemas of operators, each made on first use. The onnx library's own registry makes all seven
// hundred on the first query, which takes longer than loading a small model
// (docs/decisions/0034-loading.md).
#pragma once

#include <map>
#include <memory>
#include <onnx/defs/schema.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "onnx/messages/proto.h"

namespace gantry {

/// The schema registry of this folder, also passed to the library wherever it takes one. Has the
/// library's domains and ONNX Runtime's operators (microsoft.h). Schemas live as long as the
/// process. [any]
class SchemaStore final : public onnx::ISchemaRegistry {
 public:
  static const SchemaStore& instance();

  /// The newest schema of an operator that is not newer than `version`. If there is none: the
  /// oldest schema of an operator of is_taken_early() (schema.h), null for any other.
  const onnx::OpSchema* GetSchema(const std::string& name, int version,
                                  const std::string& domain = onnx::ONNX_DOMAIN) const override;

  /// The newest schema of an operator; null if there is none.
  [[nodiscard]] const onnx::OpSchema* newest(const std::string& name,
                                             const std::string& domain) const;

 private:
  // A version of an operator; `schema` is made on first use.
  struct Entry {
    const struct SchemaRow* row = nullptr;
    mutable std::unique_ptr<const onnx::OpSchema> schema;
  };
  using Entries = std::unordered_map<std::string_view, std::vector<Entry>>;  // by name

  SchemaStore();
  const onnx::OpSchema* made(const Entry& entry) const GANTRY_REQUIRES(mutex_);
  const onnx::OpSchema* microsoft(const std::string& name, int version,
                                  const std::string& domain) const GANTRY_REQUIRES(mutex_);

  mutable Mutex mutex_;
  // The newest version of an operator first.
  Entries onnx_ GANTRY_GUARDED_BY(mutex_);
  Entries ml_ GANTRY_GUARDED_BY(mutex_);
  Entries preview_ GANTRY_GUARDED_BY(mutex_);
  // By domain (for some ai.onnx) and name; filled on first use.
  mutable std::map<std::pair<std::string, std::string>, std::unique_ptr<const onnx::OpSchema>>
      microsoft_ GANTRY_GUARDED_BY(mutex_);
};

}  // namespace gantry
