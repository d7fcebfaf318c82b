// SPDX-License-Identifier: Apache-2.0
#include "plugin/discovery/manifest.h"

#include <nlohmann/json.hpp>

#include "plugin/discovery/manifest_operators.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"

namespace gantry {
namespace {

using nlohmann::json;

json good() {
  return json::parse(R"({
    "manifest_version": 1, "name": "cuda", "vendor": "gantry", "version": "0.1.0",
    "library": "libgantry_cuda.so", "abi": {"major": 1, "minor": 0},
    "devices": ["CUDA", "CUDA_MIG"], "priority": 200,
    "requires": {"libraries": ["libcuda.so.1"], "cpu_features": ["avx2"]},
    "options": {"type": "object", "properties": {"pool_bytes": {"type": "integer", "minimum": 0}}, "additionalProperties": false}
  })");
}

TEST(Manifest, ReadsEveryMember) {
  const std::string text = good().dump();
  const Manifest manifest = parse_manifest(text, "cuda.json");
  EXPECT_EQ(manifest.name, "cuda");
  EXPECT_EQ(manifest.vendor, "gantry");
  EXPECT_EQ(manifest.version, "0.1.0");
  EXPECT_EQ(manifest.library, "libgantry_cuda.so");
  EXPECT_EQ(manifest.abi_major, 1U);
  EXPECT_EQ(manifest.abi_minor, 0U);
  EXPECT_EQ(manifest.devices, (std::vector<std::string>{"CUDA", "CUDA_MIG"}));
  EXPECT_EQ(manifest.priority, 200);
  EXPECT_EQ(manifest.required_libraries, std::vector<std::string>{"libcuda.so.1"});
  EXPECT_EQ(manifest.required_cpu_features, std::vector<std::string>{"avx2"});
  EXPECT_FALSE(manifest.own_threads);
  EXPECT_TRUE(manifest.device_files.empty());
  EXPECT_TRUE(manifest.warnings.empty());
  EXPECT_EQ(manifest.text, text);
}

TEST(Manifest, ReadsDeviceFiles) {
  json with = good();
  with["device_files"] = {"/dev/nvidia*", "/dev/dri"};
  const Manifest manifest = parse_manifest(with.dump(), "cuda.json");
  EXPECT_EQ(manifest.device_files, (std::vector<std::string>{"/dev/nvidia*", "/dev/dri"}));
  EXPECT_TRUE(manifest.warnings.empty());
}

TEST(Manifest, MaySayThatAForkedChildMayUseIt) {
  json with = good();
  EXPECT_FALSE(parse_manifest(with.dump(), "cuda.json").survives_fork);
  with["survives_fork"] = true;
  EXPECT_TRUE(parse_manifest(with.dump(), "cuda.json").survives_fork);
}

TEST(Manifest, MaySayThatItsDevicesStandInForOthers) {
  json with = good();
  EXPECT_FALSE(parse_manifest(with.dump(), "cuda.json").is_stand_in);
  with["stand_in"] = true;
  const Manifest manifest = parse_manifest(with.dump(), "cuda.json");
  EXPECT_TRUE(manifest.is_stand_in);
  EXPECT_TRUE(manifest.warnings.empty());
}

TEST(Manifest, ReadsParts) {
  json with = good();
  with["parts"] = {"a.so", {{"name", "b.so"}, {"hint", "texts need it"}}};
  const Manifest manifest = parse_manifest(with.dump(), "cuda.json");
  EXPECT_EQ(manifest.parts, (std::vector<std::string>{"a.so", "b.so"}));
  EXPECT_EQ(manifest.library_hints.at("b.so"), "texts need it");
  EXPECT_TRUE(manifest.warnings.empty());
}

TEST(Manifest, ReadsWhatItWidens) {
  json with = good();
  EXPECT_FALSE(parse_manifest(with.dump(), "cuda.json").computes_wider(DType::kFloat16));
  with["widens"] = {"float16"};
  const Manifest manifest = parse_manifest(with.dump(), "cuda.json");
  EXPECT_TRUE(manifest.computes_wider(DType::kFloat16));
  EXPECT_FALSE(manifest.computes_wider(DType::kBfloat16));
  EXPECT_TRUE(manifest.warnings.empty());
}

TEST(Manifest, ReadsItsOperators) {
  json with = good();
  with["operators"] = json::parse(R"([
    {"domain": "com.acme", "op_type": "Split", "outputs": [
      {"type": "int64", "shape": ["1.2", null, 64]}, {"like": 3}, {"like": 0, "shape": []}]},
    {"domain": "com.acme", "op_type": "Look", "outputs": []}])");
  const Manifest manifest = parse_manifest(with.dump(), "cuda.json");
  EXPECT_TRUE(manifest.warnings.empty());
  ASSERT_EQ(manifest.operators.size(), 2U);
  const DeclaredOperator& split = manifest.operators[0];
  EXPECT_EQ(split.domain + "." + split.op_type, "com.acme.Split");
  ASSERT_EQ(split.outputs.size(), 3U);
  EXPECT_EQ(split.outputs[0].dtype, DType::kInt64);
  ASSERT_EQ(split.outputs[0].shape->size(), 3U);
  EXPECT_EQ((*split.outputs[0].shape)[0].input, 1);
  EXPECT_EQ((*split.outputs[0].shape)[0].axis, 2);
  EXPECT_EQ((*split.outputs[0].shape)[1].value, -1);
  EXPECT_EQ((*split.outputs[0].shape)[2].value, 64);
  EXPECT_EQ(split.outputs[1].like, 3);
  EXPECT_FALSE(split.outputs[1].shape.has_value());
  EXPECT_EQ(split.outputs[2].shape->size(), 0U);
}

