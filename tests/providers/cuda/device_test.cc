// SPDX-License-Identifier: Apache-2.0
// The provider's devices over the fake driver: what is reported, memory, copies, streams,
// captures, and what goes wrong.
#include <algorithm>
#include <numeric>
#include <vector>

#include "fake_runtime.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

using test::expect_error;
using test::FakeCounters;
using test::FakeRuntime;

const char* const kModel =
    "g (float[n] x) => (float[n] y) <float[1] two = {2}> { [m] a = Mul(x, two) [s] y = Sub(a, x) }";

// x = 0, 1, ..., of which the model makes itself.
Tensor counting(int64_t count) {
  Tensor tensor(DType::kFloat, {count});
  const auto elements = tensor.elements<float>();
  std::iota(elements.begin(), elements.end(), 0.0F);
  return tensor;
}

void expect_runs(Session& session, int64_t count) {
  const Tensor x = counting(count);
  const std::vector<Tensor> y = session.run({{"x", x}});
  ASSERT_EQ(y.size(), 1U);
  ASSERT_EQ(y[0].shape(), x.shape());
  EXPECT_TRUE(std::ranges::equal(y[0].elements<float>(), x.elements<float>()));
}

std::vector<DeviceInfo> cuda_devices(FakeRuntime& runtime) {
  std::vector<DeviceInfo> found;
  for (const DeviceInfo& row : runtime->devices()) {
    if (row.provider == "cuda") found.push_back(row);
  }
  return found;
}

TEST(CudaDevices, AreReportedInTheOrderOfTheirAddresses) {
  FakeRuntime runtime("devices=2 memory=1048576");
  const std::vector<DeviceInfo> devices = cuda_devices(runtime);
  ASSERT_EQ(devices.size(), 2U);
  // The driver's first has the higher bus number.
  EXPECT_EQ(devices[0].device.to_string(), "CUDA:0");
  EXPECT_EQ(devices[0].name, "Fake GPU 1, compute capability 9.0");
  EXPECT_EQ(devices[0].uid, "0000:1f:00.0/GPU-10111213-1415-1617-1819-1a1b1c1d1e1f");
  EXPECT_EQ(devices[1].name, "Fake GPU 0, compute capability 9.0");
  EXPECT_EQ(devices[1].state, "ready");
  EXPECT_EQ(devices[1].memory_bytes, 1048576U);
  EXPECT_EQ(FakeRuntime::counters().contexts, 0) << "enumeration makes no context";
}

struct Unusable {
  const char* name;
  const char* machine;
  const char* state;
  const char* reason;
};

std::ostream& operator<<(std::ostream& out, const Unusable& one) { return out << one.name; }

class UnusableDevice : public testing::TestWithParam<Unusable> {};

TEST_P(UnusableDevice, SaysWhy) {
  FakeRuntime runtime(GetParam().machine);
  const std::vector<DeviceInfo> devices = cuda_devices(runtime);
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices[0].state, GetParam().state);
  EXPECT_THAT(devices[0].reason, testing::HasSubstr(GetParam().reason));
  expect_error(Code::kUnavailable, {GetParam().reason}, [&] { runtime.session(kModel); });
}

INSTANTIATE_TEST_SUITE_P(
    Machines, UnusableDevice,
    testing::Values(Unusable{"none", "devices=0", "absent", "CUDA_ERROR_NO_DEVICE"},
                    Unusable{"old_driver", "version=11080", "absent",
                             "the driver is for CUDA 11.8, needed is 12.0 or newer"},
                    Unusable{"old_device", "capability=75", "blocked",
                             "its compute capability is 7.5, needed is 8.0"},
                    Unusable{"without_pools", "pools=0", "blocked",
                             "its driver offers no pools of memory"}));

TEST(CudaDevices, WithoutADriverAreAbsent) {
  test::TempFolder folder;
  folder.write("libcuda.so.1", "no library");
  if (dlopen("libcuda.so.1", RTLD_NOW)) GTEST_SKIP() << "this machine has a driver";
  FakeRuntime runtime("", R"({"libraries": [")" + folder.path() + R"("]})");
  const std::vector<DeviceInfo> devices = cuda_devices(runtime);
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].state, "absent");
  EXPECT_THAT(devices[0].reason, testing::HasSubstr("libcuda.so.1 cannot be opened"));
  EXPECT_THAT(devices[0].reason, testing::HasSubstr(folder.path()));
}

