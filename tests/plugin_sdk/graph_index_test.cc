// SPDX-License-Identifier: Apache-2.0
// The slots of a set of nodes, by the rule of provider.h, section 3.
#include <gantry/sdk/graph_index.h>

#include <gtest/gtest.h>
#include <tuple>
#include <vector>

namespace gantry::sdk {

bool operator==(const InputSlot& a, const InputSlot& b) {
  return std::tie(a.node, a.position, a.value) == std::tie(b.node, b.position, b.value);
}

namespace {

using Nodes = std::vector<uint32_t>;

/// Values 0 and 1 are inputs. Node 0 makes 2 and 3 of 0 and nothing; node 1 makes 4 of 2 and 2;
/// node 2 makes 5 of 4, its body reads 2 and 1; node 3 makes 6 of 1. 3 is read by nobody, 4 leaves
/// the graph.
class GraphIndexTest : public ::testing::Test {
 protected:
  GraphIndexTest() {
    for (gantry_value_info& info : infos_) {
      info.size = sizeof(info);
      info.producer = GANTRY_NONE;
      values_.push_back(&info);
    }
    add(0, {0, GANTRY_NONE}, {2, 3}, {});
    add(1, {2, 2}, {4}, {});
    add(2, {4}, {5}, {2, 1});
    add(3, {1}, {6}, {});
    infos_[4].is_graph_output = 1;
    graph_.size = sizeof(graph_);
    graph_.nodes = nodes_.data();
    graph_.node_count = static_cast<uint32_t>(nodes_.size());
    graph_.values = values_.data();
    graph_.value_count = static_cast<uint32_t>(values_.size());
  }

  const gantry_graph& graph() const { return graph_; }

 private:
  void add(size_t number, Nodes inputs, Nodes outputs, Nodes captures) {
    lists_[number] = {std::move(inputs), std::move(outputs), std::move(captures)};
    gantry_node& node = raw_[number];
    node.size = sizeof(node);
    node.inputs = lists_[number][0].data();
    node.input_count = static_cast<uint32_t>(lists_[number][0].size());
    node.outputs = lists_[number][1].data();
    node.output_count = static_cast<uint32_t>(lists_[number][1].size());
    node.captures = lists_[number][2].data();
    node.capture_count = static_cast<uint32_t>(lists_[number][2].size());
    for (const uint32_t value : lists_[number][1])
      infos_[value].producer = static_cast<uint32_t>(number);
    for (const size_t list : {0, 2}) {
      for (const uint32_t value : lists_[number][list])
        infos_[value == GANTRY_NONE ? kNobody : value].read_count += 1;
    }
    nodes_.push_back(&node);
  }

  static constexpr uint32_t kNobody = 7;  // reads of absent inputs
  std::vector<gantry_value_info> infos_ = std::vector<gantry_value_info>(kNobody + 1);
  std::vector<const gantry_value_info*> values_;
  std::vector<gantry_node> raw_ = std::vector<gantry_node>(4);
  std::vector<std::vector<Nodes>> lists_ = std::vector<std::vector<Nodes>>(4);
  std::vector<const gantry_node*> nodes_;
  gantry_graph graph_ = {};
};

TEST_F(GraphIndexTest, NamesReadersAndThoseThatReadTwiceTwice) {
  const GraphIndex index(nullptr, graph());
  EXPECT_EQ(index.readers(2), (Nodes{1, 1, 2}));
  EXPECT_EQ(index.readers(1), (Nodes{2, 3}));
  EXPECT_EQ(index.readers(3), Nodes());
}

TEST_F(GraphIndexTest, KnowsOfReadersBeyondTheNodesItIsMadeOf) {
  const GraphIndex index(nullptr, graph(), {1, 2});
  EXPECT_EQ(index.readers(1), Nodes{2});
  EXPECT_EQ(index.only_reader(1), GANTRY_NONE);  // node 3 reads it too
  EXPECT_EQ(index.output_slots({1, 2}), (Nodes{4, 5}));
}

TEST_F(GraphIndexTest, KnowsAnOnlyReaderUnlessTheValueLeavesTheGraph) {
  const GraphIndex index(nullptr, graph());
  EXPECT_EQ(index.only_reader(0), 0U);
  EXPECT_EQ(index.only_reader(1), GANTRY_NONE);  // two
  EXPECT_EQ(index.only_reader(4), GANTRY_NONE);  // an output
  EXPECT_EQ(index.only_reader(GANTRY_NONE), GANTRY_NONE);
}

TEST_F(GraphIndexTest, GivesInputSlotsOfInputsThenCapturesWithoutWhatIsMadeInside) {
  const GraphIndex index(nullptr, graph());
  EXPECT_EQ(index.input_slots({0}), (std::vector<InputSlot>{{0, 0, 0}, {0, 1, GANTRY_NONE}}));
  EXPECT_EQ(index.input_slots({1}), (std::vector<InputSlot>{{1, 0, 2}, {1, 1, 2}}));
  EXPECT_EQ(index.input_slots({1, 2}),
            (std::vector<InputSlot>{{1, 0, 2}, {1, 1, 2}, {2, 1, 2}, {2, 2, 1}}));
}

TEST_F(GraphIndexTest, GivesOutputSlotsOfWhatIsReadElsewhereOrNowhere) {
  const GraphIndex index(nullptr, graph());
  EXPECT_EQ(index.output_slots({0}), (Nodes{2, 3}));
  EXPECT_EQ(index.output_slots({0, 1}), (Nodes{2, 3, 4}));  // the body of node 2 reads 2
  EXPECT_EQ(index.output_slots({0, 1, 2}), (Nodes{3, 4, 5}));
}

}  // namespace
}  // namespace gantry::sdk
