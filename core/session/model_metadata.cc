// SPDX-License-Identifier: Apache-2.0
#include "session/model_metadata.h"

#include <functional>
#include <set>

#include "onnx/validate/infer_types.h"

namespace gantry {

std::string subject_of(const ModelSource& source) {
  return source.bytes.empty() ? source.path.string() : std::string("model in memory");
}

namespace {

std::vector<ValueInfo> infos_of(const std::vector<GraphValue*>& values) {
  std::vector<ValueInfo> infos;
  for (const GraphValue* value : values) {
    const TypeInfo& type = value->type;
    infos.push_back({value->name, type.kind, type.dtype, type.has_rank, type.shape, type.symbols,
                     value->initial == nullptr});
  }
  return infos;
}

}  // namespace

std::vector<ValueInfo> input_infos(const Graph& graph) { return infos_of(graph.inputs); }

std::vector<ValueInfo> output_infos(const Graph& graph) {
  std::set<std::string, std::less<>> given;
  for (const GraphValue* input : graph.inputs)
    given.insert(input->type.symbols.begin(), input->type.symbols.end());
  std::vector<ValueInfo> infos = infos_of(graph.outputs());
  for (ValueInfo& info : infos) {
    for (std::string& symbol : info.symbols) {
      if (symbol.starts_with(kMadeUpSymbol) && !given.contains(symbol)) symbol.clear();
    }
  }
  return infos;
}

}  // namespace gantry