TEST(CudaSession, LeavesNothingBehind) {
  const FakeCounters& counters = FakeRuntime::counters();
  {
    FakeRuntime runtime("devices=1");
    Session session = runtime.session(kModel);
    for (const int64_t count : {4, 100, 5000, 4, 1}) expect_runs(session, count);
    EXPECT_GT(counters.launches, 0U);
    EXPECT_EQ(counters.contexts, 1);
  }
  EXPECT_EQ(counters.contexts, 0);
  EXPECT_EQ(counters.streams, 0);
  EXPECT_EQ(counters.events, 0);
  EXPECT_EQ(counters.modules, 0);
  EXPECT_EQ(counters.graphs, 0);
  EXPECT_EQ(counters.pinned_blocks, 0);
  EXPECT_EQ(counters.device_bytes, 0U);
}

TEST(CudaSession, CapturesWhatItRunsAgain) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1");
  Session session = runtime.session(
      "g (float[n] x) => (float[n] y, float[n] z) { y = Neg(x) a = Mul(y, x) z = Mul(a, y) }");
  const uint64_t captures = counters.captures;
  const uint64_t launched = counters.graph_launches;
  std::vector<Tensor> first;
  for (int run = 0; run < 6; ++run) {
    const std::vector<Tensor> results = session.run({{"x", counting(9)}});
    EXPECT_FLOAT_EQ(results[1].elements<float>()[8], 512);
  }
  EXPECT_EQ(counters.captures, captures + 1);
  EXPECT_GE(counters.graph_launches, launched + 3);
}

TEST(CudaSession, CanDoWithoutCapture) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1", R"({"capture": false})");
  Session session = runtime.session(kModel);
  const uint64_t captures = counters.captures;
  for (int run = 0; run < 4; ++run) expect_runs(session, 9);
  EXPECT_EQ(counters.captures, captures);
}

TEST(CudaSession, CopiesWhatIsLargerThanAStagingBlock) {
  FakeRuntime runtime("devices=1 latency_us=0");
  Session session = runtime.session(kModel);
  expect_runs(session, 1500000);
}

TEST(CudaSession, GoesOverTwoDevices) {
  FakeRuntime runtime("devices=2");
  Session session =
      runtime.session(kModel, R"({"placement": {"rules": [{"name": "s", "device": "CUDA:1"}]}})");
  for (const int64_t count : {3, 3, 3, 777}) expect_runs(session, count);
}

