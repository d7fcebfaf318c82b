// SPDX-License-Identifier: Apache-2.0
// Sessions with an artefact cache, on the simulated accelerator, whose kernels leave blobs: what
// fits is used, everything else is compiled again and said so, and results are the same.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <iterator>

#include "artefact/artefact_file.h"
#include "sim_runtime.h"
#include "support/expect_error.h"

namespace gantry::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = R"(
  <ir_version: 9, opset_import: ["" : 17]>
  agraph (float[N] x) => (float[N] y) {
    h = Relu (x)
    k = Constant <value_float = 2.0> ()
    y = Mul (h, k)
  })";

class ArtefactSession : public testing::Test {
 protected:
  ArtefactSession() : model_(folder_.write("model.onnx", model_bytes(kModel))) {}
  ~ArtefactSession() override { unsetenv("GANTRY_SIM_DRIVER"); }

  [[nodiscard]] std::string cache() const { return folder_.path("cache"); }
  // What becomes of the cache when the model is loaded, after a run has given what it should.
  ArtefactReport load(const nlohmann::json& settings = nlohmann::json::object()) {
    nlohmann::json config = {{"session", {{"artefact_cache", cache()}, {"threads", 2}}},
                             {"placement", {{"fallback", "allow"}}}};
    config["session"].update(settings);
    Session session(*sim_, model_, {.device = "SIM:0", .config_json = config.dump()});
    Tensor x(DType::kFloat, {3});
    const std::vector<float> given = {-1, 2, 3};
    std::copy(given.begin(), given.end(), x.elements<float>().begin());
    const std::vector<Tensor> outputs = session.run({{"x", x}});
    const auto y = outputs[0].elements<float>();
    EXPECT_EQ(std::vector<float>(y.begin(), y.end()), expected_);
    return session.artefact();
  }
  void expect(const std::string& state, const std::string& reason = {}) {
    const ArtefactReport report = load();
    EXPECT_EQ(report.state, state);
    EXPECT_THAT(report.reason, testing::HasSubstr(reason));
    EXPECT_EQ(report.reason.empty(), reason.empty()) << report.reason;
  }
  // The only artefact, or the first of them.
  [[nodiscard]] fs::path file() const {
    for (const auto& entry : fs::directory_iterator(cache()))
      if (entry.path().extension() == ".artefact") return entry.path();
    return {};
  }
  void change(const std::function<std::string(std::string)>& edit) const {
    std::ifstream in(file(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    std::ofstream(file(), std::ios::binary) << edit(text);
  }

  TempFolder folder_;
  std::string model_;
  std::vector<float> expected_ = {0, 4, 6};
  SimRuntime sim_{R"({"operators": ["Relu", "Mul"]})"};
};

TEST_F(ArtefactSession, IsOffUnlessAFolderIsGiven) {
  Session session(*sim_, model_,
                  {.device = "SIM:0", .config_json = R"({"placement": {"fallback": "allow"}})"});
  EXPECT_EQ(session.artefact().state, "off");
  EXPECT_EQ(load({{"artefact_cache", "off"}}).state, "off");
}

TEST_F(ArtefactSession, IsMadeOnceAndUsedFromThenOn) {
  const ArtefactReport made = load();
  EXPECT_EQ(made.state, "made");
  EXPECT_EQ(made.file, file().string());
  EXPECT_EQ(made.size_bytes, fs::file_size(file()));
  const auto before = fs::file_size(file());
  expect("used");
  expect("used");
  EXPECT_EQ(fs::file_size(file()), before);
}

TEST_F(ArtefactSession, TheEnvironmentGivesTheFolderWhereNoDocumentDoes) {
  setenv("GANTRY_ARTEFACT_CACHE", folder_.path("other").c_str(), 1);
  Session session(*sim_, model_,
                  {.device = "SIM:0", .config_json = R"({"placement": {"fallback": "allow"}})"});
  EXPECT_EQ(load().file.substr(0, cache().size()), cache());
  unsetenv("GANTRY_ARTEFACT_CACHE");
  EXPECT_EQ(session.artefact().state, "made");
  EXPECT_EQ(session.artefact().file.substr(0, folder_.path("other").size()), folder_.path("other"));
}

TEST_F(ArtefactSession, AStaleBlobIsRefusedAndCompiledAgain) {
  setenv("GANTRY_SIM_DRIVER", "535.1", 1);
  expect("made");
  setenv("GANTRY_SIM_DRIVER", "550.2", 1);  // the host cannot know
  testing::internal::CaptureStderr();
  expect("rebuilt", "the provider did not take what it had of it");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr("could not be used and was rebuilt"));
  EXPECT_THAT(log, testing::HasSubstr(file().string()));
  expect("used");
}

struct Damage {
  const char* name;
  std::function<std::string(const std::string& text)> edit;
  const char* reason;
};

class DamagedArtefact : public ArtefactSession, public testing::WithParamInterface<Damage> {};

TEST_P(DamagedArtefact, IsRebuiltAndSaidSo) {
  expect("made");
  change(GetParam().edit);
  testing::internal::CaptureStderr();
  expect("rebuilt", GetParam().reason);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr(GetParam().reason));
  expect("used");
}

