// SPDX-License-Identifier: Apache-2.0
#include "onnx/schema/convert_opset.h"

#include <gantry/error.h>

#include <exception>
#include <onnx/defs/schema.h>
#include <onnx/version_converter/convert.h>
#include <stdexcept>

#include "onnx/schema/schema_store.h"

namespace gantry {

void convert_opset(onnx::GraphProto& part, int from, int to, const std::string& label) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::OperatorSetIdProto* import = model.add_opset_import();
  import->set_domain("");
  import->set_version(from);
  *model.mutable_graph() = part;
  try {
    onnx::ModelProto raised = onnx::version_conversion::ConvertVersion(model, to);
    // The library leaves nodes that it cannot convert unchanged.
    for (const onnx::NodeProto& node : raised.graph().node()) {
      const onnx::OpSchema* schema =
          SchemaStore::instance().GetSchema(node.op_type(), to, node.domain());
      if (!schema || schema->Deprecated())
        throw std::runtime_error(node.op_type() + " is no operator of that opset any more");
    }
    part.Swap(raised.mutable_graph());
  } catch (const std::exception& error) {
    throw Error(Code::kUnsupported, label + " is of opset " + std::to_string(from) +
                                        " and was not converted to opset " + std::to_string(to) +
                                        ", which nodes beside it need: " + error.what() +
                                        "; they must be compiled separately");
  }
}

}  // namespace gantry
