// SPDX-License-Identifier: Apache-2.0
#include "session/model_facts.h"

namespace gantry {

std::string subject_of(const ModelSource& source) {
  return source.bytes.empty() ? source.path.string() : std::string("model in memory");
}

std::vector<ValueInfo> infos_of(const std::vector<GraphValue*>& values) {
  std::vector<ValueInfo> infos;
  for (const GraphValue* value : values) {
    const TypeInfo& type = value->type;
    infos.push_back({value->name, type.kind, type.dtype, type.has_rank, type.shape, type.symbols,
                     value->initial == nullptr});
  }
  return infos;
}

}  // namespace gantry