const Damage kDamages[] = {
    {"Empty", [](const std::string&) { return std::string(); }, "truncated"},
    {"Cut", [](const std::string& text) { return text.substr(0, text.size() - 1); }, "truncated"},
    {"Foreign", [](const std::string& text) { return std::string(text.size(), 'x'); },
     "no artefact"},
    {"Header",
     [](std::string text) {
       text[41] ^= 1;
       return text;
     },
     "header is damaged"},
    {"Index",
     [](std::string text) {
       text[text.size() - 20] ^= 1;
       return text;
     },
     "index is damaged"},
    {"Blob",
     [](std::string text) {
       text[4100] ^= 1;
       return text;
     },
     "damaged between bytes 4096"},
    {"Version",
     [](std::string text) {
       text[16] = 9;
       return text;
     },
     "its format is version 9, not 2"},
};
INSTANTIATE_TEST_SUITE_P(All, DamagedArtefact, testing::ValuesIn(kDamages),
                         [](const auto& info) { return std::string(info.param.name); });

// What a session did while it was loaded, by its trace.
class ArtefactPlan : public ArtefactSession {
 protected:
  [[nodiscard]] std::string trace_of_load() {
    const std::string file = folder_.path("trace" + std::to_string(traces_++) + ".json");
    state_ = load({{"profile", file}}).state;
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // The artefact with another part in the place of one, under right sums.
  void replace_part(const std::string& name, const std::string& bytes) const {
    const std::shared_ptr<const ArtefactFile> old = ArtefactFile::open(file());
    std::vector<ArtefactPart> parts;
    for (const char* each : {"model", "graph"}) parts.push_back({each, *old->find(each)});
    for (ArtefactPart& part : parts)
      if (part.name == name) part.bytes = as_bytes(bytes);
    write_artefact(file(), old->metadata(), parts);
  }
  [[nodiscard]] std::string part(const std::string& name) const {
    const auto old = ArtefactFile::open(file());
    const auto* bytes = old->find(name);
    return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
  }
  std::string state_;
  int traces_ = 0;
};

TEST_F(ArtefactPlan, IsTakenInPlaceOfTheModel) {
  EXPECT_THAT(trace_of_load(), testing::HasSubstr("\"import\""));
  EXPECT_EQ(state_, "made");
  const std::string second = trace_of_load();
  EXPECT_EQ(state_, "used");
  EXPECT_THAT(second, testing::Not(testing::HasSubstr("\"import\"")));
  EXPECT_THAT(second, testing::Not(testing::HasSubstr("\"passes\"")));
  EXPECT_THAT(second, testing::HasSubstr("\"plan from the artefact\""));
}

TEST_F(ArtefactPlan, SessionsShowTheSameFromIt) {
  ONNX_NAMESPACE::ModelProto model = parse_model(kModel);
  auto* entry = model.add_metadata_props();
  entry->set_key("author");
  entry->set_value("nobody");
  folder_.write("model.onnx", model.SerializeAsString());
  const std::string config = nlohmann::json{
      {"session", {{"artefact_cache", cache()}}},
      {"placement",
       {{"fallback", "allow"}}}}.dump();
  const Session first(*sim_, model_, {.device = "SIM:0", .config_json = config});
  const Session second(*sim_, model_, {.device = "SIM:0", .config_json = config});
  EXPECT_EQ(first.artefact().state, "made");
  EXPECT_EQ(second.artefact().state, "used");
  EXPECT_EQ(second.metadata(), first.metadata());
  EXPECT_EQ(second.metadata().at("author"), "nobody");
  EXPECT_EQ(second.graph_text(), first.graph_text());
  ASSERT_EQ(second.inputs().size(), 1U);
  EXPECT_EQ(second.inputs()[0].symbols, first.inputs()[0].symbols);
  EXPECT_EQ(second.outputs()[0].name, "y");
  ASSERT_EQ(second.placement().nodes.size(), first.placement().nodes.size());
  for (size_t i = 0; i < first.placement().nodes.size(); ++i)
    EXPECT_EQ(second.placement().nodes[i].kernel, first.placement().nodes[i].kernel);
}

TEST_F(ArtefactPlan, OneThatCannotBeReadIsRebuiltAndSaidSo) {
  expect("made");
  const std::string graph = part("graph");
  ASSERT_FALSE(graph.empty());
  replace_part("graph", graph.substr(0, graph.size() / 2));
  testing::internal::CaptureStderr();
  expect("rebuilt", "no image of a graph: it is cut");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("no image of a graph"));
  expect("used");
  replace_part("model", "no JSON");
  expect("rebuilt", "its part on the model cannot be read");
  expect("used");
  EXPECT_EQ(part("graph"), graph);
}