// What is written by a kernel that starts late arrives, whatever comes after it.
TEST(CudaSession, CopiesFromOneDeviceToAnother) {
  const FakeCounters& counters = FakeRuntime::counters();
  const auto run = [&](const std::string& machine) {
    FakeRuntime runtime(machine);
    Session session = runtime.session(
        "g (float[n] x) => (float[n] y, float[n] z) <float[1] two = {2}> {"
        "  [m] a = Mul(x, two) [o] b = Neg(x) [s] y = Sub(a, x) [p] c = Neg(b) [q] z = Add(c, y) }",
        R"({"placement": {"rules": [{"name": "s", "device": "CUDA:1"}]}})");
    // There and back.
    EXPECT_EQ(session.placement().copies, 6U);
    for (int i = 0; i < 8; ++i) {
      const std::vector<Tensor> results = session.run({{"x", counting(1000 + i / 4)}});
      for (int64_t k = 0; k < results[0].element_count(); ++k) {
        ASSERT_EQ(results[0].elements<float>()[static_cast<size_t>(k)], static_cast<float>(k));
        ASSERT_EQ(results[1].elements<float>()[static_cast<size_t>(k)], static_cast<float>(2 * k));
      }
    }
  };
  std::vector<std::string> lines;
  set_log_handler([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  uint64_t copies = counters.peer_copies;
  uint64_t shared = counters.shared_pools;
  run("devices=2 latency_us=200");
  EXPECT_EQ(counters.peer_copies, copies + 16);
  EXPECT_EQ(counters.shared_pools, shared + 2) << "once for each direction";
  EXPECT_THAT(lines, testing::IsEmpty());

  // Devices that are no peers, and a pool that is not shared: the driver copies by the host.
  copies = counters.peer_copies;
  shared = counters.shared_pools;
  run("devices=2 peers=0");
  EXPECT_EQ(counters.peer_copies, copies + 16);
  EXPECT_EQ(counters.shared_pools, shared);
  EXPECT_THAT(lines, testing::UnorderedElementsAre(
                         testing::HasSubstr("CUDA:1 cannot reach the memory of CUDA:0 (the driver "
                                            "says that they are no peers)"),
                         testing::HasSubstr("CUDA:0 cannot reach the memory of CUDA:1")));
  lines.clear();
  run("devices=2 fail=cuMemPoolSetAccess:1");
  EXPECT_EQ(counters.shared_pools, shared + 1);
  EXPECT_THAT(lines,
              testing::ElementsAre(testing::AllOf(testing::HasSubstr("cannot reach the memory of"),
                                                  testing::HasSubstr("CUDA_ERROR_INVALID_VALUE"))));
  set_log_handler({});
}

// A cache that stays on the device and is written where it lies, run by run.
TEST(CudaSession, WritesACacheOfTheCallersInPlace) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1");
  Session session = runtime.session(
      "<ir_version: 10, opset_import: [\"\" : 24]> g (float[1, 1, 4, 2] cache, float[1, 1, 1, 2] "
      "x, "
      "int64[1] at) => (float[1, 1, 4, 2] next, float[1, 1, 4, 2] y) "
      "{ next = TensorScatter(cache, x, at) y = Neg(next) }");
  Tensor cache = session.allocate_on("CUDA:0", DType::kFloat, {1, 1, 4, 2});
  Session::copy(Tensor(DType::kFloat, {1, 1, 4, 2}), cache);
  Tensor x(DType::kFloat, {1, 1, 1, 2});
  Tensor at(DType::kInt64, {1});
  Binding binding(session);
  binding.input("cache", cache);
  binding.input("x", x);
  binding.input("at", at);
  binding.output("next", cache);
  for (int64_t step = 0; step < 8; ++step) {
    at.elements<int64_t>()[0] = step % 4;
    x.elements<float>()[0] = x.elements<float>()[1] = static_cast<float>(step + 1);
    const uint64_t copies = counters.copies;
    binding.run();
    EXPECT_EQ(counters.copies - copies, 3U) << "x and at there, y back; nothing of the cache";
    const Tensor y = binding.result("y").tensor();
    EXPECT_FLOAT_EQ(y.elements<float>()[static_cast<size_t>(2 * (step % 4))],
                    -static_cast<float>(step + 1));
  }
  Tensor found(DType::kFloat, {1, 1, 4, 2});
  Session::copy(cache, found);
  EXPECT_TRUE(
      std::ranges::equal(found.elements<float>(), std::vector<float>{5, 5, 6, 6, 7, 7, 8, 8}));
}

// What other libraries get is theirs until the device has done all that it was given.
TEST(CudaSharing, LentMemoryIsGivenBackWhenTheDeviceIsAtRest) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=2");
  Session session = runtime.session(kModel);
  const uint64_t settled = counters.settled;
  {
    const Tensor tensor = session.allocate_on("CUDA:0", DType::kFloat, {4});
    EXPECT_FALSE(tensor.is_on_host());
  }
  EXPECT_EQ(counters.settled, settled) << "it was nobody else's";
  const uint64_t held = counters.device_bytes;
  {
    const Tensor tensor = session.allocate_on("CUDA:0", DType::kFloat, {4});
    EXPECT_EQ(tensor.lend(), (DlpackDevice{2, 1})) << "the driver's number, not ours";
  }
  EXPECT_EQ(counters.settled, settled + 1);
  EXPECT_EQ(counters.device_bytes, held);
  EXPECT_EQ(Tensor(DType::kFloat, {1}).lend(), (DlpackDevice{1, 0}));
}

