// SPDX-License-Identifier: Apache-2.0
// Level 4: what the provider computes, in sessions: ONNX's node cases against their recorded
// outputs, random cases against the CPU provider, within a tolerance for each element type.
#include <gantry/files.h>
#include <gantry/session.h>

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "../cli/compare.h"
#include "../cli/elements.h"
#include "../cli/verify.h"
#include "levels.h"
#include "open_provider.h"
#include "progress.h"
#include "random_cases.h"
#include "tolerance.h"

namespace gantry::checks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReference = "cpu";  // the provider that random cases are compared with

// Of these only type and shape are the standard's to say.
const std::set<std::string>& random_operators() {
  static const auto* const operators = new std::set<std::string>{
      "Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return *operators;
}

// Of these an integer may be the one beside the expected one.
const std::set<std::string>& rounding_operators() {
  static const auto* const operators = new std::set<std::string>{
      "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear"};
  return *operators;
}

// Sessions on the device under test, and beside them on the CPU. Made when first needed and kept:
// opening a provider once is enough for all cases.
class Bench {
 public:
  explicit Bench(const Subject& subject) : name_(describe(subject).name) {
    nlohmann::json config = {{"providers", {{"search", {subject.manifest}}, {"probe", "never"}}}};
    // No other provider of the device may take what this one is to show.
    config["providers"]["disable"] = others(config, {name_, kReference});
    const auto options = nlohmann::json::parse(subject.options);
    if (!options.empty()) config["providers"]["options"][name_] = options;
    if (subject.is_isolated) config["providers"]["isolation"] = {{name_, "process"}};
    runtime_ = std::make_unique<Runtime>(RuntimeOptions{config.dump(), {}});
    const nlohmann::json reference = {{"providers", {{"disable", others(config, {kReference})}}}};
    reference_ = std::make_unique<Runtime>(RuntimeOptions{reference.dump(), {}});
    std::string seen;
    for (const DeviceInfo& device : runtime_->devices()) {
      if (device.provider != name_) continue;
      const bool is_wanted =
          subject.device.empty() || device.device == Device::parse(subject.device);
      if (device.state == "ready" && is_wanted && device_.empty())
        device_ = device.device.to_string();
      seen += ": " + device.device.to_string() + " is " + device.state + " " + device.reason;
    }
    reason_ = "no device of the provider is ready on this machine" + seen;
  }
  [[nodiscard]] const std::string& device() const {
    if (device_.empty()) throw Skip(reason_);
    return device_;
  }
  Runtime& runtime() { return *runtime_; }

  /// A session that this provider alone runs. Skip: it does not claim every node.
  std::unique_ptr<Session> session(const ModelSource& model) {
    const SessionOptions options = options_on(device());
    const Placement placement = check(*runtime_, model, options);
    for (const NodePlacement& node : placement.nodes) {
      const bool is_core = node.kernel == "control flow";
      if (is_core || node.provider == name_) continue;
      throw Skip("not claimed: " + node.op_type + (node.reason.empty() ? "" : ": " + node.reason));
    }
    if (!placement.compatible) throw Skip("not claimed");
    return std::make_unique<Session>(*runtime_, model, options);
  }
  std::unique_ptr<Session> reference(const ModelSource& model) {
    return std::make_unique<Session>(*reference_, model, options_on("CPU"));
  }

 private:
  // Names of the providers that this configuration finds, but for those.
  static std::vector<std::string> others(const nlohmann::json& config,
                                         const std::set<std::string>& wanted) {
    Runtime runtime({config.dump(), {}});
    std::set<std::string> names;
    for (const ProviderReport& row : runtime.report())
      if (wanted.count(row.name) == 0) names.insert(row.name);
    return {names.begin(), names.end()};
  }
  // Nothing is computed in advance: constants go through the kernels, too.
  static SessionOptions options_on(const std::string& device) {
    return {.device = device,
            .config_json = R"({"session": {"optimization": "none", "threads": 2}})"};
  }
  std::string name_;
  std::string device_;
  std::string reason_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Runtime> reference_;
};

Bench& bench(const Subject& subject) {
  static std::unique_ptr<Bench> instance;
  if (!instance) instance = std::make_unique<Bench>(subject);
  return *instance;
}

bool has_operator(const Session& session, const std::set<std::string>& operators) {
  const auto& nodes = session.placement().nodes;
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NodePlacement& node) { return operators.count(node.op_type) != 0; });
}

void expect_equal(const Session& session, const Value& found, const Value& expected,
                  const std::string& output, const std::string& remedy) {
  const Tolerance tolerance = tolerance_of(expected, has_operator(session, rounding_operators()));
  const cli::Comparison result =
      cli::compare(found, expected, {tolerance.relative, tolerance.absolute});
  if (result.equal) return;
  std::string text = fmt::format("output \"{}\": {}", output, result.difference);
  if (result.differing != 0) {
    text += fmt::format(
        "; {} of {} elements differ, at most by {:.3g}; {} may differ by {:g} and {:g} of the "
        "value",
        result.differing, result.elements, result.max_absolute, tolerance.type, tolerance.absolute,
        tolerance.relative);
  }
  throw Failure(text, remedy);
}

