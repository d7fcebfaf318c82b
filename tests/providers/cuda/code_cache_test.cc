// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "fake_runtime.h"

namespace gantry {
namespace {

using test::FakeRuntime;

const char* const kNegated = "g (float[4] x) => (float[4] y) { y = Neg(x) }";

void expect_negated(Session& session) {
  Tensor x(DType::kFloat, {4});
  for (float& element : x.elements<float>()) element = 3;
  const std::vector<Tensor> y = session.run({{"x", x}});
  ASSERT_EQ(y.size(), 1U);
  for (const float element : y[0].elements<float>()) EXPECT_EQ(element, -3);
}

TEST(CudaCache, HoldsWhatWasCompiledAndMendsWhatIsDamaged) {
  test::TempFolder folder;
  const std::string options = R"({"cache": ")" + folder.path("code") + R"("})";
  const auto run = [&] {
    FakeRuntime runtime("devices=1", options);
    Session session = runtime.session(kNegated);
    expect_negated(session);
  };
  const auto files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("code")))
      found.push_back(entry.path());
    return found;
  };
  run();
  ASSERT_EQ(files().size(), 1U);
  const std::filesystem::path file = files()[0];
  const auto written = std::filesystem::last_write_time(file);
  run();
  EXPECT_EQ(std::filesystem::last_write_time(file), written) << "it was compiled again";
  const auto whole = std::filesystem::file_size(file);
  std::filesystem::resize_file(file, whole / 2);
  run();
  EXPECT_EQ(std::filesystem::file_size(file), whole);
  EXPECT_EQ(files().size(), 1U);
}

TEST(CudaCache, CanBeOffOrOutOfReach) {
  for (const char* cache : {"off", "/dev/null/none"}) {
    FakeRuntime runtime("devices=1", std::string(R"({"cache": ")") + cache + R"("})");
    Session session = runtime.session(kNegated);
    expect_negated(session);
  }
}

}  // namespace
}  // namespace gantry
