// SPDX-License-Identifier: Apache-2.0
// gantry run: runs a model once, prints and writes its outputs; or runs it on recorded inputs and
// compares (--verify). Status 1: an output differs.
#include <gantry/files.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/core.h>

#include "command.h"
#include "elements.h"
#include "inputs.h"
#include "options.h"
#include "output.h"
#include "verify.h"

namespace gantry::cli {
namespace {

struct RunCommandOptions : ModelOptions {
  InputOptions inputs;
  std::string verify;
  Tolerance tolerance;
  std::string out;
  std::vector<std::string> outputs;  ///< empty: the model's
};

/// Summary statistics of a tensor.
struct Statistics {
  size_t finite = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
};

Statistics statistics(const std::vector<double>& numbers) {
  Statistics result;
  double sum = 0;
  for (const double number : numbers) {
    if (!std::isfinite(number)) continue;
    result.min = result.finite == 0 ? number : std::min(result.min, number);
    result.max = result.finite == 0 ? number : std::max(result.max, number);
    sum += number;
    ++result.finite;
  }
  if (result.finite != 0) result.mean = sum / static_cast<double>(result.finite);
  return result;
}

std::string first_elements(const Tensor& tensor) {
  constexpr size_t kShown = 6;
  std::vector<std::string> texts;
  size_t count = 0;
  if (tensor.dtype() == DType::kString) {
    count = tensor.strings().size();
    for (size_t i = 0; i < std::min(count, kShown); ++i)
      texts.push_back("\"" + tensor.strings()[i] + "\"");
  } else {
    const std::vector<double> numbers = to_numbers(tensor);
    count = numbers.size();
    for (size_t i = 0; i < std::min(count, kShown); ++i)
      texts.push_back(fmt::format("{:.6g}", numbers[i]));
  }
  return join(texts, " ") + (count > kShown ? " ..." : "");
}

std::string summary(const Value& value) {
  if (value.kind() != Kind::kTensor) return fmt::format("{} items", value.size());
  const Tensor tensor = value.tensor();
  std::string text = describe(tensor.dtype(), tensor.shape());
  if (tensor.dtype() != DType::kString && tensor.element_count() > 1) {
    const Statistics numbers = statistics(to_numbers(tensor));
    text += fmt::format("  min {:.6g}  max {:.6g}  mean {:.6g}", numbers.min, numbers.max,
                        numbers.mean);
    const auto special = static_cast<size_t>(tensor.element_count()) - numbers.finite;
    if (special != 0 && tensor.dtype() != DType::kComplex64 &&
        tensor.dtype() != DType::kComplex128) {
      text += fmt::format("  {} not finite", special);
    }
  }
  return text + "\n  " + first_elements(tensor);
}

Json output_to_json(const std::string& name, const Value& value) {
  static constexpr const char* kKinds[] = {"unknown", "tensor", "sequence", "optional", "map"};
  Json json{{"name", name}, {"kind", kKinds[static_cast<size_t>(value.kind())]}};
  if (value.kind() != Kind::kTensor) {
    json["size"] = value.size();
    return json;
  }
  const Tensor tensor = value.tensor();
  json["dtype"] = to_string(tensor.dtype());
  json["shape"] = tensor.shape();
  if (tensor.dtype() == DType::kString) return json;
  const Statistics numbers = statistics(to_numbers(tensor));
  if (numbers.finite != 0) {
    json["min"] = numbers.min;
    json["max"] = numbers.max;
    json["mean"] = numbers.mean;
  }
  return json;
}

// A file name for an output: letters, digits and a few signs, unique for each output, within the
// length limit of file systems.
std::string file_name(const std::string& name, size_t index,
                      const std::vector<ValueInfo>& outputs) {
  const auto safe = [](std::string text) {
    std::replace_if(
        text.begin(), text.end(),
        [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-' && c != '.'; }, '_');
    return text;
  };
  constexpr size_t kMostBytes = 200;
  const auto cut = [&](const std::string& text) { return safe(text).substr(0, kMostBytes); };
  const std::string result = cut(name);
  const auto same = std::count_if(outputs.begin(), outputs.end(),
                                  [&](const ValueInfo& info) { return cut(info.name) == result; });
  const bool is_unusable = result.find_first_not_of('.') == std::string::npos;
  return same > 1 || is_unusable ? fmt::format("{}_{}", result, index) : result;
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(Code::kUnavailable,
                folder.string() + ": the folder cannot be made: " + error.message());
  }
}

std::vector<std::string> write_outputs(const std::vector<Value>& values,
                                       const std::vector<ValueInfo>& infos,
                                       const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (size_t i = 0; i < values.size(); ++i) {
    const char* ending = values[i].kind() == Kind::kTensor ? ".npy" : ".pb";
    const std::filesystem::path file = folder / (file_name(infos[i].name, i, infos) + ending);
    write_value(file, values[i], infos[i].name);
    files.push_back(file.string());
  }
  return files;
}

Status run_once(Session& session, const RunCommandOptions& options, double load_ms) {
  const Inputs inputs = make_inputs(session.inputs(), options.inputs);
  const Clock::time_point start = Clock::now();
  const std::vector<Value> values = session.run_values(inputs);
  const double run_ms = milliseconds(Clock::now() - start);
  std::vector<std::string> files;
  if (!options.out.empty()) files = write_outputs(values, session.outputs(), options.out);
  Json outputs = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = session.outputs()[i].name;
    if (options.json) {
      outputs.push_back(output_to_json(name, values[i]));
      if (!files.empty()) outputs.back()["file"] = files[i];
    } else {
      print_line(name + ": " + summary(values[i]));
      if (!files.empty()) print_line("  written to " + files[i]);
    }
  }
  if (options.json) {
    print_json({{"model", options.model},
                {"device", device_text(options)},
                {"load_ms", load_ms},
                {"run_ms", run_ms},
                {"outputs", outputs}});
  } else {
    print_line(fmt::format("loaded in {}, ran in {}", format_time(1e6 * load_ms),
                           format_time(1e6 * run_ms)));
  }
  return kGood;
}

Json verdict_to_json(const SetVerdict& verdict) {
  Json outputs = Json::array();
  for (const OutputVerdict& output : verdict.outputs) {
    outputs.push_back({{"name", output.name},
                       {"passed", output.comparison.equal},
                       {"elements", output.comparison.elements},
                       {"differing", output.comparison.differing},
                       {"max_absolute_difference", output.comparison.max_absolute},
                       {"max_expected", output.comparison.max_expected},
                       {"difference", output.comparison.difference}});
  }
  return {{"folder", verdict.folder.string()}, {"passed", verdict.passed()}, {"outputs", outputs}};
}

void print(const SetVerdict& verdict) {
  print_line(verdict.folder.string() + ": " + (verdict.passed() ? "passed" : "failed"));
  for (const OutputVerdict& output : verdict.outputs) {
    const Comparison& comparison = output.comparison;
    std::string line = fmt::format("  {}: largest difference {:.3g} (largest value {:.3g})",
                                   output.name, comparison.max_absolute, comparison.max_expected);
    if (!comparison.equal && comparison.differing != 0) {
      line += fmt::format("; {} of {} elements differ", comparison.differing, comparison.elements);
    }
    print_line(comparison.equal ? line : line + "; " + comparison.difference);
  }
}

Status run_verify(Session& session, const RunCommandOptions& options) {
  const std::vector<std::filesystem::path> folders = find_sets(options.verify);
  std::vector<SetVerdict> verdicts;
  {
    Progress progress("verifying");
    for (const std::filesystem::path& folder : folders) {
      progress.show(static_cast<double>(verdicts.size()) / static_cast<double>(folders.size()));
      verdicts.push_back(verify(session, folder, options.tolerance));
    }
  }
  const auto passed = std::count_if(verdicts.begin(), verdicts.end(),
                                    [](const SetVerdict& verdict) { return verdict.passed(); });
  const auto failed = static_cast<std::ptrdiff_t>(verdicts.size()) - passed;
  if (options.json) {
    Json sets = Json::array();
    for (const SetVerdict& verdict : verdicts) sets.push_back(verdict_to_json(verdict));
    print_json({{"model", options.model},
                {"device", device_text(options)},
                {"passed", passed},
                {"failed", failed},
                {"sets", sets}});
  } else {
    for (const SetVerdict& verdict : verdicts) print(verdict);
    print_line(fmt::format("{} passed, {} failed", passed, failed));
  }
  return failed == 0 ? kGood : kNo;
}

Status run_model(const RunCommandOptions& options) {
  if (!options.out.empty()) make_folder(options.out);  // fails before the run
  const auto runtime = make_runtime(options);
  const Clock::time_point start = Clock::now();
  SessionOptions session_with = session_options(options);
  session_with.outputs = options.outputs;
  Session session(*runtime, options.model, session_with);
  const double load_ms = milliseconds(Clock::now() - start);
  return options.verify.empty() ? run_once(session, options, load_ms)
                                : run_verify(session, options);
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto options = std::make_shared<RunCommandOptions>();
  CLI::App* command =
      app.add_subcommand("run", "Run a model, or verify it against recorded outputs");
  add_model_options(*command, *options);
  add_input_options(*command, options->inputs);
  command
      ->add_option("--out", options->out,
                   "Write the outputs there: NAME.npy, or NAME.pb for what is no tensor")
      ->type_name("DIR");
  command
      ->add_option("--output", options->outputs,
                   "A value of the model's graph to return in place of the model's outputs, as an "
                   "intermediate tensor; may be repeated")
      ->type_name("NAME")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option("--verify", options->verify,
                   "Compare with recorded outputs: a folder with test_data_set_*, or with "
                   "input_0.pb and output_0.pb")
      ->type_name("DIR")
      ->excludes("--input", "--image", "--random", "--dim", "--out", "--output");
  command
      ->add_option("--rtol", options->tolerance.relative,
                   "Relative tolerance of --verify; default: 1e-3")
      ->type_name("R")
      ->check(number_between(0, 1e30));
  command
      ->add_option("--atol", options->tolerance.absolute,
                   "Absolute tolerance of --verify; default: 1e-7")
      ->type_name("A")
      ->check(number_between(0, 1e30));
  command->callback([options, &chosen] { chosen = [options] { return run_model(*options); }; });
}

}  // namespace gantry::cli
