// SPDX-License-Identifier: Apache-2.0
#include "graph/image.h"

#include <gantry/error.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <gmock/gmock.h>
#include <string>

#include "model_text.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_error;

constexpr const char* kBodies = R"(
  main (bool b, float[N, 3] x, int64 n) => (float[N, 3] y, float[M, 3] z) {
    w = Constant <value = float[3] {1, 2.5, -3}> ()
    t = Constant <value_strings = ["one", "", "three"]> ()
    a = LeakyRelu <alpha = 0.5> (x)
    r = ReduceMax <keepdims = 1> (a)
    turned = Transpose <perm = [1, 0]> (x)
    y = If (b) <
      then_branch = t () => (float[N, 3] s) { s = Add(a, w) },
      else_branch = e () => (float[N, 3] u) { u = Clip(x, , w) }
    >
    z, scanned = Loop (n, , a) <
      body = l (int64 i, bool go, float[N, 3] v) => (bool still, float[N, 3] next, string[3] text) {
        still = Identity(go)
        next = If (go) <
          then_branch = lt () => (float[N, 3] p) { p = Mul(v, w) },
          else_branch = le () => (float[N, 3] q) { q = Sub(v, a) }
        >
        text = Identity(t)
      }
    >
  })";

// A graph whose parts are told apart by their text.
std::unique_ptr<Graph> small_graph() {
  auto graph = std::make_unique<Graph>();
  graph->name = "small";
  TypeInfo type{Kind::kTensor, DType::kFloat, true, {-1, 3}, {"N", ""}};
  GraphValue* x = graph->add_value("x", type);
  graph->inputs.push_back(x);
  x->initial = make_tensor(DType::kFloat, {1, 3});
  std::memset(x->initial->view.data, 0, x->initial->view.size_bytes);
  Node* node = graph->add_node("Relu", "", 14, "r");
  graph->add_input(node, x);
  graph->add_output(node, graph->add_value("y", type));
  node->attributes.push_back({"numbers", std::vector<float>{1, 2}});
  graph->set_outputs({node->outputs[0]});
  return graph;
}

// As mapped files and artefacts are: at a multiple of 64.
std::shared_ptr<std::byte> placed(const std::vector<std::byte>& image) {
  std::shared_ptr<void> memory = allocate_host(image.size());
  auto* bytes = static_cast<std::byte*>(memory.get());
  std::copy(image.begin(), image.end(), bytes);  // there may be none
  return {memory, bytes};
}

std::unique_ptr<Graph> read(const std::vector<std::byte>& image,
                            std::span<const ImageSource> sources = {}) {
  const std::shared_ptr<std::byte> memory = placed(image);
  return from_image({memory.get(), image.size()}, memory, sources);
}

TEST(Image, GivesBackNodesAttributesBodiesAndTypes) {
  const auto graph = test::graph_of(kBodies);
  const std::vector<std::byte> image = to_image(*graph, {});
  const auto again = read(image);
  EXPECT_EQ(to_text(*again, 100), to_text(*graph, 100));
  EXPECT_THAT(to_text(*again, 100), testing::HasSubstr(R"("one", "", "three")"));
  verify(*again);
  EXPECT_EQ(to_image(*again, {}), image);
}

TEST(Image, GivesBackInitialValuesAndEveryKindOfAttribute) {
  const auto graph = small_graph();
  Node& node = *graph->nodes()[0];
  node.overload = "second";
  const ValueRef scalar = make_tensor(DType::kInt64, {});
  *static_cast<int64_t*>(scalar->view.data) = 7;
  node.attributes.push_back({"one", int64_t{-5}});
  node.attributes.push_back({"half", 0.5F});
  node.attributes.push_back({"text", std::string("a\0b", 3)});
  node.attributes.push_back({"tensor", scalar});
  node.attributes.push_back({"whole", std::vector<int64_t>{1, -1}});
  node.attributes.push_back({"texts", std::vector<std::string>{"", "b"}});
  node.attributes.push_back({"tensors", std::vector<ValueRef>{scalar, scalar}});
  std::vector<std::unique_ptr<Graph>> bodies;
  bodies.push_back(small_graph());
  bodies.push_back(small_graph());
  node.attributes.push_back({"bodies", std::move(bodies)});
  const auto again = read(to_image(*graph, {}));
  EXPECT_EQ(to_text(*again, 100), to_text(*graph, 100));
  const Node& read_node = *again->nodes()[0];
  EXPECT_EQ(read_node.overload, "second");
  EXPECT_EQ(read_node.get("text", std::string()), std::string("a\0b", 3));
  EXPECT_EQ(read_node.bodies().size(), 2U);
  ASSERT_TRUE(again->inputs[0]->initial);
  EXPECT_EQ(again->inputs[0]->initial->shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(again->inputs[0]->type.symbols[0], "N");
}

TEST(Image, RefersToWhatItsReaderHasAndHoldsTheRest) {
  alignas(64) const std::array<float, 4> there = {1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(there));
  Graph graph;
  const ValueRef view = view_tensor(DType::kFloat, {3}, there.data() + 1, 12, nullptr);
  const ValueRef own = make_tensor(DType::kFloat, {2});
  const std::array<float, 2> numbers = {5, 6};
  std::memcpy(own->view.data, numbers.data(), sizeof(numbers));
  graph.set_outputs({graph.add_constant("view", view), graph.add_constant("own", own)});
  const std::vector<std::byte> image = to_image(graph, std::vector<ImageSource>{{bytes, nullptr}});

  alignas(64) const std::array<float, 4> other = {9, 8, 7, 6};
  auto owner = std::make_shared<int>(0);
  const ImageSource source{std::as_bytes(std::span(other)), owner};
  const auto again = read(image, {&source, 1});
  const gantry_value& first = *again->outputs()[0]->constant;
  const gantry_value& second = *again->outputs()[1]->constant;
  EXPECT_EQ(first.view.data, other.data() + 1);
  EXPECT_EQ(first.owner, owner);
  EXPECT_TRUE(first.is_mapped);
  EXPECT_TRUE(
      std::equal(numbers.begin(), numbers.end(), static_cast<const float*>(second.view.data)));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(second.view.data) % 64, 0U);
  expect_error(Code::kInvalidArgument, {"a source is missing"}, [&] { read(image); });
  const ImageSource shorter{source.bytes.first(12), owner};
  expect_error(Code::kInvalidArgument, {"a constant is cut"}, [&] { read(image, {&shorter, 1}); });
}

TEST(Image, IsNotMadeOfWhatIsNoDenseTensor) {
  Graph graph;
  auto sequence = std::make_shared<gantry_value>();
  sequence->kind = GANTRY_KIND_SEQUENCE;
  graph.set_outputs({graph.add_constant("c", sequence)});
  EXPECT_TRUE(to_image(graph, {}).empty());
}

TEST(Image, OneThatWasCutIsRefused) {
  const std::vector<std::byte> whole = to_image(*test::graph_of(kBodies), {});
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW(read({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)}), Error)
        << length;
  }
}

TEST(Image, ABitThatFlippedReadsNothingThatIsNotThere) {
  const std::vector<std::byte> whole = to_image(*test::graph_of(kBodies), {});
  size_t refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> image = whole;
    image[i] ^= std::byte{0x81};
    try {
      to_text(*read(image), 4);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size() / 4);
}

}  // namespace
}  // namespace gantry