TEST(Manifest, ReadsOperatorsForSomeTypesAndOfAnyRank) {
  json with = good();
  with["operators"] = json::parse(R"([
    {"domain": "com.acme", "op_type": "Sum", "inputs": ["uint8", null], "outputs": [
      {"type": null}, {"like": 1, "shape": null}]}])");
  const Manifest manifest = parse_manifest(with.dump(), "cuda.json");
  ASSERT_EQ(manifest.operators.size(), 1U);
  const DeclaredOperator& sum = manifest.operators[0];
  EXPECT_EQ(sum.inputs, (std::vector<DType>{DType::kUint8, DType::kUndefined}));
  EXPECT_EQ(sum.outputs[0].dtype, DType::kUndefined);
  EXPECT_EQ(sum.outputs[0].like, -1);
  EXPECT_EQ(sum.outputs[1].like, 1);
  EXPECT_TRUE(sum.outputs[1].is_of_any_rank);
  EXPECT_FALSE(manifest.has_operators_by_options);
}

TEST(Manifest, ReadsThatItsOperatorsFollowFromItsOptions) {
  json with = good();
  with["operators"] = "by_options";
  EXPECT_TRUE(parse_manifest(with.dump(), "cuda.json").has_operators_by_options);
}

TEST(Manifest, ReadsOperatorsThatAProviderTells) {
  const auto operators = parse_operators(
      R"([{"domain": "com.acme.more", "op_type": "A", "outputs": [{"type": "int8"}], "new": 1}])",
      "provider \"acme\"");
  ASSERT_EQ(operators.size(), 1U);
  EXPECT_EQ(operators[0].domain, "com.acme.more");
  test::expect_error(Code::kInvalidArgument, {"provider \"acme\"", "/operators/0/op_type"},
                     [] { parse_operators(R"([{"domain": "a"}])", "provider \"acme\""); });
  test::expect_error(Code::kInvalidArgument, {"provider \"acme\""},
                     [] { parse_operators("", "provider \"acme\""); });
}

// A list of one operator with one output.
json operators_with(const char* output, const char* domain = "com.acme") {
  return json::array({{{"domain", domain},
                       {"op_type", "Split"},
                       {"outputs", json::array({json::parse(output)})}}});
}

struct Wrong {
  const char* pointer;
  json value;  // null: the member is taken away
  Code code;
  std::vector<std::string> parts;
};

