// SPDX-License-Identifier: Apache-2.0
#include "plugin/manifest.h"

#include <nlohmann/json.hpp>

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
  EXPECT_TRUE(manifest.warnings.empty());
  EXPECT_EQ(manifest.text, text);
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
    parts.push_back("m.json: ");
    test::expect_error(wrong.code, parts, [&] { parse_manifest(manifest.dump(), "m.json"); });
  }
}

TEST(Manifest, RefusesWhatIsNoObject) {
  test::expect_error(Code::kInvalidArgument, {"an object"}, [] { parse_manifest("[]", "m.json"); });
  test::expect_error(Code::kInvalidArgument, {"m.json", "line 1"},
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

TEST(Manifest, ChecksOptions) {
  const Manifest manifest = parse_manifest(good().dump(), "m.json");
  check_options(manifest, R"({"pool_bytes": 4096})");
  check_options(manifest, "{}");
  test::expect_error(Code::kInvalidArgument,
                     {"/providers/options/cuda/pool_byte", "Did you mean \"pool_bytes\"?"},
                     [&] { check_options(manifest, R"({"pool_byte": 1})"); });
  test::expect_error(Code::kInvalidArgument, {"/providers/options/cuda/pool_bytes", "at least 0"},
                     [&] { check_options(manifest, R"({"pool_bytes": -1})"); });
  test::expect_error(Code::kInvalidArgument, {"an object"}, [&] { check_options(manifest, "[]"); });
}

TEST(Manifest, WithoutASchemaThereAreNoOptions) {
  json manifest = good();
  manifest.erase("options");
  test::expect_error(Code::kInvalidArgument, {"/providers/options/cuda/x", "no members"}, [&] {
    check_options(parse_manifest(manifest.dump(), "m.json"), R"({"x": 1})");
  });
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
