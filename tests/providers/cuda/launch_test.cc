// SPDX-License-Identifier: Apache-2.0
// How kernels come to a device over the fake driver: compiled while a model is loaded,
// launched before the one before has ended, by a thread that keeps its own context.
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "fake_runtime.h"

namespace gantry {
namespace {

using test::FakeCounters;
using test::FakeRuntime;

// Two kernels of the provider, one behind the other.
const char* const kTwo =
    "g (float[3, 8] x) => (float[3, 8] y) { a = Softmax<axis=1>(x) y = Softmax<axis=0>(a) }";

// Of equal numbers each row is 1/8 and then each column 1/3.
void expect_thirds(Session& session, int runs) {
  Tensor x(DType::kFloat, {3, 8});
  for (float& element : x.elements<float>()) element = 0.5F;
  for (int run = 0; run < runs; ++run) {
    const std::vector<Tensor> y = session.run({{"x", x}});
    ASSERT_EQ(y.size(), 1U);
    for (const float element : y[0].elements<float>()) EXPECT_FLOAT_EQ(element, 1.0F / 3);
  }
}

struct EarlyCase {
  const char* machine;
  const char* options;
  uint64_t early;  // launches of a run that is not recorded
};

TEST(CudaLaunches, BeginEarlyBehindKernelsWhereTheDeviceCan) {
  const EarlyCase cases[] = {
      {"devices=1", R"({"capture": false, "overlap": true})", 1},
      {"devices=1", R"({"capture": false})", 0},
      {"devices=1 capability=80", R"({"capture": false, "overlap": true})", 0},
      {"devices=1 version=12020", R"({"capture": false, "overlap": true})", 0},
      {"devices=1 version=12030", R"({"capture": false, "overlap": true})", 1}};
  // A driver for CUDA 12 takes no compiler of a later one.
  const test::TempFolder folder;
  const std::string fakes = GANTRY_FAKE_CUDA_FOLDER;
  std::filesystem::create_symlink(fakes + "/libnvrtc.so.13", folder.path("libnvrtc.so.12"));
  for (const char* file : {"libcuda.so.1", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"})
    std::filesystem::create_symlink(fakes + "/" + file, folder.path(file));
  for (const EarlyCase& one : cases) {
    nlohmann::json options = nlohmann::json::parse(one.options);
    options["libraries"] = {folder.path()};
    FakeRuntime runtime(one.machine, options.dump());
    Session session = runtime.session(kTwo);
    const uint64_t launches = FakeRuntime::counters().launches;
    const uint64_t early = FakeRuntime::counters().early_launches;
    expect_thirds(session, 1);
    EXPECT_EQ(FakeRuntime::counters().launches - launches, 2U) << one.machine << one.options;
    EXPECT_EQ(FakeRuntime::counters().early_launches - early, one.early)
        << one.machine << one.options;
  }
}

TEST(CudaLaunches, BeginEarlyInRecordingsToo) {
  FakeRuntime runtime("devices=1", R"({"overlap": true})");
  Session session = runtime.session(kTwo);
  expect_thirds(session, 1);
  const uint64_t early = FakeRuntime::counters().early_launches;
  const uint64_t graphs = FakeRuntime::counters().graph_launches;
  expect_thirds(session, 4);
  EXPECT_GT(FakeRuntime::counters().graph_launches, graphs);
  EXPECT_GT(FakeRuntime::counters().early_launches, early);
}

TEST(CudaLaunches, GoOnWhereTheDriverRefuses) {
  FakeRuntime runtime("devices=1 early=0", R"({"capture": false, "overlap": true})");
  Session session = runtime.session(kTwo);
  const uint64_t early = FakeRuntime::counters().early_launches;
  expect_thirds(session, 3);
  EXPECT_EQ(FakeRuntime::counters().early_launches, early);
}

TEST(CudaLaunches, BeginEarlyInNoGraphWhereTheDriverMakesNone) {
  FakeRuntime runtime("devices=1 early=2", R"({"overlap": true})");
  const uint64_t graphs = FakeRuntime::counters().graph_launches;
  {
    Session session = runtime.session(kTwo);
    expect_thirds(session, 4);
  }
  EXPECT_EQ(FakeRuntime::counters().graph_launches, graphs);
  Session session = runtime.session(kTwo);
  expect_thirds(session, 4);
  EXPECT_GT(FakeRuntime::counters().graph_launches, graphs) << "the next recordings do without";
}

TEST(CudaContexts, AreTheCallersAgainBehindACall) {
  FakeRuntime runtime("devices=1");
  const auto set = FakeRuntime::driver_function<int (*)(void*)>("cuCtxSetCurrent");
  const auto get = FakeRuntime::driver_function<int (*)(void**)>("cuCtxGetCurrent");
  int another = 0;
  for (void* const own : {static_cast<void*>(nullptr), static_cast<void*>(&another)}) {
    set(own);
    {
      Session session = runtime.session(kTwo);
      expect_thirds(session, 4);
      void* now = nullptr;
      get(&now);
      EXPECT_EQ(now, own) << "behind runs";
    }
    void* now = nullptr;
    get(&now);
    EXPECT_EQ(now, own) << "behind the end of a session";
  }
  set(nullptr);
}

size_t files_in(const std::string& folder) {
  if (!std::filesystem::exists(folder)) return 0;
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    // Others are being written.
    if (entry.path().extension().empty()) ++count;
  }
  return count;
}

// How many files there are, when so many are, or after long.
size_t files_after_waiting(const std::string& folder, size_t wanted) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (files_in(folder) < wanted && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return files_in(folder);
}

TEST(CudaKernels, AreCompiledWhileTheModelIsLoaded) {
  const test::TempFolder folder;
  const std::string cache = folder.path("code");
  FakeRuntime runtime("devices=1", R"({"cache": ")" + cache + R"("})");
  {
    // Not told apart before a run: extents may be any.
    Session session = runtime.session(
        "g (float[n, 8] x) => (float[n, 8] y) { a = Softmax<axis=1>(x) y = Softmax<axis=0>(a) }");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_EQ(files_in(cache), 0U);
  }
  Session session = runtime.session(kTwo);
  EXPECT_EQ(files_after_waiting(cache, 2), 2U) << "no run has asked for them";
  expect_thirds(session, 1);
  EXPECT_EQ(files_in(cache), 2U) << "the run asks for others than were foreseen";
}

}  // namespace
}  // namespace gantry