// Work that another library gives to the stream it is handed is waited for.
TEST(CudaSharing, TakesTensorsOfOtherLibraries) {
  using CopyIn = int (*)(unsigned long long, const void*, size_t, void*);
  FakeRuntime runtime("devices=1 latency_us=20000");
  const auto copy_in = FakeRuntime::driver_function<CopyIn>("cuMemcpyHtoDAsync_v2");
  const auto retain =
      FakeRuntime::driver_function<int (*)(void**, int)>("cuDevicePrimaryCtxRetain");
  const auto set = FakeRuntime::driver_function<int (*)(void*)>("cuCtxSetCurrent");
  Session session = runtime.session(kModel);
  void* context = nullptr;
  ASSERT_EQ(retain(&context, 0), 0);
  ASSERT_EQ(set(context), 0);  // of the other library, as calls of ours leave none behind
  const Tensor x = counting(64);
  Tensor theirs = session.allocate_on("CUDA:0", DType::kFloat, {100});
  Session::copy(Tensor(DType::kFloat, {100}), theirs);
  const auto owner = std::make_shared<int>(0);
  for (const size_t offset_bytes : {0, 64, 4}) {
    void* const data = static_cast<std::byte*>(theirs.data()) + offset_bytes;
    const Tensor taken = session.adopt({2, 0}, [&](uintptr_t stream) {
      EXPECT_EQ(copy_in(reinterpret_cast<uintptr_t>(data), x.data(), x.size_bytes(),
                        reinterpret_cast<void*>(stream)),
                0);
      return ForeignMemory{DType::kFloat, {64}, data, owner};
    });
    const bool is_in_place = offset_bytes % 16 == 0;
    EXPECT_EQ(taken.data() == data, is_in_place);
    EXPECT_EQ(owner.use_count(), is_in_place ? 2 : 1);
    Tensor found(DType::kFloat, {64});
    Session::copy(taken, found);
    EXPECT_TRUE(std::ranges::equal(found.elements<float>(), x.elements<float>()));
    const std::vector<Tensor> y = session.run({{"x", taken}});
    EXPECT_TRUE(std::ranges::equal(y[0].elements<float>(), x.elements<float>()));
  }
  expect_error(Code::kInvalidArgument, {"(CUDA:0 (2, 0))", "(2, 1)", "copy it to the host"}, [&] {
    static_cast<void>(session.adopt({2, 1}, [](uintptr_t) { return ForeignMemory{}; }));
  });
  const Tensor none = session.adopt({2, 0}, [](uintptr_t) {
    return ForeignMemory{DType::kFloat, {0}, nullptr, nullptr};
  });
  EXPECT_EQ(none.element_count(), 0);
  set(nullptr);
}

TEST(CudaFailure, OfACopyBetweenDevicesNamesIt) {
  FakeRuntime runtime("devices=2 fail=cuMemcpyPeerAsync:1");
  Session session =
      runtime.session(kModel, R"({"placement": {"rules": [{"name": "s", "device": "CUDA:1"}]}})");
  expect_error(Code::kDeviceError,
               {"copy of \"a\"", "CUDA:1: copying from another device", "INVALID_VALUE"},
               [&] { expect_runs(session, 9); });
  expect_runs(session, 9);
}

TEST(CudaSession, MayEndAfterTheDriver) {
  const std::string fakes = std::string(GANTRY_FAKE_CUDA_FOLDER) + "_blas";
  void* driver = dlopen((fakes + "/libcuda.so.1").c_str(), RTLD_NOW);
  ASSERT_NE(driver, nullptr) << dlerror();
  {
    FakeRuntime runtime("devices=1", R"({"libraries": [")" + fakes + R"("]})");
    Session session = runtime.session(
        "g (float[n, 3] x) => (float[n, 3] y) <float[3, 3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}> "
        "{ y = MatMul(x, w) }");
    const Tensor x(DType::kFloat, {2, 3});
    ASSERT_EQ(session.run({{"x", x}}).size(), 1U);
    reinterpret_cast<void (*)()>(dlsym(driver, "gantry_fake_end"))();
  }
  // A runtime that is made anew finds the driver as it was.
  FakeRuntime next("devices=1");
  Session session = next.session(kModel);
  expect_runs(session, 4);
}

