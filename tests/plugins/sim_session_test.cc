// SPDX-License-Identifier: Apache-2.0
// Sessions over simulated devices: copies where memory spaces meet and nowhere else, devices that
// work at the same time, results that do not depend on how late work is done.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "sim_runtime.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_close;
using test::numbers;
using test::placed;
using test::SimRuntime;

struct Copies {
  uint64_t in = 0;
  uint64_t out = 0;
  uint64_t between = 0;  // two devices
  friend bool operator==(const Copies&, const Copies&) = default;
  friend Copies operator-(const Copies& a, const Copies& b) {
    return {a.in - b.in, a.out - b.out, a.between - b.between};
  }
};

std::ostream& operator<<(std::ostream& out, const Copies& copies) {
  return out << copies.in << " in, " << copies.out << " out, " << copies.between << " between";
}

Copies copies_of(const sim::Journal& journal) {
  return {journal.copies_in, journal.copies_out, journal.copies_between};
}

struct Shape {
  const char* name;
  std::string model;
  std::map<std::string, std::string> devices;
  Copies at_load;  // constants
  Copies per_run;
  bool by_host = false;  // what goes from one device to another
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.name; }

class CopiesOf : public testing::TestWithParam<Shape> {};

TEST_P(CopiesOf, AreMadeWhereTheyAreNeededAndNowhereElse) {
  const Shape& shape = GetParam();
  SimRuntime sim(std::string(R"({"latency_us": 0, "jitter_us": 100, "peer_copies": )") +
                 (shape.by_host ? "false}" : "true}"));
  const sim::Journal& journal = sim.journal();
  Session session = sim.session(shape.model, placed(shape.devices));
  EXPECT_EQ(copies_of(journal), shape.at_load) << session.graph_text();
  EXPECT_EQ(session.placement().copies,
            shape.per_run.in + shape.per_run.out + shape.per_run.between);
  Session cpu = sim.on_cpu(shape.model);
  for (uint32_t run = 0; run < 4; ++run) {
    Inputs inputs;
    for (const ValueInfo& input : cpu.inputs()) inputs[input.name] = numbers({2, 3}, run);
    const Copies before = copies_of(journal);
    const std::vector<Tensor> outputs = session.run(inputs);
    EXPECT_EQ(copies_of(journal) - before, shape.per_run) << "run " << run;
    expect_close(outputs, cpu.run(inputs));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, CopiesOf,
    testing::Values(
        Shape{
            "cpu_alone", "g (float[2,3] x) => (float[2,3] y) { y = Tanh(x) }", {}, {0, 0}, {0, 0}},
        Shape{"chain_cpu_sim_cpu",
              "g (float[2,3] x) => (float[2,3] y) { a = Tanh(x) b = Relu(a) c = Relu(b) y = "
              "Tanh(c) }",
              {},
              {0, 0},
              {1, 1}},
        Shape{"chain_on_the_device",
              "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Mul(a, a) y = Add(b, a) }",
              {},
              {0, 0},
              {1, 1}},
        Shape{"fan_out_read_twice",
              "g (float[2,3] x) => (float[2,3] y, float[2,3] z) {"
              "  t = Tanh(x) y = Relu(t) u = Mul(t, t) z = Sub(u, t) }",
              {},
              {0, 0},
              {1, 2}},
        Shape{"output_read_on_the_host_too",
              "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Relu(x) z = Tanh(y) }",
              {},
              {0, 0},
              {1, 1}},
        Shape{"constants_once",
              "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> {"
              "  a = Mul(x, w) b = Add(a, w) y = Sub(b, x) }",
              {},
              {1, 0},
              {1, 1}},
        Shape{"constants_once_for_each_device",
              "g (float[2,3] x) => (float[2,3] y) <float[3] w = {1, 2, 3}> {"
              "  a = Mul(x, w) [there] b = Add(x, w) y = Tanh(a) }",
              {{"there", "SIM:1"}},
              {1, 0},
              {1, 1}},
        Shape{"two_devices",
              "g (float[2,3] x) => (float[2,3] y, float[2,3] z) <float[3] w = {1, 2, 3}> {"
              "  y = Mul(x, w) [there] z = Add(x, w) }",
              {{"there", "SIM:1"}},
              {2, 0},
              {2, 2}},
        Shape{"device_to_device",
              "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Mul(a, a)"
              "  [there] c = Add(b, b) [there_too] y = Relu(c) }",
              {{"there*", "SIM:1"}},
              {0, 0},
              {1, 1, 1}},
        Shape{"device_to_device_by_the_host",
              "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) b = Mul(a, a)"
              "  [there] c = Add(b, b) [there_too] y = Relu(c) }",
              {{"there*", "SIM:1"}},
              {0, 0},
              {2, 2},
              true},
        Shape{"there_and_back",
              "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) [there] b = Mul(a, a) y = Add(b, "
              "a) }",
              {{"there", "SIM:1"}},
              {0, 0},
              {1, 1, 2}},
        Shape{"there_and_back_by_the_host",
              "g (float[2,3] x) => (float[2,3] y) { a = Relu(x) [there] b = Mul(a, a) y = Add(b, "
              "a) }",
              {{"there", "SIM:1"}},
              {0, 0},
              {3, 3},
              true},
        // What the host has too goes from device to device all the same.
        Shape{"device_to_device_and_host",
              "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { a = Relu(x) y = Tanh(a)"
              "  [there] z = Add(a, a) }",
              {{"there", "SIM:1"}},
              {0, 0},
              {1, 2, 1}},
        // Frames of bodies use their memory again within a run.
        Shape{"device_to_device_in_a_body",
              "g (float[2,3] x) => (float[2,3] y) <float big = {1000}> {"
              "  s = ReduceSum <keepdims = 0> (x) f = Less(s, big) y = If (f) <"
              "    then_branch = t () => (float[2,3] u) { a = Relu(x) [there] u = Mul(a, a) },"
              "    else_branch = e () => (float[2,3] v) { v = Tanh(x) }> }",
              {{"*there", "SIM:1"}},
              {0, 0},
              {2, 2}},
        // The shape is wanted in host memory: nothing but the tensor itself crosses.
        Shape{"host_port_with_a_constant",
              "g (float[2,3] x) => (float[N,M] y) <int64[2] s = {3, 2}> {"
              "  a = Relu(x) b = Reshape(a, s) y = Relu(b) }",
              {},
              {0, 0},
              {1, 1}},
        Shape{"host_port_with_a_computed_shape",
              "g (float[2,3] x) => (float[N,M] y) <int64[1] two = {2}, int64[1] rest = {-1}> {"
              "  a = Relu(x) s = Concat <axis = 0> (rest, two) b = Reshape(a, s) y = Relu(b) }",
              {},
              {0, 0},
              {1, 1}},
        Shape{"input_handed_out",
              "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Relu(x) z = Identity(x) }",
              {},
              {0, 0},
              {1, 1}}),
    [](const testing::TestParamInfo<Shape>& info) { return std::string(info.param.name); });

TEST(SimSession, IndependentBranchesOverlap) {
  // The first kernel of each device waits inside for that of the other: if the second were issued
  // after the first had ended, they would wait in vain.
  SimRuntime sim(R"({"rendezvous": 2, "journal": true})");
  const std::string model =
      "g (float[2,3] x) => (float[2,3] y) {"
      "  [left] a = Mul(x, x) [left_2] c = Relu(a) [right] b = Add(x, x) [right_2] d = Relu(b)"
      "  e = Max(c, d) y = Tanh(e) }";
  Session session = sim.session(model, placed({{"right*", "SIM:1"}}));
  const Inputs inputs = {{"x", numbers({2, 3})}};
  expect_close(session.run(inputs), sim.on_cpu(model).run(inputs));
  const sim::Journal& journal = sim.journal();
  // Of the first kernel of each device: where it begins and ends in the order of all work.
  std::map<uint32_t, std::pair<uint32_t, uint32_t>> first;
  for (uint32_t i = 0; i < journal.entry_count; ++i) {
    const auto& entry = journal.entries[i];
    const std::string name = entry.name.data();
    if (name != "Mul \"left\"" && name != "Add \"right\"") continue;
    (entry.is_end ? first[entry.device].second : first[entry.device].first) = i;
  }
  ASSERT_EQ(first.size(), 2U);
  EXPECT_LT(first[0].first, first[1].second) << "SIM:0 began before SIM:1 had ended";
  EXPECT_LT(first[1].first, first[0].second) << "SIM:1 began before SIM:0 had ended";
}

// What the second device reads is still there when it comes to read it, though the first goes on
// and could use the memory for what it makes next.
TEST(SimSession, CopiesBetweenDevicesAreInOrderAndHoldNobodyUp) {
  const std::string model =
      "g (float[64,64] x) => (float[64,64] y, float[64,64] z) {"
      "  a = Relu(x) [t0] b = Add(a, a) c = Mul(x, x) d = Add(c, c) e = Sub(d, x) f = Mul(e, e)"
      "  [t1] g = Mul(b, b) y = Sub(f, x) [t2] z = Sub(g, b) }";
  for (const char* options :
       {R"({"latency_us": 0, "jitter_us": 200})", R"({"latency_us": 200, "capture": false})"}) {
    SimRuntime sim(options);
    Session session = sim.session(model, placed({{"t*", "SIM:1"}}));
    Session cpu = sim.on_cpu(model);
    for (uint32_t run = 0; run < 20; ++run) {
      const Inputs inputs = {{"x", numbers({64, 64}, run)}};
      expect_close(session.run(inputs), cpu.run(inputs));
    }
    EXPECT_EQ(sim.journal().copies_between, 20U);
  }
}

TEST(SimSession, CopiesBetweenDevicesLetTheHostGoOn) {
  // The first kernel waits inside for one of the third device, which stands behind the copy.
  SimRuntime sim(R"({"devices": 3, "rendezvous": 2, "journal": true})");
  const std::string model =
      "g (float[2,3] x, float[2,3] v) => (float[2,3] y, float[2,3] z) {"
      "  [first] a = Relu(x) [second] y = Add(a, a) [third] z = Mul(v, v) }";
  Session session = sim.session(model, placed({{"second", "SIM:1"}, {"third", "SIM:2"}}));
  const Inputs inputs = {{"x", numbers({2, 3})}, {"v", numbers({2, 3}, 2)}};
  expect_close(session.run(inputs), sim.on_cpu(model).run(inputs));
  const sim::Journal& journal = sim.journal();
  uint32_t first_ends = 0;
  uint32_t third_begins = UINT32_MAX;
  for (uint32_t i = 0; i < journal.entry_count; ++i) {
    const std::string name = journal.entries[i].name.data();
    if (name == "Relu \"first\"" && journal.entries[i].is_end) first_ends = i;
    if (name == "Mul \"third\"" && !journal.entries[i].is_end) third_begins = i;
  }
  EXPECT_LT(third_begins, first_ends) << "the host waited for the first device";
}

TEST(SimSession, HasAsManyDevicesAsTheOptionsSay) {
  SimRuntime sim(R"({"devices": 4, "absent": [2]})");
  std::map<std::string, std::string> states;
  for (const DeviceInfo& row : sim->devices()) {
    if (row.device.type == "SIM") states[row.device.to_string()] = row.state;
  }
  EXPECT_EQ(states,
            (std::map<std::string, std::string>{
                {"SIM:0", "ready"}, {"SIM:1", "ready"}, {"SIM:2", "absent"}, {"SIM:3", "ready"}}));
  Session session = sim.session(
      "g (float[2,3] x) => (float[2,3] y) { [a] a = Relu(x) [b] b = Add(a, a) [c] y = Mul(b, b) }",
      placed({{"b", "SIM:1"}, {"c", "SIM:3"}}));
  EXPECT_EQ(session.placement().nodes[2].device, "SIM:3");
  const Inputs inputs = {{"x", numbers({2, 3})}};
  const auto x = std::get<1>(*inputs.begin()).tensor().elements<float>()[0];
  EXPECT_NEAR(session.run(inputs)[0].elements<float>()[0],
              4 * std::max(x, 0.0F) * std::max(x, 0.0F), 1e-5);
}

// The body of a function that a rule sends to a device goes there as the call would have, or
// nowhere.
TEST(SimSession, RulesHoldForPartsOfFunctions) {
  SimRuntime sim;
  const std::string model =
      "<ir_version: 10, opset_import: [\"\" : 18, \"own\" : 1]>"
      "g (float[2,3] x) => (float[2,3] y, float[2,3] z) { [here] y = own.Twice(x) [there] z = "
      "own.Twice(y) }"
      "<domain: \"own\", opset_import: [\"\" : 18]>"
      "Twice (v) => (w) { [sum] s = Add(v, v) w = Relu(s) }";
  Session session = sim.session(model, placed({{"there", "SIM:1"}}));
  std::map<std::string, std::string> devices;
  for (const NodePlacement& node : session.placement().nodes) devices[node.node] = node.device;
  EXPECT_EQ(devices, (std::map<std::string, std::string>{{"here/sum", "SIM:0"},
                                                         {"here/Relu", "SIM:0"},
                                                         {"there/sum", "SIM:1"},
                                                         {"there/Relu", "SIM:1"}}));
  const std::string curved = "g (float[2,3] x) => (float[2,3] y) { [soft] y = Softmax(x) }";
  test::expect_error(
      Code::kUnsupported,
      {"soft/Exp", "a placement rule sends this node to SIM:1", "no kernel for operator Exp"}, [&] {
        sim.session(curved, placed({{"soft", "SIM:1"}}));
      });
}

// A graph of 16 nodes over tensors of 3x3, on three simulated devices and the CPU by chance.
struct RandomGraph {
  std::string model;
  std::map<std::string, std::string> devices;

  explicit RandomGraph(uint32_t seed) {
    std::mt19937 random(seed);
    const auto pick = [&](auto count) { return random() % static_cast<uint32_t>(count); };
    std::vector<std::string> values = {"x", "w"};
    std::string nodes;
    const char* binary[] = {"Add", "Sub", "Mul", "MatMul", "Max"};
    const char* unary[] = {"Relu", "Transpose", "Tanh"};
    for (int i = 0; i < 16; ++i) {
      const std::string name = "n" + std::to_string(i);
      const auto& a = values[pick(values.size())];
      const auto& b = values[pick(values.size())];
      const bool is_unary = pick(3) == 0;
      const std::string op_type = is_unary ? unary[pick(3)] : binary[pick(5)];
      std::string inputs = a;
      if (!is_unary) inputs.append(", ").append(b);
      nodes.append("[" + name + "] ").append(name).append(" = ").append(op_type);
      nodes.append("(").append(inputs).append(")\n");
      // Bent, so that products of products stay small.
      nodes.append("[bend").append(name).append("] bent").append(name);
      nodes.append(" = Tanh(").append(name).append(")\n");
      values.push_back(pick(2) == 0 ? name : "bent" + name);
      const uint32_t device = pick(4);
      if (device < 3 && op_type != "Max" && op_type != "Tanh")
        devices[name] = "SIM:" + std::to_string(device);
    }
    std::string outputs;
    for (size_t i = values.size() - 3; i < values.size(); ++i)
      outputs += (outputs.empty() ? "" : ", ") + std::string("float[3,3] ") + values[i];
    model = "g (float[3,3] x) => (" + outputs +
            ") <float[3,3] w = {0.5, -0.25, 1, -1, 0.75, 0.1, 0.3, -0.6, 0.2}> {\n" + nodes + "}";
  }
};

TEST(SimSession, RandomGraphsAreRightWhateverTheLatency) {
  SimRuntime sim(R"({"devices": 3, "latency_us": 0, "jitter_us": 300})");
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const RandomGraph graph(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Session session = sim.session(
        graph.model, R"({"placement": {"prefer": ["CPU"], "fallback": "allow", "rules": )" +
                         nlohmann::json::parse(placed(graph.devices))["placement"]["rules"].dump() +
                         "}}");
    Session cpu = sim.on_cpu(graph.model);
    for (uint32_t run = 0; run < 3; ++run) {
      const Inputs inputs = {{"x", numbers({3, 3}, seed * 10 + run)}};
      expect_close(session.run(inputs), cpu.run(inputs));
      if (testing::Test::HasFailure()) FAIL() << graph.model;
    }
  }
}

TEST(SimSession, ManyRunsAtOnceOnASlowDevice) {
  SimRuntime sim(
      R"({"latency_us": 0, "jitter_us": 500, "faults": {"device": 1, "slow_ns": 1000000}})");
  const std::string model =
      "g (float[n,4] x) => (float[n,4] y) { [a] a = Relu(x) [b] b = Mul(a, x) c = Tanh(b)"
      "  [d] d = Add(c, a) [e] y = Sub(d, b) }";
  Session session = sim.session(model, placed({{"b", "SIM:1"}, {"e", "SIM:1"}}));
  Session cpu = sim.on_cpu(model);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (uint32_t run = 0; run < 5; ++run) {
        const Inputs inputs = {{"x", numbers({1 + (i + run) % 3, 4}, i * 100 + run)}};
        expect_close(session.run(inputs), cpu.run(inputs));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What ThreadSanitizer is to see: the counters are asked for while runs change them.
TEST(SimSession, TellsTimesAndMemoryWhileRunsGoOn) {
  SimRuntime sim(R"({"latency_us": 0, "jitter_us": 100})");
  const std::string bytes = test::model_bytes(
      "g (float[n,4] x) => (float[n,4] y) { a = Relu(x) [b] b = Mul(a, x) y = Sub(b, a) }");
  SessionOptions options;
  options.config_json = placed({{"b", "SIM:1"}});
  options.profile = true;
  Session session(*sim, {test::as_bytes(bytes), {}}, options);
  std::atomic<bool> is_over = false;
  std::thread asker([&] {
    while (!is_over) {
      (void)session.memory();
      (void)session.profile();
      session.reset_profile();
    }
  });
  for (uint32_t run = 0; run < 20; ++run) session.run({{"x", numbers({1 + run % 7, 4}, run)}});
  is_over = true;
  asker.join();
  const MemoryUse held = session.memory();
  EXPECT_GT(held.arena + held.pool, 0U);
  session.reset_profile();
  session.run({{"x", numbers({3, 4})}});
  for (const NodeTime& node : session.profile()) EXPECT_EQ(node.runs, 1U) << node.node;
}

TEST(SimSession, BodiesOfControlFlowRunOnDevices) {
  SimRuntime sim(R"({"latency_us": 0, "jitter_us": 300})");
  const std::string model =
      "g (float[2,3] x, float[2,3] w) => (float[2,3] y, float[k,2,3] all) <int64 five = {5}, bool "
      "yes = {1}> {"
      "  y, all = Loop (five, yes, x) <body = b (int64 i, bool c, float[2,3] v)"
      "    => (bool c2, float[2,3] v2, float[2,3] s) {"
      "      c2 = Identity(c) m = Mul(v, w) [inner] t = Add(m, x) v2 = Tanh(t) s = Relu(m) }> }";
  Session session = sim.session(model, placed({{"inner", "SIM:1"}}));
  Session cpu = sim.on_cpu(model);
  for (uint32_t run = 0; run < 5; ++run) {
    const Inputs inputs = {{"x", numbers({2, 3}, run)}, {"w", numbers({2, 3}, run + 100)}};
    expect_close(session.run(inputs), cpu.run(inputs));
  }
}

TEST(SimSession, NothingIsLeftWhenTheSessionIsGone) {
  SimRuntime sim(R"({"latency_us": 0})");
  const sim::Journal& journal = sim.journal();
  {
    Session session = sim.session(
        "g (float[n,3] x) => (float[n,3] y) <float[3] w = {1, 2, 3}> { a = Mul(x, w) y = Relu(a) }",
        placed({}));
    for (int64_t rows = 1; rows < 6; ++rows) session.run({{"x", numbers({rows, 3})}});
    EXPECT_GT(journal.blocks, 0U);
  }
  EXPECT_EQ(journal.blocks, 0U);
  EXPECT_EQ(journal.bytes, 0U);
  EXPECT_EQ(journal.streams, 0U);
}

}  // namespace
}  // namespace gantry
