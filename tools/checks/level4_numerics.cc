// SPDX-License-Identifier: Apache-2.0
// Level 4: numerical results in sessions. Compares ONNX's node cases with their recorded outputs
// and random cases with the CPU provider, with a tolerance for each element type.
#include <gantry/files.h>
#include <gantry/session.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "../cli/verify.h"
#include "bench.h"
#include "levels.h"
#include "progress.h"
#include "random_cases.h"

namespace gantry::checks {
namespace {

namespace fs = std::filesystem;

// Operators of which ONNX specifies type and shape only.
const std::set<std::string>& random_operators() {
  static const auto* const operators = new std::set<std::string>{
      "Bernoulli",        "Dropout",       "Multinomial",      "RandomNormal",
      "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  return *operators;
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

// A folder with a model and recorded values.
struct RecordedCase {
  fs::path folder;
  bool is_piece = false;  ///< a part of a model: the CPU provider may run some of its nodes
};

void run_case(const Subject& subject, const RecordedCase& recorded) {
  Bench& with = bench_of(subject);
  const std::string folder = recorded.folder.string();
  const std::string model = folder + "/model.onnx";
  note_progress("loading " + model);
  const std::unique_ptr<Session> session = recorded.is_piece
                                               ? with.shared_session(ModelSource(model))
                                               : with.session(ModelSource(model));
  const std::string remedy =
      recorded.is_piece
          ? "compare what the kernels compute together with what they compute by themselves "
            "(random.*); gantry explain " +
                model + " with " + with.device() + " first in /placement/prefer shows the sets"
          : "gantry run " + model + " --device " + with.device() + " --verify " + folder +
                " shows it; compare the kernel with the operator's specification";
  for (const fs::path& set : cli::find_sets(recorded.folder)) {
    note_progress("running " + model);
    const std::vector<Value> found = session->run_values(read_inputs(*session, set));
    for (size_t i = 0; i < found.size(); ++i) {
      const ValueInfo& info = session->outputs()[i];
      const Value expected = read_value(set / ("output_" + std::to_string(i) + ".pb"), info);
      if (has_operator(*session, random_operators())) {
        expect_same_type(found[i], expected, info.name, remedy);
      } else {
        expect_equal(*session, found[i], expected, info.name, remedy,
                     recorded.is_piece ? Sums::kOfMany : Sums::kOfOne);
      }
    }
  }
}

void run_random(const Subject& subject, const RandomCase& random) {
  Bench& with = bench_of(subject);
  note_progress("loading " + random.name);
  OneNodeModel node = random.model;
  const Inputs inputs =
      fill_inputs(node.inputs, random.is_positive, random.is_constant, subject.seed);
  const std::vector<std::byte> bytes = serialize(node);
  const ModelSource model(bytes, fs::path());
  const std::unique_ptr<Session> session = with.session(model);
  note_progress("running " + random.name);
  const std::vector<Value> found = session->run_values(inputs);
  const std::vector<Value> expected = with.reference(model)->run_values(inputs);
  for (size_t i = 0; i < found.size(); ++i) {
    expect_equal(*session, found[i], expected[i], session->outputs()[i].name,
                 "compare the kernel of " + random.model.op_type +
                     " with the operator's specification; expected is what the CPU provider "
                     "computes of the same elements");
  }
}

// The recorded cases in the folder of an option.
struct CaseList {
  std::string name;    ///< "case": a check is case.FOLDER
  std::string folder;  ///< empty: not given
  const char* missing;
  const char* content;
  bool is_piece;
};

void add_recorded(Checks& checks, const Subject& subject, const CaseList& list) {
  if (list.folder.empty()) {
    checks.push_back({4, list.name + "s", "P19", [=] { throw Skip(list.missing); }});
    return;
  }
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(list.folder, error))
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  if (folders.empty()) {
    checks.push_back({4, list.name + "s", "P19", [list] {
                        throw Failure(
                            list.folder + ": expected folders with a model.onnx, found none",
                            std::string("name the folder that holds ") + list.content);
                      }});
  }
  for (const fs::path& folder : folders) {
    checks.push_back({4, list.name + "." + folder.filename().string(), "P19",
                      [&subject, recorded = RecordedCase{folder, list.is_piece}] {
                        run_case(subject, recorded);
                      }});
  }
}

}  // namespace

void add_case_checks(Checks& checks, const Subject& subject) {
  add_recorded(checks, subject,
               {"case", subject.cases,
                "no folder of ONNX node cases was given "
                "(--cases)",
                "test_abs, test_acos and so on", false});
  add_recorded(checks, subject,
               {"model", subject.models,
                "no folder of pieces of models was given "
                "(--models)",
                "the pieces that model_cases has written", true});
}

void add_random_checks(Checks& checks, const Subject& subject) {
  for (const RandomCase& random : random_cases()) {
    checks.push_back(
        {4, "random." + random.name, "P19", [&subject, random] { run_random(subject, random); }});
  }
}

}  // namespace gantry::checks
