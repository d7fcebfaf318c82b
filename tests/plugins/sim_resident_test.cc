// SPDX-License-Identifier: Apache-2.0
// Tensors of the caller's in the memory of a simulated device: used in place where the model reads
// or makes them there, copied elsewhere, and never touched on the host.
#include <algorithm>
#include <optional>

#include "sim_runtime.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_close;
using test::expect_error;
using test::numbers;
using test::placed;
using test::SimRuntime;

const std::vector<int64_t> kShape = {2, 3};

uint64_t all_copies(const sim::Journal& journal) { return journal.copies_in + journal.copies_out; }

Tensor on_host(const Tensor& tensor) {
  Tensor host(tensor.dtype(), tensor.shape());
  Session::copy(tensor, host);
  return host;
}

Tensor on_device(const Session& session, const Tensor& tensor,
                 const std::string& device = "SIM:0") {
  Tensor there = session.allocate_on(device, tensor.dtype(), tensor.shape());
  Session::copy(tensor, there);
  return there;
}

// A state that goes from run to run between two tensors of the device.
TEST(SimResident, WhatOneRunMakesTheNextReadsInPlace) {
  const std::string model =
      "g (float[2,3] state, float[2,3] x) => (float[2,3] next, float[2,3] y) {"
      "  a = Mul(state, x) next = Add(a, x) y = Relu(next) }";
  for (const char* options :
       {R"({"latency_us": 0, "jitter_us": 100})", R"({"latency_us": 0, "capture": false})"}) {
    SimRuntime sim(options);
    const sim::Journal& journal = sim.journal();
    Session session = sim.session(model, placed({}));
    Session cpu = sim.on_cpu(model);
    Tensor expected = numbers(kShape);
    const std::vector<Tensor> states = {on_device(session, expected),
                                        session.allocate_on("SIM:0", DType::kFloat, kShape)};
    EXPECT_EQ(states[0].device().to_string(), "SIM:0");
    EXPECT_FALSE(states[0].is_on_host());
    Binding binding(session);
    for (uint32_t run = 0; run < 12; ++run) {
      const Tensor x = numbers(kShape, run);
      binding.input("state", states[run % 2]);
      binding.input("x", x);
      binding.output("next", states[(run + 1) % 2]);
      const uint64_t before = all_copies(journal);
      binding.run();
      EXPECT_EQ(all_copies(journal) - before, 2U) << "x there and y back, in run " << run;
      const std::vector<Tensor> made = cpu.run({{"state", expected}, {"x", x}});
      expected = made[0];
      expect_close({binding.result("y").tensor()}, {made[1]});
      EXPECT_EQ(binding.result("next").tensor().data(), states[(run + 1) % 2].data());
    }
    expect_close({on_host(states[0])}, {expected});
    if (std::string(options).find("capture") == std::string::npos) {
      EXPECT_GT(journal.launches, 4U) << "each of the two ways round is captured";
    }
  }
}

TEST(SimResident, AnInputMayBeWrittenOver) {
  SimRuntime sim;
  Session session = sim.session(
      "g (float[2,3] state, float[2,3] x) => (float[2,3] next) { next = Add(state, x) }",
      placed({}));
  const Tensor x = numbers(kShape, 3);
  Tensor state = on_device(session, numbers(kShape));
  Binding binding(session);
  binding.input("state", state);
  binding.input("x", x);
  binding.output("next", state);
  for (int run = 0; run < 5; ++run) binding.run();
  const Tensor found = on_host(state);
  const Tensor begun = numbers(kShape);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(found.elements<float>()[i], begun.elements<float>()[i] + 5 * x.elements<float>()[i],
                1e-4);
  }
}

// Read on the host too, made on the host, of another device: by copies, with the same results.
TEST(SimResident, ElsewhereTheyAreCopied) {
  SimRuntime sim;
  const std::string model =
      "g (float[2,3] x, float[2,3] v) => (float[2,3] y, float[2,3] z, float[2,3] w) {"
      "  a = Relu(x) b = Tanh(x) y = Add(a, b) z = Tanh(v) [there] w = Mul(v, v) }";
  Session session = sim.session(model, placed({{"there", "SIM:1"}}));
  const Inputs host = {{"x", numbers(kShape)}, {"v", numbers(kShape, 2)}};
  const std::vector<Tensor> expected = sim.on_cpu(model).run(host);
  for (const char* device : {"SIM:0", "SIM:1"}) {
    Binding binding(session);
    std::map<std::string, Tensor> made;
    for (const auto& [name, value] : host)
      binding.input(name, on_device(session, value.tensor(), device));
    for (const char* name : {"y", "z", "w"}) {
      made[name] = session.allocate_on(device, DType::kFloat, kShape);
      binding.output(name, made[name]);
    }
    for (int run = 0; run < 3; ++run) {
      binding.run();
      expect_close({on_host(made["y"]), on_host(made["z"]), on_host(made["w"])}, expected);
      EXPECT_EQ(binding.result("w").tensor().data(), made["w"].data());
    }
  }
  // Between two devices.
  Tensor other = session.allocate_on("SIM:1", DType::kFloat, kShape);
  Session::copy(on_device(session, expected[0]), other);
  expect_close({on_host(other)}, {expected[0]});
}

