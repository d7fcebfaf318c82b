// SPDX-License-Identifier: Apache-2.0
#include "linear_algebra/blas_buffers.h"

#include <array>
#include <cblas.h>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace gantry::cpu {
namespace {

constexpr int kExtent = 200;  // more than the library multiplies without a buffer

/// Whether the library multiplies rightly. It takes a buffer.
bool is_product_right() {
  static const std::vector<float> ones(kExtent * kExtent, 1.0F);
  std::vector<float> product(kExtent * kExtent);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kExtent, kExtent, kExtent, 1.0F,
              ones.data(), kExtent, ones.data(), kExtent, 0.0F, product.data(), kExtent);
  return product.front() == kExtent && product.back() == kExtent;
}

// From now on there is address space for threads, and not for a buffer: the limit is counted from
// what is taken, which with a sanitizer is terabytes. What asks for one again and again is ended by
// its time.
void limit_process() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  constexpr size_t kLeft = size_t{100} << 20;
  const rlim_t bytes = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + kLeft;
  const rlimit space = {bytes, bytes};
  const rlimit seconds = {5, 5};
  if (setrlimit(RLIMIT_AS, &space) != 0 || setrlimit(RLIMIT_CPU, &seconds) != 0) std::exit(3);
}

void expect_in_child(int (*body)()) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(body()), testing::ExitedWithCode(0), "");
}

TEST(BlasBuffers, APromisedOneIsThereWhateverBecomesOfTheAddressSpace) {
  expect_in_child([] {
    const BlasBuffer buffer;
    limit_process();
    return buffer.is_reserved() && is_product_right() ? 0 : 1;
  });
}

TEST(BlasBuffers, AreRefusedWithoutAddressSpaceAndTakenAgain) {
  expect_in_child([] {
    auto first = std::make_unique<BlasBuffer>();
    auto second = std::make_unique<BlasBuffer>();
    limit_process();
    if (!is_product_right()) return 1;
    if (BlasBuffer().is_reserved()) return 2;
    second.reset();
    const BlasBuffer third;
    return third.is_reserved() && is_product_right() ? 0 : 3;
  });
}

// Whoever is promised one that is there already may find it taken by another who was promised a
// new one.
TEST(BlasBuffers, AreThereForAllToWhomTheyWerePromised) {
  expect_in_child([] {
    constexpr int kCallers = 4;
    std::array<bool, kCallers> is_right = {};
    {
      const std::array<BlasBuffer, kCallers> all;
      limit_process();
    }
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    for (bool& right : is_right) {
      callers.emplace_back([&right] {
        right = true;
        for (int i = 0; i < 50; ++i) {
          const BlasBuffer buffer;
          right = right && buffer.is_reserved() && is_product_right();
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    for (const bool right : is_right) {
      if (!right) return 1;
    }
    return 0;
  });
}

}  // namespace
}  // namespace gantry::cpu
