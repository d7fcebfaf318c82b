// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/worker_environment.h"

#include <gtest/gtest.h>

namespace gantry {
namespace {

TEST(WorkerEnvironment, HandsOnWhatLibrariesReadAndNothingElse) {
  for (const char* name : {"PATH", "LC_ALL", "LD_LIBRARY_PATH", "OMP_NUM_THREADS", "GANTRY_LOG",
                           "CUDA_VISIBLE_DEVICES", "ASAN_OPTIONS"})
    EXPECT_TRUE(is_for_sandbox(name, {})) << name;
  for (const char* name : {"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "PGPASSWORD", "MY_PATH",
                           "PATHS", "CUDA", "", "SSH_AUTH_SOCK"})
    EXPECT_FALSE(is_for_sandbox(name, {})) << name;
}

TEST(WorkerEnvironment, HandsOnWhatTheConfigurationNames) {
  EXPECT_TRUE(is_for_sandbox("VENDOR_LEVEL", {"OTHER", "VENDOR_*"}));
  EXPECT_FALSE(is_for_sandbox("VENDOR", {"OTHER", "VENDOR_*"}));
}

}  // namespace
}  // namespace gantry
