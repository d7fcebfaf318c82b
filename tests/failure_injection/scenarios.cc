// SPDX-License-Identifier: Apache-2.0
#include "scenarios.h"

#include <gantry/gantry.h>

#include <vector>

#include "support/model_text.h"
#include "support/temp_folder.h"

namespace gantry::test {
namespace {

/// A control-flow model, whose loading folds constants and whose run allocates at every turn.
constexpr const char* kModel = R"(
g (float[N,4] x) => (float[N,4] y, int64[K,2] where)
<float[4,4] weights = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}, int64 three = {3}, bool yes = {1}> {
  product = MatMul(x, weights)
  scaled = Softmax(product)
  y = Loop(three, yes, scaled) <body = b (int64 i, bool go, float[N,4] before)
                                     => (bool more, float[N,4] after) {
    more = Identity(go)
    after = Add(before, before)
  }>
  large = Constant <value = float {4}> ()
  hits = Greater(y, large)
  found = NonZero(hits)
  where = Transpose(found)
})";

std::string what_ran(const std::vector<Tensor>& outputs) {
  std::string all;
  for (const Tensor& tensor : outputs) {
    for (const int64_t axis : tensor.shape()) all += std::to_string(axis) + ",";
    all.append(static_cast<const char*>(tensor.data()), tensor.size_bytes());
  }
  return all;
}

Inputs inputs(int64_t n) {
  Tensor x(DType::kFloat, {n, 4});
  auto* data = static_cast<float*>(x.data());
  for (int64_t i = 0; i < n * 4; ++i) data[i] = static_cast<float>(i % 7) / 2;
  Inputs all;
  all.emplace("x", x);
  return all;
}

std::string configuration(const std::string& providers = "{}") {
  return R"({"session": {"threads": 2}, "providers": )" + providers + "}";
}

class Load final : public Scenario {
 public:
  Load() : bytes_(model_bytes(kModel)), runtime_({.config_json = configuration()}) {}
  std::string act() override {
    Session session(runtime_, {as_bytes(bytes_), {}}, {.device = "CPU"});
    return what_ran(session.run(inputs(2)));
  }

 private:
  std::string bytes_;
  Runtime runtime_;
};

class LoadFile final : public Scenario {
 public:
  LoadFile() {
    ONNX_NAMESPACE::ModelProto model = parse_model(kModel);
    auto& weights = *model.mutable_graph()->mutable_initializer(0);
    std::string raw(weights.raw_data());
    if (raw.empty()) {
      raw.assign(reinterpret_cast<const char*>(weights.float_data().data()),
                 static_cast<size_t>(weights.float_data_size()) * sizeof(float));
    }
    folder_.write("weights.bin", raw);
    weights.clear_float_data();
    weights.clear_raw_data();
    weights.set_data_location(ONNX_NAMESPACE::TensorProto::EXTERNAL);
    auto& location = *weights.add_external_data();
    location.set_key("location");
    location.set_value("weights.bin");
    file_ = folder_.write("model.onnx", model.SerializeAsString());
  }
  std::string act() override {
    Runtime runtime({.config_json = configuration()});
    Session session(runtime, file_, {.device = "CPU"});
    return what_ran(session.run(inputs(2)));
  }

 private:
  TempFolder folder_;
  std::string file_;
};

class Run final : public Scenario {
 public:
  Run()
      : bytes_(model_bytes(kModel)),
        runtime_({.config_json = configuration()}),
        session_(runtime_, {as_bytes(bytes_), {}}, {.device = "CPU"}) {}
  std::string act() override {
    session_.run(inputs(3));
    return what_ran(session_.run(inputs(2)));
  }

 private:
  std::string bytes_;
  Runtime runtime_;
  Session session_;
};

std::string open_all(Runtime& runtime) {
  for (const DeviceInfo& device : runtime.devices()) {
    if (device.device.type == "CPU") return "CPU";
  }
  throw Error(Code::kUnavailable, "No provider of CPU could be opened.");
}

class MakeRuntime final : public Scenario {
 public:
  std::string act() override {
    Runtime runtime({.config_json = configuration()});
    return open_all(runtime);
  }
};

class Open final : public Scenario {
 public:
  Open() : runtime_({.config_json = configuration()}) {}
  std::string act() override { return open_all(runtime_); }

 private:
  Runtime runtime_;
};

class Worker final : public Scenario {
 public:
  Worker()
      : bytes_(model_bytes("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }")),
        runtime_({.config_json = configuration(R"({"isolation": {"sim": "process"}})")}) {}
  std::string act() override {
    Session session(runtime_, {as_bytes(bytes_), {}}, {.device = "SIM"});
    return what_ran(session.run(inputs(2)));
  }

 private:
  std::string bytes_;
  Runtime runtime_;
};

}  // namespace

std::unique_ptr<Scenario> make_load() { return std::make_unique<Load>(); }
std::unique_ptr<Scenario> make_load_file() { return std::make_unique<LoadFile>(); }
std::unique_ptr<Scenario> make_run() { return std::make_unique<Run>(); }
std::unique_ptr<Scenario> make_runtime() { return std::make_unique<MakeRuntime>(); }
std::unique_ptr<Scenario> make_open() { return std::make_unique<Open>(); }
std::unique_ptr<Scenario> make_worker() { return std::make_unique<Worker>(); }

}  // namespace gantry::test