TEST(Manifest, RefusesWrongMembers) {
  const Wrong cases[] = {
      {"/manifest_version",
       nullptr,
       Code::kInvalidArgument,
       {"/manifest_version", "found nothing"}},
      {"/manifest_version",
       2,
       Code::kAbiMismatch,
       {"expected 1, found 2", "another version of gantry"}},
      {"/manifest_version", "1", Code::kInvalidArgument, {"/manifest_version", "the string \"1\""}},
      {"/name", nullptr, Code::kInvalidArgument, {"/name", "found nothing"}},
      {"/name", "", Code::kInvalidArgument, {"/name"}},
      {"/name", "Cuda", Code::kInvalidArgument, {"/name", "\"Cuda\""}},
      {"/name", "-x", Code::kInvalidArgument, {"/name"}},
      {"/name", std::string(65, 'a'), Code::kInvalidArgument, {"/name"}},
      {"/version", nullptr, Code::kInvalidArgument, {"/version"}},
      {"/library", nullptr, Code::kInvalidArgument, {"/library", "found nothing"}},
      {"/library", 7, Code::kInvalidArgument, {"/library", "the number 7"}},
      {"/abi", nullptr, Code::kInvalidArgument, {"/abi/major"}},
      {"/abi", "1.0", Code::kInvalidArgument, {"/abi/major"}},
      {"/abi/minor", -1, Code::kInvalidArgument, {"/abi/minor", "-1"}},
      {"/abi/major", 4294967296, Code::kInvalidArgument, {"/abi/major"}},
      {"/devices", nullptr, Code::kInvalidArgument, {"/devices"}},
      {"/devices", json::array(), Code::kInvalidArgument, {"/devices", "an empty array"}},
      {"/devices", "CUDA", Code::kInvalidArgument, {"/devices", "the string"}},
      {"/devices", json{"CPU", "CU DA"}, Code::kInvalidArgument, {"/devices/1", "\"CU DA\""}},
      {"/devices", json{"CPU:0"}, Code::kInvalidArgument, {"/devices/0"}},
      {"/devices", json{"CPU", "CPU"}, Code::kInvalidArgument, {"/devices/1", "again"}},
      {"/devices", json{1}, Code::kInvalidArgument, {"/devices/0", "the number 1"}},
      {"/parts", "part.so", Code::kInvalidArgument, {"/parts", "the string"}},
      {"/parts", json{{{"name", "a.so"}}}, Code::kInvalidArgument, {"/parts/0/hint", "nothing"}},
      {"/device_files", "/dev/dri", Code::kInvalidArgument, {"/device_files", "the string"}},
      {"/device_files",
       json{"/dev/dri", "/dev/*"},
       Code::kInvalidArgument,
       {"/device_files/1", "\"/dev/*\""}},
      {"/device_files", json{"/dev/"}, Code::kInvalidArgument, {"/device_files/0"}},
      {"/device_files",
       json{"/etc/passwd"},
       Code::kInvalidArgument,
       {"/device_files/0", "below /dev"}},
      {"/device_files", json{"/dev/dri/../sda"}, Code::kInvalidArgument, {"/device_files/0"}},
      {"/device_files", json{"/dev/m*"}, Code::kInvalidArgument, {"/device_files/0", "memory"}},
      {"/widens", "float16", Code::kInvalidArgument, {"/widens", "the string"}},
      {"/stand_in", "yes", Code::kInvalidArgument, {"/stand_in", "true or false"}},
      {"/survives_fork", 1, Code::kInvalidArgument, {"/survives_fork", "true or false"}},
      {"/widens", json{"float16", "float64"}, Code::kInvalidArgument, {"/widens/1", "\"float64\""}},
      {"/operators", "Split", Code::kInvalidArgument, {"/operators", "by_options"}},
      {"/operators", 7, Code::kInvalidArgument, {"/operators", "an array of operators"}},
      {"/operators",
       json::array(
           {{{"domain", "com.acme"}, {"op_type", "A"}, {"inputs", {"int65"}}, {"outputs", {}}}}),
       Code::kInvalidArgument,
       {"/operators/0/inputs/0", "\"int65\""}},
      {"/operators", json::array({1}), Code::kInvalidArgument, {"/operators/0/domain"}},
      {"/operators",
       operators_with(R"({"like": 0})", "ai.onnx"),
       Code::kInvalidArgument,
       {"/operators/0/domain", "whose operators are known"}},
      {"/operators",
       operators_with("{}"),
       Code::kInvalidArgument,
       {"/operators/0/outputs/0", "neither"}},
      {"/operators",
       operators_with(R"({"like": 0, "type": "int64"})"),
       Code::kInvalidArgument,
       {"/operators/0/outputs/0", "both"}},
      {"/operators",
       operators_with(R"({"type": "int65"})"),
       Code::kInvalidArgument,
       {"/operators/0/outputs/0/type", "\"int65\""}},
      {"/operators",
       operators_with(R"({"like": -1})"),
       Code::kInvalidArgument,
       {"/operators/0/outputs/0/like"}},
      {"/operators",
       operators_with(R"({"like": 0, "shape": ["0"]})"),
       Code::kInvalidArgument,
       {"/operators/0/outputs/0/shape/0", "INPUT.AXIS"}},
      {"/operators",
       operators_with(R"({"like": 0, "shape": [-3]})"),
       Code::kInvalidArgument,
       {"/operators/0/outputs/0/shape/0", "INPUT.AXIS"}},
      {"/priority", 1.5, Code::kInvalidArgument, {"/priority"}},
      {"/requires", "x", Code::kInvalidArgument, {"/requires", "an object"}},
      {"/requires/libraries", "x", Code::kInvalidArgument, {"/requires/libraries"}},
      {"/threads", "mine", Code::kInvalidArgument, {"/threads", "host and own", "\"mine\""}},
      {"/unload", true, Code::kInvalidArgument, {"/unload", "true"}},
      {"/options", 3, Code::kInvalidArgument, {"/options", "a JSON Schema"}},
      {"/options", json{{"properties", 3}}, Code::kInvalidArgument, {"/options"}},
      {"/critical",
       json{"isolation"},
       Code::kAbiMismatch,
       {"/critical", "\"isolation\"", "newer gantry"}},
  };
  for (const Wrong& wrong : cases) {
    json manifest = good();
    const json::json_pointer place(wrong.pointer);
    if (wrong.value.is_null()) {
      manifest[place.parent_pointer()].erase(place.back());
    } else {
      manifest[place] = wrong.value;
    }
    SCOPED_TRACE(std::string(wrong.pointer) + " " + wrong.value.dump());
    std::vector<std::string> parts = wrong.parts;
    parts.emplace_back("m.json:1:");
    test::expect_error(wrong.code, parts, [&] { parse_manifest(manifest.dump(), "m.json"); });
  }
}