// What is added to it is one number, which is a bias as well as a matrix that is repeated.
TEST(CudaSession, GivesMatmulsOfOneColumnToTheLibrary) {
  const std::string fakes = std::string(GANTRY_FAKE_CUDA_FOLDER) + "_blas";
  FakeRuntime runtime("devices=1", R"({"libraries": [")" + fakes + R"("]})");
  Session session = runtime.session(
      "g (float[n, 3] x) => (float[n, 1] y) <float[3, 1] w = {1, 2, 3}, float[1] c = {10}> "
      "{ y = Gemm(x, w, c) }");
  void* library = dlopen((fakes + "/libcublasLt.so.13").c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto asked = reinterpret_cast<int (*)()>(dlsym(library, "gantry_fake_matmuls"));
  const int before = asked();
  Tensor x(DType::kFloat, {2, 3});
  std::ranges::copy(std::vector<float>{1, 1, 1, 0, 0, 2}, x.elements<float>().begin());
  const std::vector<Tensor> y = session.run({{"x", x}});
  EXPECT_TRUE(std::ranges::equal(y[0].elements<float>(), std::vector<float>{16, 16}));
  EXPECT_EQ(asked(), before + 1);
}

TEST(CudaSession, MovesAllPartsOfATensorAtOnce) {
  const FakeCounters& counters = FakeRuntime::counters();
  FakeRuntime runtime("devices=1");
  Session session = runtime.session(
      "g (float[2, 9] x) => (float[2, 2] a, float[2, 3] b, float[2, 4] c, float[2, 10] y) "
      "<int64[3] sizes = {2, 3, 4}> "
      "{ a, b, c = Split <axis = 1> (x, sizes) y = Concat <axis = 1> (c, a, a, a) }");
  Tensor x(DType::kFloat, {2, 9});
  std::iota(x.elements<float>().begin(), x.elements<float>().end(), 0.0F);
  const uint64_t before = counters.launches;
  const std::vector<Tensor> results = session.run({{"x", x}});
  EXPECT_EQ(counters.launches - before, 2U) << "one for the split, one for what joins its parts";
  EXPECT_TRUE(
      std::ranges::equal(results[1].elements<float>(), std::vector<float>{2, 3, 4, 11, 12, 13}));
  EXPECT_TRUE(std::ranges::equal(results[3].elements<float>().subspan(10),
                                 std::vector<float>{14, 15, 16, 17, 9, 10, 9, 10, 9, 10}));
}

// A candidate is timed five times, behind three writes of the cache each.
constexpr uint64_t kWritesOfATiming = 5 * 3;

// What is timed reads its weights from memory, unless there is no memory to see to that.
TEST(CudaSession, TimesTheLibrarysAlgorithmsWithAColdCache) {
  const FakeCounters& counters = FakeRuntime::counters();
  const std::string fakes = std::string(GANTRY_FAKE_CUDA_FOLDER) + "_blas";
  const auto count = [&](const std::string& more, uint64_t written) {
    void* driver = dlopen((fakes + "/libcuda.so.1").c_str(), RTLD_NOW);
    ASSERT_NE(driver, nullptr) << dlerror();
    const uint64_t before = counters.caches_written;
    {
      FakeRuntime runtime("devices=1",
                          R"({"cache": "off", "libraries": [")" + fakes + "\"]" + more + "}");
      Session session = runtime.session(
          "g (float[n, 3] x) => (float[n, 2] y) <float[3, 2] w = {1, 0, 0, 1, 0, 0}> "
          "{ y = MatMul(x, w) }");
      for (int run = 0; run < 3; ++run) {
        Tensor x(DType::kFloat, {1, 3});
        std::ranges::copy(std::vector<float>{1, 2, 3}, x.elements<float>().begin());
        const std::vector<Tensor> y = session.run({{"x", x}});
        EXPECT_TRUE(std::ranges::equal(y[0].elements<float>(), std::vector<float>{1, 2}));
      }
    }
    EXPECT_EQ(counters.caches_written - before, written);
    EXPECT_EQ(counters.device_bytes, 0U);
  };
  count("", 2 * kWritesOfATiming);  // two algorithms
  // The library's workspace, for which the host takes 40 MiB, leaves half of it.
  count(R"(, "pool_bytes": )" + std::to_string((40 << 20) + test::kCacheBytes / 2), 0);
}

