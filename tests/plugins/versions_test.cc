// SPDX-License-Identifier: Apache-2.0
// Providers of other minor versions of the boundary than this host's compute, in this process and
// in one of their own.
#include <gantry/gantry.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "provider_folder.h"
#include "support/model_text.h"

namespace gantry {
namespace {

struct Version {
  const char* fake;
  uint32_t minor;
  const char* isolation;
};

class ProviderOfAnotherVersion : public testing::TestWithParam<Version> {};

TEST_P(ProviderOfAnotherVersion, Computes) {
  const Version& version = GetParam();
  const test::ProviderFolder folder;
  folder.add(version.fake, "versions", {{"abi", {{"major", 1}, {"minor", version.minor}}}});
  RuntimeOptions options;
  options.config_json = nlohmann::json{{"providers",
                                        {{"search", {folder.path("")}},
                                         {"isolation", {{"versions", version.isolation}}}}}}
                            .dump();
  Runtime runtime(options);
  // What an output must not lie over is read again.
  const std::string model = test::model_bytes(
      "g (float[3] a, float[3] b) => (float[3] d, float[3] e)"
      "{ m = Sub(a, b) n = Sub(m, b) d = Sub(m, n) e = Sub(n, d) }");
  SessionOptions of_session;
  of_session.device = "FAKE";
  Session session(runtime, {test::as_bytes(model), {}}, of_session);
  for (float x = 1; x < 4; ++x) {
    const auto outputs = session.run({{"a", Tensor({3}, std::vector<float>{x, 20, 30})},
                                      {"b", Tensor({3}, std::vector<float>{4, 5, 6})}});
    EXPECT_THAT(outputs[0].elements<float>(), testing::ElementsAre(4, 5, 6));
    EXPECT_THAT(outputs[1].elements<float>(), testing::ElementsAre(x - 12, 5, 12));
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, ProviderOfAnotherVersion,
                         testing::Values(Version{"earlier_version", 0, "none"},
                                         Version{"earlier_version", 0, "process"},
                                         Version{"later_version", GANTRY_ABI_MINOR + 1, "none"},
                                         Version{"later_version", GANTRY_ABI_MINOR + 1, "process"}),
                         [](const auto& info) {
                           return std::string(info.param.fake) +
                                  (info.param.isolation == std::string("none") ? "_here"
                                                                               : "_isolated");
                         });

}  // namespace
}  // namespace gantry
