// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/graph_message.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "../float_matrix.h"
#include "plugin/graph_view.h"
#include "plugin/isolation/constant_store.h"

namespace gantry {
namespace {

ValueRef strings() {
  ValueRef value = make_tensor(DType::kString, {2});
  value->strings = {"a", "bc"};
  return value;
}

// An attribute of each type, a body that reads an outer value, constants small, large and of
// strings.
std::unique_ptr<Graph> rich_graph() {
  auto graph = std::make_unique<Graph>();
  graph->name = "main";
  GraphValue* x = graph->add_value("x", float_matrix(-1, "batch"));
  ValueRef large = make_tensor(DType::kFloat, {64, 64});
  for (int i = 0; i < 64 * 64; ++i)
    static_cast<float*>(large->view.data)[i] = static_cast<float>(i);
  GraphValue* w = graph->add_constant("w", large);
  GraphValue* s = graph->add_constant("s", strings());
  Node* node = graph->add_node("Gemm", "", 13, "gemm");
  for (GraphValue* input : {x, w, static_cast<GraphValue*>(nullptr), s})
    graph->add_input(node, input);
  GraphValue* y = graph->add_value("y");
  graph->add_output(node, nullptr);
  graph->add_output(node, y);
  node->overload = "other";
  node->attributes.push_back({"i", int64_t{7}});
  node->attributes.push_back({"f", 0.5F});
  node->attributes.push_back({"s", std::string("text")});
  node->attributes.push_back({"t", make_tensor(DType::kInt64, {0})});
  node->attributes.push_back({"is", std::vector<int64_t>{1, 2, 3}});
  node->attributes.push_back({"fs", std::vector<float>{}});
  node->attributes.push_back({"ss", std::vector<std::string>{"a", "bc"}});
  node->attributes.push_back({"ts", std::vector<ValueRef>{strings()}});
  auto body = std::make_unique<Graph>();
  body->name = "body";
  GraphValue* inner = body->add_value("inner", float_matrix(2, ""));
  Node* relu = body->add_node("Relu", "", 14, "relu");
  body->add_input(relu, inner);
  body->add_output(relu, body->add_value("out"));
  body->captures = {inner};
  body->set_outputs({relu->outputs[0]});
  body->renumber();
  Node* branch = graph->add_node("If", "", 16, "if");
  graph->add_input(branch, y);
  graph->add_capture(branch, x);
  graph->add_output(branch, graph->add_value("z"));
  branch->attributes.push_back({"then_branch", std::move(body)});
  graph->inputs = {x};
  graph->set_outputs({branch->outputs[0], y});
  graph->renumber();
  return graph;
}

struct Written {
  MessageWriter message;
  ConstantStore::Segments segments;
};

Written write(const Graph& graph) {
  Written written;
  const GraphView view(graph);
  ConstantStore::Batch batch(ConstantStore::create());
  write_graph(written.message, *view.get(),
              [&](const gantry_value& value) { return batch.place(value); });
  written.segments = batch.finish();
  return written;
}

std::unique_ptr<Graph> read(std::span<const std::byte> bytes,
                            const ConstantStore::Segments& segments) {
  MessageReader reader(bytes);
  return read_graph(reader, [&](const DataPlace& place, uint64_t size_bytes) {
    if (place.where != segments[0]->id) throw Error(Code::kInternal, "no such segment");
    const auto mapped = SharedMemory::map(Descriptor(dup(segments[0]->memory->file())),
                                          segments[0]->memory->size_bytes(), false);
    if (place.offset > mapped->size_bytes() || size_bytes > mapped->size_bytes() - place.offset)
      throw Error(Code::kInternal, "beyond the segment");
    return std::shared_ptr<const void>(mapped, mapped->data() + place.offset);
  });
}

TEST(GraphMessage, BringsEverythingAcross) {
  const std::unique_ptr<Graph> graph = rich_graph();
  const Written written = write(*graph);
  ASSERT_EQ(written.segments.size(), 1U) << "the large constant, apart from the message";
  const std::unique_ptr<Graph> copy = read(written.message.bytes(), written.segments);
  EXPECT_EQ(to_text(*copy, 64 * 64), to_text(*graph, 64 * 64));
  for (size_t i = 0; i < graph->values().size(); ++i) {
    EXPECT_EQ(copy->values()[i]->id, i);
    EXPECT_EQ(copy->values()[i]->name, graph->values()[i]->name);
    EXPECT_EQ(copy->values()[i]->type.symbols.size(), graph->values()[i]->type.shape.size());
  }
  const Node& gemm = *copy->nodes()[0];
  EXPECT_EQ(gemm.overload, "other");
  EXPECT_EQ(gemm.inputs[2], nullptr);
  EXPECT_EQ(gemm.outputs[0], nullptr);
  EXPECT_EQ(gemm.inputs[3]->constant->strings, strings()->strings);
  const Graph& body = *copy->nodes()[1]->bodies()[0];
  EXPECT_EQ(body.captures[0], body.nodes()[0]->inputs[0]);
  verify(*copy);
}

TEST(GraphMessage, ACutOneIsAnError) {
  const Written written = write(*rich_graph());
  const std::vector<std::byte>& bytes = written.message.bytes();
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(read({bytes.data(), length}, written.segments), Error) << length;
}

TEST(GraphMessage, AWrongByteIsAnErrorOrAnotherGraph) {
  const Written written = write(*rich_graph());
  std::vector<std::byte> bytes = written.message.bytes();
  int errors = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    const std::byte right = bytes[at];
    for (const int flip : {0x01, 0x80, 0xff}) {
      bytes[at] = right ^ static_cast<std::byte>(flip);
      try {
        read(bytes, written.segments);
      } catch (const Error&) {
        ++errors;
      }
    }
    bytes[at] = right;
  }
  EXPECT_GT(errors, 1000) << "of counts, ids, kinds, types and places";
}

}  // namespace
}  // namespace gantry