// Made by the run where the caller wants it, and made again only while somebody has the last.
TEST(SimResident, OutputsAreLeftOnTheDevice) {
  for (const char* options :
       {R"({"latency_us": 0, "jitter_us": 100})", R"({"latency_us": 0, "capture": false})"}) {
    SimRuntime sim(options);
    const sim::Journal& journal = sim.journal();
    const std::string model =
        "g (float[n,3] x) => (float[n,3] y, float[n,3] z) { a = Mul(x, x) y = Add(a, x) z = "
        "Relu(y) }";
    Session session = sim.session(model, placed({}));
    Session cpu = sim.on_cpu(model);
    // A plan of these shapes that brings y to the host.
    for (int run = 0; run < 2; ++run) static_cast<void>(session.run({{"x", numbers({2, 3})}}));
    Binding binding(session);
    binding.output_on("y", "SIM:0");
    std::optional<Tensor> kept;
    const void* last = nullptr;
    for (uint32_t run = 0; run < 16; ++run) {
      const Tensor x = numbers({run < 8 ? 2 : 4, 3}, run);
      binding.input("x", x);
      const uint64_t before = all_copies(journal);
      binding.run();
      EXPECT_EQ(all_copies(journal) - before, 2U) << "x there and z back, in run " << run;
      const std::vector<Tensor> expected = cpu.run({{"x", x}});
      const Tensor y = binding.result("y").tensor();
      EXPECT_EQ(y.device().to_string(), "SIM:0");
      expect_close({on_host(y), binding.result("z").tensor()}, expected);
      if (run == 6) {
        EXPECT_NE(y.data(), last) << "the last result is still there";
      } else if (run > 0 && run != 8) {
        EXPECT_EQ(y.data(), last);
      }
      if (kept) expect_close({on_host(*kept)}, {cpu.run({{"x", numbers(kShape, 5)}})[0]});
      if (run == 5) kept = y;
      last = y.data();
    }
    if (std::string(options).find("capture") == std::string::npos) {
      EXPECT_GT(journal.launches, 4U);
    }
    Tensor bound = session.allocate_on("SIM:0", DType::kFloat, {4, 3});
    binding.output("y", bound);
    binding.run();
    EXPECT_EQ(binding.result("y").tensor().data(), bound.data());
  }
}

TEST(SimResident, OutputsThatAreMadeElsewhereAreCopiedToTheDevice) {
  SimRuntime sim;
  const std::string model =
      "g (float[2,3] x) => (float[2,3] y, float[2,3] w) {"
      "  a = Relu(x) b = Tanh(x) y = Add(a, b) [there] w = Mul(x, x) }";
  Session session = sim.session(model, placed({{"there", "SIM:1"}}));
  const Tensor x = numbers(kShape);
  const std::vector<Tensor> expected = sim.on_cpu(model).run({{"x", x}});
  Binding binding(session);
  binding.input("x", x);
  binding.output_on("y", "SIM:1");
  binding.output_on("w", "SIM:0");
  std::optional<Tensor> kept;
  for (int run = 0; run < 4; ++run) {
    binding.run();
    const Tensor y = binding.result("y").tensor();
    const Tensor w = binding.result("w").tensor();
    EXPECT_EQ(y.device().to_string() + " " + w.device().to_string(), "SIM:1 SIM:0");
    expect_close({on_host(y), on_host(w)}, expected);
    if (kept) {
      EXPECT_NE(kept->data(), w.data());
    }
    kept = w;
  }
}

