// SPDX-License-Identifier: Apache-2.0
#include "model_writer.h"

#include <cstring>

namespace gantry::checks {
namespace {

// Field numbers are those of onnx.proto.
class Message {
 public:
  void put(uint32_t field, int64_t number) {
    tag(field, 0);
    varint(static_cast<uint64_t>(number));
  }
  void put(uint32_t field, float number) {
    tag(field, 5);
    char bytes[sizeof(number)];
    std::memcpy(bytes, &number, sizeof(number));
    bytes_.append(bytes, sizeof(bytes));
  }
  void put(uint32_t field, const std::string& text) {
    tag(field, 2);
    varint(text.size());
    bytes_ += text;
  }
  void put(uint32_t field, const Message& message) { put(field, message.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void tag(uint32_t field, uint32_t wire_type) { varint(field << 3 | wire_type); }
  void varint(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_ += static_cast<char>(number | 0x80);
    bytes_ += static_cast<char>(number);
  }
  std::string bytes_;
};

Message value_info(const std::string& name, DType dtype, const std::vector<int64_t>* shape) {
  Message tensor;
  tensor.put(1, static_cast<int64_t>(dtype));
  if (shape) {
    Message extents;
    for (const int64_t extent : *shape) {
      Message dimension;
      dimension.put(1, extent);
      extents.put(1, dimension);
    }
    tensor.put(2, extents);
  }
  Message type;
  type.put(1, tensor);
  Message info;
  info.put(1, name);
  info.put(2, type);
  return info;
}

Message initializer(const std::string& name, const Tensor& constant) {
  Message tensor;
  for (const int64_t extent : constant.shape()) tensor.put(1, extent);
  tensor.put(2, static_cast<int64_t>(constant.dtype()));
  tensor.put(8, name);
  tensor.put(9, std::string(static_cast<const char*>(constant.data()), constant.size_bytes()));
  return tensor;
}

Message attribute(const ModelAttribute& attribute) {
  enum Type : int64_t { kFloat = 1, kInt = 2, kString = 3, kInts = 7 };
  Message message;
  message.put(1, attribute.name);
  if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
    message.put(3, *number);
    message.put(20, int64_t{kInt});
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    message.put(2, *real);
    message.put(20, int64_t{kFloat});
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    message.put(4, *text);
    message.put(20, int64_t{kString});
  } else {
    for (const int64_t item : std::get<std::vector<int64_t>>(attribute.value)) message.put(8, item);
    message.put(20, int64_t{kInts});
  }
  return message;
}

}  // namespace

std::vector<std::byte> serialize(const OneNodeModel& model) {
  NodesModel nodes = {model.domain, model.opset, {}, {}, {}};
  ModelNode node = {model.op_type, {}, {}, model.attributes};
  for (const ModelInput& input : model.inputs) {
    node.inputs.push_back(input.name);
    if (!input.name.empty()) nodes.inputs.push_back(input);
  }
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    node.outputs.push_back(model.output_names.empty() ? "y" + std::to_string(i)
                                                      : model.output_names[i]);
    nodes.outputs.push_back({node.outputs.back(), model.outputs[i]});
  }
  nodes.nodes.push_back(std::move(node));
  return serialize(nodes);
}

std::vector<std::byte> serialize(const NodesModel& model) {
  Message graph;
  for (const ModelNode& one : model.nodes) {
    Message node;
    for (const std::string& input : one.inputs) node.put(1, input);
    for (const std::string& output : one.outputs) node.put(2, output);
    const std::string number = model.nodes.size() == 1 ? std::string() : "_" + one.outputs.front();
    node.put(3, "the_" + one.op_type + number);
    node.put(4, one.op_type);
    for (const ModelAttribute& value : one.attributes) node.put(5, attribute(value));
    node.put(7, model.domain);
    graph.put(1, node);
  }
  graph.put(2, std::string("case"));
  for (const ModelInput& input : model.inputs) {
    if (input.constant.kind() == Kind::kTensor) {
      graph.put(5, initializer(input.name, input.constant));
    } else {
      graph.put(11, value_info(input.name, input.dtype, &input.shape));
    }
  }
  for (const NodesModel::Output& output : model.outputs)
    graph.put(12, value_info(output.name, output.dtype, nullptr));
  Message opset;
  opset.put(1, model.domain);
  opset.put(2, model.opset);
  Message message;
  constexpr int64_t kIrVersion = 10;
  message.put(1, kIrVersion);
  message.put(7, graph);
  message.put(8, opset);
  std::vector<std::byte> bytes(message.bytes().size());
  std::memcpy(bytes.data(), message.bytes().data(), bytes.size());
  return bytes;
}

}  // namespace gantry::checks