TEST(Manifest, RefusesWhatIsNoObject) {
  test::expect_error(Code::kInvalidArgument, {"an object"}, [] { parse_manifest("[]", "m.json"); });
  test::expect_error(Code::kInvalidArgument, {"m.json:1:2: not valid JSON"},
                     [] { parse_manifest("{", "m.json"); });
  test::expect_error(Code::kInvalidArgument, {"262144 bytes"},
                     [] { parse_manifest(std::string(kMaxManifestBytes + 1, ' '), "m.json"); });
}

TEST(Manifest, WarnsOfUnknownMembers) {
  json manifest = good();
  manifest["libary"] = "x";
  manifest["x-note"] = "free";
  manifest["abi"]["features"] = json::array();
  const Manifest parsed = parse_manifest(manifest.dump(), "m.json");
  ASSERT_EQ(parsed.warnings.size(), 2U);
  EXPECT_THAT(parsed.warnings[0],
              testing::HasSubstr("/libary: unknown member, ignored. Did you mean \"library\"?"));
  EXPECT_THAT(parsed.warnings[1], testing::HasSubstr("/abi/features"));
}

TEST(Manifest, LibraryMayBeLeftOutInCode) {
  json manifest = good();
  manifest.erase("library");
  EXPECT_EQ(parse_manifest(manifest.dump(), "<code>", false).library, "");
}

TEST(Manifest, SaysTheLine) {
  json manifest = good();
  manifest["priority"] = 1.5;
  manifest["libary"] = "x";
  const std::string text = manifest.dump(2);
  test::expect_error(Code::kInvalidArgument, {"m.json:24:15: /priority: expected a whole number"},
                     [&] { parse_manifest(text, "m.json"); });
  manifest["priority"] = 1;
  const Manifest parsed = parse_manifest(manifest.dump(2), "m.json");
  ASSERT_EQ(parsed.warnings.size(), 1U);
  EXPECT_THAT(parsed.warnings[0], testing::StartsWith("m.json:10:3: /libary: unknown member"));
}

// The first problem of options, and its pointer.
std::string problem_of(const Manifest& manifest, const std::string& options) {
  const std::vector<JsonProblem> problems = option_problems(manifest, json::parse(options));
  return problems.empty() ? "" : problems[0].pointer + ": " + problems[0].what;
}

TEST(Manifest, ChecksOptions) {
  const Manifest manifest = parse_manifest(good().dump(), "m.json");
  EXPECT_EQ(problem_of(manifest, R"({"pool_bytes": 4096})"), "");
  EXPECT_EQ(problem_of(manifest, "{}"), "");
  EXPECT_THAT(problem_of(manifest, R"({"pool_byte": 1})"),
              testing::AllOf(testing::StartsWith("/providers/options/cuda/pool_byte: "),
                             testing::HasSubstr("Did you mean \"pool_bytes\"?")));
  EXPECT_THAT(problem_of(manifest, R"({"pool_bytes": -1})"),
              testing::AllOf(testing::StartsWith("/providers/options/cuda/pool_bytes: "),
                             testing::HasSubstr("at least 0")));
  EXPECT_THAT(problem_of(manifest, "[]"), testing::HasSubstr("an object"));
}

TEST(Manifest, WithoutASchemaThereAreNoOptions) {
  json manifest = good();
  manifest.erase("options");
  EXPECT_THAT(problem_of(parse_manifest(manifest.dump(), "m.json"), R"({"x": 1})"),
              testing::AllOf(testing::StartsWith("/providers/options/cuda/x: "),
                             testing::HasSubstr("no members")));
}

TEST(Manifest, ReadsFiles) {
  const test::TempFolder folder;
  EXPECT_EQ(read_manifest(folder.write("a.json", good().dump())).name, "cuda");
  test::expect_error(Code::kNotFound, {folder.path("b.json")},
                     [&] { read_manifest(folder.path("b.json")); });
  const std::string huge = folder.write("c.json", std::string(kMaxManifestBytes * 2, ' '));
  test::expect_error(Code::kInvalidArgument, {"at most 262144 bytes"},
                     [&] { read_manifest(huge); });
}

}  // namespace
}  // namespace gantry