TEST(SimResident, MemoryOfTheCallersIsBorrowed) {
  SimRuntime sim;
  Session session = sim.session("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }", placed({}));
  Tensor whole = on_device(session, numbers({36, 3}));
  auto owner = std::make_shared<int>(0);
  {
    // Rows 32 and 33, 384 bytes in.
    const Tensor part = session.borrow_on("SIM:0", DType::kFloat, kShape,
                                          static_cast<std::byte*>(whole.data()) + 384, owner);
    EXPECT_EQ(owner.use_count(), 2);
    const Tensor host = on_host(whole);
    const float* row = host.elements<float>().data() + 96;
    const Tensor x(kShape, std::span<const float>(row, 6));
    expect_close({on_host(part)}, {x});
    expect_close(session.run({{"x", part}}), session.run({{"x", x}}));
  }
  EXPECT_EQ(owner.use_count(), 1);
  expect_error(Code::kInvalidArgument, {"borrow_on", "a multiple of 64", "allocate_on"}, [&] {
    static_cast<void>(session.borrow_on("SIM:0", DType::kFloat, kShape,
                                        static_cast<std::byte*>(whole.data()) + 4));
  });
  expect_error(Code::kUnsupported, {"the memory of SIM:0", "copy it to the host"},
               [&] { static_cast<void>(whole.lend()); });
  expect_error(Code::kInvalidArgument, {"libraries share (none)", "(2, 0)"}, [&] {
    static_cast<void>(session.adopt({2, 0}, [](uintptr_t) { return ForeignMemory{}; }));
  });
}

TEST(SimResident, ARuntimeMakesTensorsForItsSessions) {
  SimRuntime sim;
  Session session = sim.session("g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }", placed({}));
  Tensor x = (*sim).allocate_on("SIM:0", DType::kFloat, kShape);
  Session::copy(numbers(kShape), x);
  const uint64_t before = sim.journal().copies_in;
  expect_close(session.run({{"x", x}}), session.run({{"x", numbers(kShape)}}));
  EXPECT_EQ(sim.journal().copies_in - before, 1U) << "of the second run";
  expect_error(Code::kInvalidArgument, {"allocate_on", "memory of its own", "CPU:0"},
               [&] { static_cast<void>((*sim).allocate_on("CPU", DType::kFloat, kShape)); });
}

TEST(SimResident, OutlivesItsSessionAndIsReadByAnother) {
  std::optional<Tensor> kept;
  {
    SimRuntime sim;
    const std::string model = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }";
    {
      Session first = sim.session(model, placed({}));
      kept = on_device(first, numbers(kShape));
    }
    Session second = sim.session(model, placed({}));
    const uint64_t before = sim.journal().copies_in;
    expect_close(second.run({{"x", *kept}}), sim.on_cpu(model).run({{"x", numbers(kShape)}}));
    EXPECT_EQ(sim.journal().copies_in, before);
    const uint64_t blocks = sim.journal().blocks;
    { const Tensor more = second.allocate_on("SIM:0", DType::kFloat, {1000}); }
    EXPECT_EQ(sim.journal().blocks, blocks);
  }
  kept.reset();  // the last that holds the provider
}

TEST(SimResident, MistakesAreNamed) {
  SimRuntime sim;
  const std::string model = "g (float[n,3] x) => (float[n,3] y) { y = Relu(x) }";
  Session session = sim.session(model, placed({}));
  const Tensor there = on_device(session, numbers(kShape));
  expect_error(Code::kInvalidArgument, {"elements", "float32[2,3]", "the memory of SIM:0"},
               [&] { static_cast<void>(there.elements<float>()); });
  expect_error(Code::kInvalidArgument, {"a list of values", "SIM:0"},
               [&] { Value::sequence(DType::kFloat, {there}); });
  for (const char* device : {"SIM:1", "CPU"}) {
    expect_error(Code::kInvalidArgument, {"allocate_on", "(SIM:0)", device},
                 [&] { static_cast<void>(session.allocate_on(device, DType::kFloat, kShape)); });
  }
  expect_error(Code::kInvalidArgument, {"allocate_on", "string"},
               [&] { static_cast<void>(session.allocate_on("SIM:0", DType::kString, kShape)); });
  Tensor larger = session.allocate_on("SIM:0", DType::kFloat, {4, 3});
  expect_error(Code::kInvalidArgument, {"copy", "float32[2,3]", "float32[4,3]"},
               [&] { Session::copy(there, larger); });
  Binding binding(session);
  binding.input("x", there);
  binding.output("y", larger);
  expect_error(Code::kInvalidArgument,
               {"output \"y\"", "the bound tensor is float32[4,3]", "float32[2,3]"},
               [&] { binding.run(); });
  binding.output("y", session.allocate_on("SIM:0", DType::kFloat, kShape));
  binding.run();
  expect_error(Code::kInvalidArgument, {"output \"y\"", "(SIM:0)", "SIM:1"},
               [&] { binding.output_on("y", "SIM:1"); });
  Session other = sim.session(model, placed({{"*", "SIM:1"}}));
  expect_error(Code::kInvalidArgument, {"the memory of SIM:0", "that the session uses"}, [&] {
    other.run({{"x", there}});
  });
}

}  // namespace
}  // namespace gantry