// Of products whose factor is as long as a prompt, and convolutions of images of any size, some
// variants are timed: by two algorithms, then by the library and the provider's kernel for few
// rows; by the one way of cuDNN that rounds no factor, then by it and as a matmul, whose algorithms
// were timed above.
TEST(CudaSession, TimesAFewVariantsOfAMatmulOrConvolution) {
  const FakeCounters& counters = FakeRuntime::counters();
  const std::string fakes = std::string(GANTRY_FAKE_CUDA_FOLDER) + "_blas";
  FakeRuntime runtime("devices=1 latency_us=0",
                      R"({"cache": "off", "libraries": [")" + fakes + "\"]}");
  const auto timed = [&](const std::string& model, const std::vector<int64_t>& lasting, int runs,
                         int64_t step = 1) {
    Session session = runtime.session(model);
    const uint64_t before = counters.caches_written;
    for (int64_t length = 1; length <= runs; ++length) {
      std::vector<int64_t> shape = lasting;
      shape.push_back(length * step);
      Tensor x(DType::kFloat, shape);
      std::ranges::fill(x.elements<float>(), 1.0F);
      const std::vector<Tensor> y = session.run({{"x", x}});
      for (const float one : y[0].elements<float>()) EXPECT_EQ(one, 3);
    }
    return counters.caches_written - before;
  };
  EXPECT_EQ(timed("g (float[3, n] x) => (float[1, n] y) <float[1, 3] w = {1, 1, 1}> "
                  "{ y = MatMul(w, x) }",
                  {3}, 40),
            32U * 2 * kWritesOfATiming);
  EXPECT_EQ(timed("g (float[4, n] x) => (float[1, n] y) <float[1, 4] w = {1, 1, 1, 0}> "
                  "{ y = MatMul(w, x) }",
                  {4}, 40, 4),
            32U * (2 + 2) * kWritesOfATiming);
  EXPECT_EQ(timed("g (float[1, 3, 1, n] x) => (float[1, 1, 1, n] y) "
                  "<float[1, 3, 1, 1] w = {1, 1, 1}> { y = Conv(x, w) }",
                  {1, 3, 1}, 9),
            (4U * 1 + 9U * 2) * kWritesOfATiming);
}

TEST(CudaMemory, IsLimitedByAnOption) {
  FakeRuntime runtime("devices=1", R"({"pool_bytes": 65536})");
  Session session = runtime.session(kModel);
  expect_runs(session, 100);
  expect_error(Code::kOutOfMemory, {"CUDA:0", "pool_bytes", "65536"},
               [&] { expect_runs(session, 100000); });
  expect_runs(session, 100);
}

TEST(CudaMemory, ThatRunsOutIsAnErrorAfterTrimming) {
  const uint64_t trims = FakeRuntime::counters().trims;
  FakeRuntime runtime("devices=1 memory=65536");
  Session session = runtime.session(kModel);
  expect_error(Code::kOutOfMemory, {"CUDA:0", "the device has no"},
               [&] { expect_runs(session, 100000); });
  EXPECT_GT(FakeRuntime::counters().trims, trims);
  expect_runs(session, 100);
}

TEST(CudaFailure, OfTheDriverNamesTheFunctionAndTheResult) {
  FakeRuntime runtime("devices=1 fail=cuLaunchKernelEx:1");
  Session session = runtime.session(kModel);
  expect_error(Code::kDeviceError, {"CUDA:0: launching a kernel", "CUDA_ERROR_INVALID_VALUE"},
               [&] { expect_runs(session, 9); });
  expect_runs(session, 9);
}

TEST(CudaFailure, WithoutStagingMemoryCopiesGoOn) {
  FakeRuntime runtime("devices=1 fail=cuMemHostAlloc:1");
  Session session = runtime.session(kModel);
  expect_runs(session, 9);
}

TEST(CudaFailure, WithLittleStagingMemoryLargeCopiesGoOn) {
  for (int call = 1; call <= 4; ++call) {
    FakeRuntime runtime("devices=1 latency_us=0 fail=cuMemHostAlloc:" + std::to_string(call));
    Session session = runtime.session(kModel);
    expect_runs(session, 1500000);
  }
}

TEST(CudaFailure, OfAPartOfALargeCopyNamesIt) {
  FakeRuntime runtime("devices=1 latency_us=0 fail=cuMemcpyHtoDAsync_v2:3");
  Session session = runtime.session(kModel);
  expect_error(Code::kDeviceError, {"CUDA:0", "copying to the device", "CUDA_ERROR_INVALID_VALUE"},
               [&] { expect_runs(session, 1500000); });
  expect_runs(session, 1500000);
}

TEST(CudaFailure, OfAKernelLosesTheDevice) {
  const uint64_t next = FakeRuntime::counters().launches + 2;
  FakeRuntime runtime("devices=1 lost=" + std::to_string(next));
  Session session = runtime.session(kModel);
  expect_runs(session, 9);
  expect_error(Code::kDeviceLost, {"CUDA:0", "CUDA_ERROR_ILLEGAL_ADDRESS"},
               [&] { expect_runs(session, 9); });
  EXPECT_EQ(cuda_devices(runtime)[0].state, "blocked");
}

}  // namespace
}  // namespace gantry
