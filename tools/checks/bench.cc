// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <random>
#include <type_traits>

#include "../cli/compare.h"
#include "../cli/elements.h"
#include "open_provider.h"
#include "tolerance.h"

namespace gantry::checks {
namespace {

constexpr const char* kReference = "cpu";  // the provider that random cases are compared with

// Operators whose integer results may differ by 1 from the expected ones.
const std::set<std::string>& rounding_operators() {
  static const auto* const operators = new std::set<std::string>{
      "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear"};
  return *operators;
}

// Names of the providers that this configuration finds, without `wanted`.
std::vector<std::string> others(const nlohmann::json& config, const std::set<std::string>& wanted) {
  Runtime runtime({config.dump(), {}});
  std::set<std::string> names;
  for (const ProviderReport& row : runtime.report())
    if (wanted.count(row.name) == 0) names.insert(row.name);
  return {names.begin(), names.end()};
}
// No constant folding, so that kernels also compute on constants.
SessionOptions options_on(const std::string& device) {
  return {.device = device,
          .config_json = R"({"session": {"optimization": "none", "threads": 2}})"};
}
// Maps floating-point elements to [0.5, 1.5), 16-bit ones to [1, 1.5), where logarithms, roots and
// quotients are defined. Other types are returned unchanged.
Tensor positive(const Tensor& random) {
  const auto shift = [](auto elements) {
    for (auto& element : elements)
      element = static_cast<std::remove_reference_t<decltype(element)>>(element / 2 + 1);
  };
  Tensor tensor = random;
  if (tensor.dtype() == DType::kFloat) shift(tensor.elements<float>());
  if (tensor.dtype() == DType::kDouble) shift(tensor.elements<double>());
  if (tensor.dtype() == DType::kFloat16 || tensor.dtype() == DType::kBfloat16) {
    // Values from 1 to 1.5: exponent 0 and the lower half of the mantissas.
    const bool is_half = tensor.dtype() == DType::kFloat16;
    const uint16_t one = is_half ? 0x3C00 : 0x3F80;
    const uint16_t fraction = is_half ? 0x01FF : 0x003F;
    auto* words = static_cast<uint16_t*>(tensor.data());
    for (int64_t i = 0; i < tensor.element_count(); ++i)
      words[i] = static_cast<uint16_t>(one | (words[i] & fraction));
  }
  return tensor;
}

void widen(Tolerance& tolerance, const Value& expected, bool is_quantized) {
  const double largest = cli::compare(expected, expected, {}).max_expected;
  if (tolerance.relative == 0 || !std::isfinite(largest)) return;
  tolerance.absolute *= std::max(1.0, largest);
  // Where an int8 intermediate rounded the other way, the result is off by about one step.
  constexpr double kStepOfRange = 0.02;
  if (is_quantized) tolerance.absolute = std::max(tolerance.absolute, kStepOfRange * largest);
}

// Throws Skip unless the provider has every node; with `needs_all` false, unless it has one.
void expect_claims(const Placement& placement, const std::string& name, bool needs_all) {
  std::string others;
  bool has_any = false;
  for (const NodePlacement& node : placement.nodes) {
    if (node.kernel == "control flow") continue;
    has_any = has_any || node.provider == name;
    if (node.provider == name || !others.empty()) continue;
    others = ": " + node.op_type + (node.reason.empty() ? "" : ": " + node.reason);
  }
  if (!placement.compatible || (needs_all ? !others.empty() : !has_any))
    throw Skip("not claimed" + others);
}

}  // namespace

Bench::Bench(const Subject& subject) : name_(describe(subject).name) {
  nlohmann::json config = {{"providers", {{"search", {subject.manifest}}, {"probe", "never"}}}};
  // No other provider of the device may run the nodes under test.
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
    const bool is_wanted = subject.device.empty() || device.device == Device::parse(subject.device);
    if (device.state == "ready" && is_wanted && device_.empty())
      device_ = device.device.to_string();
    seen += ": " + device.device.to_string() + " is " + device.state + " " + device.reason;
  }
  reason_ = "no device of the provider is ready on this machine" + seen;
}

const std::string& Bench::device() const {
  if (device_.empty()) throw Skip(reason_);
  return device_;
}

std::unique_ptr<Session> Bench::session(const ModelSource& model) {
  const SessionOptions options = options_on(device());
  expect_claims(check(*runtime_, model, options), name_, true);
  return std::make_unique<Session>(*runtime_, model, options);
}

std::unique_ptr<Session> Bench::shared_session(const ModelSource& model) {
  const nlohmann::json config = {
      {"session", {{"optimization", "none"}, {"threads", 2}}},
      {"placement", {{"prefer", {device(), "CPU"}}, {"fallback", "allow"}}}};
  const SessionOptions options = {.device = {}, .config_json = config.dump()};
  expect_claims(check(*runtime_, model, options), name_, false);
  return std::make_unique<Session>(*runtime_, model, options);
}

std::unique_ptr<Session> Bench::reference(const ModelSource& model) {
  return std::make_unique<Session>(*reference_, model, options_on("CPU"));
}

Bench& bench_of(const Subject& subject) {
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
                  const std::string& output, const std::string& remedy, Sums sums) {
  const bool is_quantized = has_operator(session, rounding_operators());
  Tolerance tolerance = tolerance_of(expected, is_quantized);
  if (sums == Sums::kOfMany) widen(tolerance, expected, is_quantized);
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

Inputs fill_inputs(std::vector<ModelInput>& inputs, const std::vector<bool>& is_positive,
                   const std::vector<bool>& is_constant, uint64_t seed) {
  std::mt19937_64 generator(seed);
  Inputs given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    ModelInput& input = inputs[i];
    if (input.name.empty() || input.constant.kind() == Kind::kTensor) continue;
    Tensor elements = cli::random_tensor(input.dtype, input.shape, generator);
    if (is_positive[i]) elements = positive(elements);
    if (is_constant[i]) {
      input.constant = elements;
    } else {
      given.emplace(input.name, elements);
    }
  }
  return given;
}

}  // namespace gantry::checks
