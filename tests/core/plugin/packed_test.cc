// SPDX-License-Identifier: Apache-2.0
#include "plugin/packed.h"

#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

namespace gantry {
namespace {

class Ledger final : public PackedLedger {
 public:
  std::shared_ptr<const void> find(const PackedKey& key, uint64_t size_bytes) override {
    const auto found = kept.find(key);
    if (found == kept.end() || found->second.size() != size_bytes) return nullptr;
    return {std::shared_ptr<void>(), found->second.data()};
  }
  void note(const PackedBlock& block) override { noted[block.key] = block; }

  std::map<PackedKey, std::string> kept;
  std::map<PackedKey, PackedBlock> noted;
};

PackedKey key_of(uint8_t number) {
  PackedKey key = {};
  key[0] = number;
  key[31] = 77;
  return key;
}

class PackedTest : public testing::Test {
 protected:
  const char* acquire(uint8_t number, uint64_t size_bytes) {
    const auto fill = [](void* arg, void* target) {
      ++*static_cast<int*>(arg);
      *static_cast<char*>(target) = 'f';
    };
    return static_cast<const char*>(
        acquire_packed(key_of(number).data(), size_bytes, fill, &fills_));
  }

  int fills_ = 0;
  Ledger ledger_;
};

TEST_F(PackedTest, WhatTheLedgerHasIsNotMadeAgain) {
  ledger_.kept[key_of(1)] = "packed before";
  const uint64_t before = packed_bytes();
  const PackedScope scope(&ledger_);
  const char* found = acquire(1, 13);
  EXPECT_EQ(found, ledger_.kept[key_of(1)].data());
  EXPECT_EQ(fills_, 0);
  EXPECT_EQ(acquire(1, 13), found) << "shared, as any other";
  EXPECT_EQ(packed_bytes() - before, 13U);
  EXPECT_EQ(ledger_.noted.at(key_of(1)).memory.get(), found);
  release_packed(found);
  release_packed(found);
  EXPECT_EQ(packed_bytes(), before);
}

TEST_F(PackedTest, AFillThatThrowsLeavesTheKeyToTheNext) {
  const uint64_t before = packed_bytes();
  std::thread other;
  const auto fill = [](void* arg, void*) {
    // Another user of the key waits for this one.
    *static_cast<std::thread*>(arg) = std::thread([] {
      const auto good = [](void*, void* target) { *static_cast<char*>(target) = 'g'; };
      const auto* found =
          static_cast<const char*>(acquire_packed(key_of(9).data(), 5, good, nullptr));
      EXPECT_EQ(*found, 'g');
      release_packed(found);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    throw std::runtime_error("no memory");
  };
  EXPECT_THROW(acquire_packed(key_of(9).data(), 5, fill, &other), std::runtime_error);
  other.join();
  EXPECT_EQ(packed_bytes(), before);
}

TEST_F(PackedTest, WhatItLacksIsMadeAndNoted) {
  ledger_.kept[key_of(1)] = "of another size";
  {
    const PackedScope scope(&ledger_);
    const char* made = acquire(1, 100);
    EXPECT_EQ(*made, 'f');
    EXPECT_EQ(fills_, 1);
    release_packed(made);
  }
  // A ledger keeps the data though the last user has released them.
  const PackedBlock& block = ledger_.noted.at(key_of(1));
  EXPECT_EQ(block.size_bytes, 100U);
  EXPECT_EQ(*static_cast<const char*>(block.memory.get()), 'f');
}

TEST_F(PackedTest, WithoutAScopeThereIsNoLedger) {
  ledger_.kept[key_of(1)] = "packed before";
  { const PackedScope scope(&ledger_); }
  release_packed(acquire(1, 13));
  EXPECT_EQ(fills_, 1);
  EXPECT_TRUE(ledger_.noted.empty());
}

}  // namespace
}  // namespace gantry
