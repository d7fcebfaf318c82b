// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/schema_store.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "onnx/bodies/microsoft.h"
#include "onnx/bodies/nchwc_operators.h"
#include "onnx/messages/body_domain.h"
#include "onnx/schema/data_propagation.h"
#include "onnx/schema/gradient_schema.h"
#include "onnx/schema/inference_repairs.h"
#include "onnx/schema/schema_table.h"
#include "onnx/schema/untyped_inputs.h"

namespace gantry {
namespace {

constexpr std::string_view kPreviewDomains = "ai.onnx.preview";

// Operators that files use under opsets before their first version, since ONNX Runtime defined them
// earlier with the same meaning (leniencies.h).
constexpr std::array<std::string_view, 2> kTakenEarly = {"LayerNormalization", "ThresholdedRelu"};

std::unique_ptr<const onnx::OpSchema> finished(onnx::OpSchema schema) {
  limit_data_propagation(schema);
  guard_untyped_inputs(schema);
  repair_inference(schema);
  schema.Finalize();
  return std::make_unique<const onnx::OpSchema>(std::move(schema));
}

}  // namespace

const SchemaStore& SchemaStore::instance() {
  static const SchemaStore* const store = new SchemaStore;  // outlives every session
  return *store;
}

SchemaStore::SchemaStore() {
  // The library checks imported versions against its list of domains.
  auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance();
  for (const char* domain : {kMicrosoftDomain, kNchwcDomain}) {
    if (domains.Map().find(domain) == domains.Map().end()) domains.AddDomainToVersion(domain, 1, 1);
  }
  for (const SchemaRow& row : schema_table()) {
    const std::string_view domain = row.domain ? row.domain : kPreviewDomains;
    Entries& entries = domain == kPreviewDomains ? preview_ : domain.empty() ? onnx_ : ml_;
    entries[row.name].push_back({&row, nullptr});
  }
  for (Entries* entries : {&onnx_, &ml_, &preview_}) {
    for (auto& [name, versions] : *entries) {
      std::sort(versions.begin(), versions.end(),
                [](const Entry& a, const Entry& b) { return a.row->version > b.row->version; });
    }
  }
}

const onnx::OpSchema* SchemaStore::made(const Entry& entry) const {
  if (!entry.schema) {
    onnx::OpSchema schema = entry.row->make();
    if (is_gradient({schema.domain(), schema.Name(), {}})) teach_gradient_types(schema);
    entry.schema = finished(std::move(schema));
  }
  return entry.schema.get();
}

const onnx::OpSchema* SchemaStore::microsoft(const std::string& name, int version,
                                             const std::string& domain) const {
  if (microsoft_.empty()) {
    for (onnx::OpSchema& schema : microsoft_schemas()) {
      std::pair key(schema.domain(), schema.Name());
      microsoft_.emplace(std::move(key), finished(std::move(schema)));
    }
  }
  const auto found = microsoft_.find({domain, name});
  if (found == microsoft_.end() || found->second->SinceVersion() > version) return nullptr;
  return found->second.get();
}

const onnx::OpSchema* SchemaStore::GetSchema(const std::string& name, int version,
                                             const std::string& domain) const {
  if (domain == kBodyDomain) return GetSchema(name, version, onnx::ONNX_DOMAIN);
  const MutexLock lock(mutex_);
  if (domain == kMicrosoftDomain || domain == kNchwcDomain) return microsoft(name, version, domain);
  const bool is_preview = domain.starts_with(kPreviewDomains);
  if (!is_preview && !domain.empty() && domain != onnx::AI_ONNX_ML_DOMAIN) return nullptr;
  const Entries& entries = is_preview ? preview_ : domain.empty() ? onnx_ : ml_;
  const auto versions = entries.find(name);
  // ONNX Runtime uses some of its operators in the domain ai.onnx.
  if (versions == entries.end()) return domain.empty() ? microsoft(name, version, domain) : nullptr;
  auto entry =
      std::find_if(versions->second.begin(), versions->second.end(),
                   [&](const Entry& candidate) { return candidate.row->version <= version; });
  if (entry == versions->second.end()) {
    const bool is_early =
        std::find(kTakenEarly.begin(), kTakenEarly.end(), name) != kTakenEarly.end();
    if (!is_early || !domain.empty()) return nullptr;
    --entry;  // the oldest
  }
  const onnx::OpSchema* schema = made(*entry);
  return schema->domain() == domain ? schema : nullptr;
}

const onnx::OpSchema* SchemaStore::newest(const std::string& name,
                                          const std::string& domain) const {
  return GetSchema(name, std::numeric_limits<int>::max(), domain);
}

}  // namespace gantry
