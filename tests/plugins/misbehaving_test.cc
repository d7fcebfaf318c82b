// SPDX-License-Identifier: Apache-2.0
// Kernels, compilations and claims that break the contract: each is one error with a sentence that
// names node and provider, and the session, or the rest of the placement, goes on.
#include <gantry/gantry.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "provider_folder.h"
#include "support/expect_error.h"
#include "support/model_text.h"

namespace gantry {
namespace {

class MisbehavingProvider {
 public:
  MisbehavingProvider() {
    folder_.add("misbehaving", "misbehaving");
    nlohmann::json manifest = test::ProviderFolder::manifest("misbehaving", "misbehaving.so");
    manifest["options"] = {{"type", "object"},
                           {"properties", {{"mode", {{"type", "string"}}}}},
                           {"additionalProperties", false}};
    folder_.write("misbehaving.json", manifest.dump());
    RuntimeOptions options;
    options.config_json = nlohmann::json{{"providers", {{"search", {folder_.path("")}}}}}.dump();
    runtime_ = std::make_unique<Runtime>(options);
  }
  Session session(const std::string& mode, const std::string& fallback) {
    const std::string bytes =
        test::model_bytes("g (float[2,3] x) => (float[2,3] y) { [r] y = Relu(x) }");
    SessionOptions options;
    options.config_json =
        nlohmann::json{{"providers", {{"options", {{"misbehaving", {{"mode", mode}}}}}}},
                       {"placement", {{"prefer", {"FAKE"}}, {"fallback", fallback}}}}
            .dump();
    return {*runtime_, {test::as_bytes(bytes), {}}, options};
  }

 private:
  test::ProviderFolder folder_;
  std::unique_ptr<Runtime> runtime_;
};

Inputs matrix(float first) {
  return {{"x", Tensor({2, 3}, std::vector<float>{first, -1, 2, -3, 4, 5})}};
}

struct Breach {
  const char* mode;
  Code code;
  std::vector<std::string> parts;
};

std::ostream& operator<<(std::ostream& out, const Breach& breach) { return out << breach.mode; }

class MisbehavingKernel : public testing::TestWithParam<Breach> {};

TEST_P(MisbehavingKernel, EndsItsRunAndTheSessionGoesOn) {
  const Breach& breach = GetParam();
  MisbehavingProvider provider;
  Session session = provider.session(breach.mode, "error");
  const std::vector<float> expected = {1, 0, 2, 0, 4, 5};
  // First while nothing is known of the shapes, then with a plan.
  for (int round = 0; round < 3; ++round) {
    test::expect_error(breach.code, breach.parts, [&] { session.run(matrix(-1)); });
    for (int run = 0; run < 3; ++run) {
      const std::vector<Tensor> outputs = session.run(matrix(1));
      const auto y = outputs[0].elements<float>();
      EXPECT_EQ(std::vector<float>(y.begin(), y.end()), expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, MisbehavingKernel,
    testing::Values(
        Breach{"throws",
               Code::kInternal,
               {"Relu \"r\"", "let an exception cross the boundary", "thrown in a kernel"}},
        Breach{"bad_body",
               Code::kInternal,
               {"Relu \"r\"", "let an exception cross the boundary", "thrown in a body"}},
        Breach{"returns_error", Code::kDeviceError, {"Relu \"r\"", "the fake unit is on fire"}},
        Breach{"never_asks",
               Code::kDeviceError,
               {"Relu \"r\"", "\"misbehaving\"", "did not make output 0 (\"y\")"}},
        Breach{"asks_twice",
               Code::kInvalidArgument,
               {"Relu \"r\"", "output \"y\"", "asked for twice"}},
        Breach{"other_type",
               Code::kInvalidArgument,
               {"Relu \"r\"", "asked for as int32", "the model says float"}},
        Breach{"other_rank",
               Code::kInvalidArgument,
               {"Relu \"r\"", "asked for with rank 1", "the model says 2"}},
        Breach{"negative_extent", Code::kInvalidArgument, {"Relu \"r\"", "-3"}},
        Breach{"other_slot", Code::kInvalidArgument, {"Relu \"r\"", "output slot 7", "not there"}}),
    [](const testing::TestParamInfo<Breach>& info) { return std::string(info.param.mode); });

class MisbehavingLoad : public testing::TestWithParam<Breach> {};

TEST_P(MisbehavingLoad, FallsBackWithTheReasonOrFails) {
  const Breach& breach = GetParam();
  MisbehavingProvider provider;
  test::expect_error(breach.code, breach.parts, [&] { provider.session(breach.mode, "error"); });
  Session session = provider.session(breach.mode, "allow");
  EXPECT_EQ(session.placement().nodes[0].device, "CPU:0");
  EXPECT_THAT(session.placement().nodes[0].reason, testing::HasSubstr(breach.parts.back()));
  EXPECT_EQ(session.run(matrix(-1))[0].elements<float>()[4], 4);
}

INSTANTIATE_TEST_SUITE_P(
    Modes, MisbehavingLoad,
    testing::Values(Breach{"claim_throws", Code::kUnsupported, {"FAKE:0", "thrown in claim"}},
                    Breach{"compile_fails",
                           Code::kUnsupported,
                           {"Relu \"r\" on FAKE:0", "\"misbehaving\"", "compile failed",
                            "the fake assembler gave up"}},
                    Breach{"compile_throws",
                           Code::kInternal,
                           {"Relu \"r\" on FAKE:0", "let an exception cross", "thrown in compile"}},
                    Breach{"no_run",
                           Code::kAbiMismatch,
                           {"Relu \"r\" on FAKE:0", "the kernel has no run function"}}),
    [](const testing::TestParamInfo<Breach>& info) { return std::string(info.param.mode); });

TEST(MisbehavingClaim, ThatChangesIsAWarning) {
  MisbehavingProvider provider;
  testing::internal::CaptureStderr();
  provider.session("claim_changes", "allow");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("Relu \"r\""), testing::HasSubstr("misbehaving"),
                             testing::HasSubstr("a claim must not change")));
  testing::internal::CaptureStderr();
  provider.session("good", "allow");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace gantry
