// SPDX-License-Identifier: Apache-2.0
// Encoded images, through ImageDecoder of the provider cpu (opset 20): all formats.
#include <gantry/session.h>

#include <cstdlib>
#include <onnx/onnx_pb.h>

#include "fuzz_target.h"

namespace gantry {
namespace {

std::string decoder_model() {
  ONNX_NAMESPACE::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(20);
  ONNX_NAMESPACE::GraphProto& graph = *model.mutable_graph();
  graph.set_name("decoder");
  ONNX_NAMESPACE::NodeProto& node = *graph.add_node();
  node.set_op_type("ImageDecoder");
  node.add_input("image");
  node.add_output("pixels");
  const auto describe = [](ONNX_NAMESPACE::ValueInfoProto& value, const char* name, int rank) {
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(ONNX_NAMESPACE::TensorProto::UINT8);
    for (int axis = 0; axis < rank; ++axis)
      type.mutable_shape()->add_dim()->set_dim_param("d" + std::to_string(axis) + name);
  };
  describe(*graph.add_input(), "image", 1);
  describe(*graph.add_output(), "pixels", 3);
  return model.SerializeAsString();
}

Session& decoder() {
  static Runtime runtime({.config_json = R"({"session": {"threads": 1,
                                             "memory_limit_bytes": 67108864}})"});
  static const std::string model = decoder_model();
  static Session session(runtime, {std::as_bytes(std::span(model)), {}}, {.device = "CPU"});
  return session;
}

}  // namespace
}  // namespace gantry

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  setenv("GANTRY_PROVIDER_FILES", GANTRY_CPU_MANIFEST, 1);
  gantry::decoder();  // without a decoder every input would be refused
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gantry::Session& session = gantry::decoder();
  gantry::fuzz::run_or_refuse([&] {
    const gantry::Tensor image({static_cast<int64_t>(size)}, std::span<const uint8_t>(data, size));
    session.run({{"image", image}});
  });
  return 0;
}