void expect_same_type(const Value& found, const Value& expected, const std::string& output,
                      const std::string& remedy) {
  if (expected.kind() != Kind::kTensor || found.kind() != Kind::kTensor) return;
  expect(found.tensor().dtype() == expected.tensor().dtype() &&
             found.tensor().shape() == expected.tensor().shape(),
         "output \"" + output + "\": expected another type or shape", remedy);
}

Inputs read_inputs(const Session& session, const fs::path& folder) {
  Inputs inputs;
  size_t index = 0;
  for (const ValueInfo& info : session.inputs()) {
    if (!info.required) continue;
    const fs::path file = folder / ("input_" + std::to_string(index++) + ".pb");
    if (fs::exists(file)) inputs.emplace(info.name, read_value(file, info));
  }
  return inputs;
}

void run_case(const Subject& subject, const fs::path& folder) {
  Bench& with = bench(subject);
  const std::string model = (folder / "model.onnx").string();
  note_progress("loading " + model);
  const std::unique_ptr<Session> session = with.session(ModelSource(model));
  const std::string remedy = "gantry run " + model + " --device " + with.device() + " --verify " +
                             folder.string() +
                             " shows it; compare the kernel with the operator's "
                             "specification";
  for (const fs::path& set : cli::find_sets(folder)) {
    note_progress("running " + model);
    const std::vector<Value> found = session->run_values(read_inputs(*session, set));
    for (size_t i = 0; i < found.size(); ++i) {
      const ValueInfo& info = session->outputs()[i];
      const Value expected = read_value(set / ("output_" + std::to_string(i) + ".pb"), info);
      if (has_operator(*session, random_operators())) {
        expect_same_type(found[i], expected, info.name, remedy);
      } else {
        expect_equal(*session, found[i], expected, info.name, remedy);
      }
    }
  }
}

// Elements in [0.5, 1.5), or 1: where logarithms, roots and quotients are defined.
Tensor positive(const Tensor& random) {
  const auto shift = [](auto elements) {
    for (auto& element : elements)
      element = static_cast<std::remove_reference_t<decltype(element)>>(element / 2 + 1);
  };
  Tensor tensor = random;
  if (tensor.dtype() == DType::kFloat) shift(tensor.elements<float>());
  if (tensor.dtype() == DType::kDouble) shift(tensor.elements<double>());
  if (tensor.dtype() == DType::kFloat16 || tensor.dtype() == DType::kBfloat16) {
    // The numbers from 1 to 1.5: an exponent of 0 and the first half of the fractions.
    const bool is_half = tensor.dtype() == DType::kFloat16;
    const uint16_t one = is_half ? 0x3C00 : 0x3F80;
    const uint16_t fraction = is_half ? 0x01FF : 0x003F;
    auto* words = static_cast<uint16_t*>(tensor.data());
    for (int64_t i = 0; i < tensor.element_count(); ++i)
      words[i] = static_cast<uint16_t>(one | (words[i] & fraction));
  }
  return tensor;
}

void run_random(const Subject& subject, const RandomCase& random) {
  Bench& with = bench(subject);
  note_progress("loading " + random.name);
  std::mt19937_64 generator(subject.seed);
  OneNodeModel node = random.model;
  Inputs inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    ModelInput& input = node.inputs[i];
    if (input.name.empty() || input.constant.kind() == Kind::kTensor) continue;
    const Tensor elements = cli::random_tensor(input.dtype, input.shape, generator);
    if (random.is_constant[i]) {
      input.constant = elements;
    } else {
      inputs.emplace(input.name, random.is_positive[i] ? positive(elements) : elements);
    }
  }
  const std::vector<std::byte> bytes = serialize(node);
  const ModelSource model(bytes, fs::path());
  const std::unique_ptr<Session> session = with.session(model);
  note_progress("running " + random.name);
  const std::vector<Value> found = session->run_values(inputs);
  const std::vector<Value> expected = with.reference(model)->run_values(inputs);
  for (size_t i = 0; i < found.size(); ++i) {
    expect_equal(
        *session, found[i], expected[i], session->outputs()[i].name,
        "compare the kernel of " + random.model.op_type +
            " with the operator's "
            "specification; expected is what the CPU provider computes of the same elements");
  }
}

}  // namespace

void add_case_checks(Checks& checks, const Subject& subject) {
  if (subject.cases.empty()) {
    checks.push_back({4, "cases", "P19",
                      [] { throw Skip("no folder of ONNX node cases was given (--cases)"); }});
    return;
  }
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(subject.cases, error))
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (folders.empty()) {
    checks.push_back({4, "cases", "P19", [&subject] {
                        throw Failure(
                            subject.cases + ": expected folders with a model.onnx, found none",
                            "name the folder that holds test_abs, test_acos and so on");
                      }});
  }
  for (const fs::path& folder : folders) {
    checks.push_back({4, "case." + folder.filename().string(), "P19",
                      [&subject, folder] { run_case(subject, folder); }});
  }
}

void add_random_checks(Checks& checks, const Subject& subject) {
  for (const RandomCase& random : random_cases()) {
    checks.push_back(
        {4, "random." + random.name, "P19", [&subject, random] { run_random(subject, random); }});
  }
}

}  // namespace gantry::checks