TEST_F(ArtefactPlan, AModelThatIsGoneIsAnErrorAsBefore) {
  expect("made");
  fs::remove(model_);
  expect_error(Code::kNotFound, {"model.onnx"}, [&] { load(); });
}

TEST_F(ArtefactPlan, IsNotKeptOfModelsWithFunctionsOrUnderRules) {
  const std::string with_function = R"(
    <ir_version: 9, opset_import: ["" : 17, "own" : 1]>
    agraph (float[N] x) => (float[N] y) { y = own.Twice (x) }
    <domain: "own", opset_import: ["" : 17]>
    Twice (a) => (b) { h = Relu (a) k = Constant <value_float = 2.0> () b = Mul (h, k) })";
  folder_.write("model.onnx", model_bytes(with_function));
  expect("made");
  EXPECT_TRUE(part("graph").empty());
  expect("used");
  folder_.write("model.onnx", model_bytes(kModel));
  const nlohmann::json rules = {{"prefer", {"SIM:0"}},
                                {"fallback", "allow"},
                                {"rules", {{{"op_type", "Relu"}, {"device", "CPU"}}}}};
  const std::string config = nlohmann::json{
      {"session", {{"artefact_cache", folder_.path("ruled")}}},
      {"placement", rules}}.dump();
  for (const char* state : {"made", "used"}) {
    const Session session(*sim_, model_, {.config_json = config});
    EXPECT_EQ(session.artefact().state, state);
    EXPECT_EQ(session.placement().nodes[0].device, "CPU:0");
  }
}

TEST_F(ArtefactSession, AnotherModelUnderItsNameIsSeen) {
  expect("made");
  std::string other = kModel;
  other.replace(other.find("2.0"), 3, "3.0");  // as many bytes
  folder_.write("model.onnx", model_bytes(other));
  expected_ = {0, 6, 9};
  expect("rebuilt", "the model's content was");
  expect("used");
}

TEST_F(ArtefactSession, AnotherBuildOfTheProviderIsSeen) {
  expect("made");
  fs::last_write_time(sim_.library(), fs::file_time_type::clock::now() - std::chrono::hours(1));
  expect("rebuilt", "provider \"sim\" was 0.2.0, build");
}

TEST_F(ArtefactSession, OtherSettingsHaveArtefactsOfTheirOwn) {
  expect("made");
  EXPECT_EQ(load({{"threads", 1}}).state, "made");
  EXPECT_EQ(load({{"optimization", "none"}}).state, "made");
  EXPECT_EQ(load({{"stop_grace_ms", 500}}).state, "used")
      << "nothing that is compiled depends on it";
  expect("used");
}

TEST_F(ArtefactSession, AModelInMemoryIsKnownByItsContent) {
  const std::string config = nlohmann::json{
      {"session", {{"artefact_cache", cache()}}},
      {"placement",
       {{"fallback", "allow"}}}}.dump();
  EXPECT_EQ(sim_.session(kModel, config, "SIM:0").artefact().state, "made");
  EXPECT_EQ(sim_.session(kModel, config, "SIM:0").artefact().state, "used");
  std::string other = kModel;
  other.replace(other.find("2.0"), 3, "3.0");
  EXPECT_EQ(sim_.session(other, config, "SIM:0").artefact().state, "made");
}

TEST_F(ArtefactSession, AFolderThatCannotBeUsedIsSaidAndNoError) {
  folder_.write("cache", "a file");
  expect("not kept", "the folder cannot be made");
  fs::remove(cache());
  fs::create_directory(cache());
  fs::permissions(cache(), fs::perms::others_write, fs::perm_options::add);
  testing::internal::CaptureStderr();
  expect("not kept", "everybody may; chmod o-w");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("is not kept"));
  EXPECT_TRUE(fs::is_empty(cache()));
  fs::permissions(cache(), fs::perms::others_write, fs::perm_options::remove);
  EXPECT_EQ(load({{"artefact_cache_limit_bytes", 100}}).state, "not kept");
  expect("made");
}

TEST_F(ArtefactSession, WhatOthersMayWriteIsNotBelieved) {
  expect("made");
  fs::permissions(file(), fs::perms::others_write, fs::perm_options::add);
  expect("rebuilt", "others than its user may write it");
  expect("used");
}

TEST_F(ArtefactSession, TheRuntimeTellsWhatThereIsAndClearsIt) {
  expect("made");
  Runtime runtime({nlohmann::json{{"session", {{"artefact_cache", cache()}}}}.dump()});
  const ArtefactCache found = artefact_cache(runtime);
  ASSERT_EQ(found.entries.size(), 1U);
  EXPECT_EQ(found.entries[0].file, file());
  EXPECT_EQ(clear_artefact_cache(runtime), found.entries[0].size_bytes);
  EXPECT_TRUE(artefact_cache(runtime).entries.empty());
  expect("made");
}

}  // namespace
}  // namespace gantry::test
