// SPDX-License-Identifier: Apache-2.0
#include "plugin/host.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "plugin/error.h"
#include "plugin/host_functions.h"
#include "support/expect_error.h"

namespace gantry {
namespace {

const gantry_host& host() { return host_table(); }

void expect_code(gantry_error* error, Code code) {
  EXPECT_EQ(code_of(error), code) << message_of(error);
  release_error(error);
}

TEST(Host, CountsWhatItAllocates) {
  const uint64_t before = provider_bytes();
  for (const uint64_t alignment : {1, 16, 64, 4096}) {
    void* memory = host().allocate(1000, alignment);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0U);
    std::memset(memory, 1, 1000);
    EXPECT_EQ(provider_bytes(), before + 1000);
    host().release(memory);
    EXPECT_EQ(provider_bytes(), before);
  }
  host().release(nullptr);
}

TEST(Host, RefusesAbsurdAllocations) {
  EXPECT_EQ(host().allocate(10, 3), nullptr);
  EXPECT_EQ(host().allocate(10, 0), nullptr);
  EXPECT_EQ(host().allocate(UINT64_MAX, 64), nullptr);
  EXPECT_EQ(host().allocate(10, uint64_t{1} << 40), nullptr);
}

TEST(Host, MakesPackedDataOncePerKey) {
  static std::atomic<int> fills;
  fills = 0;
  uint8_t key[32] = {42};
  const auto fill = [](void*, void* target) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::memset(target, 7, 100);
    ++fills;
  };
  const uint64_t before = provider_bytes();
  std::vector<const void*> results(8, nullptr);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (const void*& result : results) {
    threads.emplace_back([&] {
      throw_if(host().packed_acquire(key, 100, fill, nullptr, &result));
      EXPECT_EQ(static_cast<const uint8_t*>(result)[99], 7);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fills, 1);
  EXPECT_EQ(provider_bytes(), before + 100);
  const void* wrong = nullptr;
  expect_code(host().packed_acquire(key, 200, fill, nullptr, &wrong), Code::kInvalidArgument);
  for (const void* result : results) {
    EXPECT_EQ(result, results[0]);
    host().packed_release(result);
  }
  EXPECT_EQ(provider_bytes(), before);
  const void* again = nullptr;
  throw_if(host().packed_acquire(key, 100, fill, nullptr, &again));
  EXPECT_EQ(fills, 2);
  host().packed_release(again);
  host().packed_release(nullptr);
}

TEST(Host, PackedDataAreAlignedAndApart) {
  const auto fill = [](void* size, void* target) {
    std::memset(target, 5, *static_cast<const uint64_t*>(size));
  };
  std::vector<std::pair<const uint8_t*, uint64_t>> blocks;
  // One byte, several that share a mapping, and some that have their own.
  for (const uint64_t mib_32nd : {0, 1, 40, 100, 1, 63, 64, 65, 33}) {
    uint64_t size_bytes = mib_32nd * (1u << 15) + 1;
    uint8_t key[32] = {9, static_cast<uint8_t>(blocks.size())};
    const void* data = nullptr;
    throw_if(host().packed_acquire(key, size_bytes, fill, &size_bytes, &data));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0U);
    blocks.emplace_back(static_cast<const uint8_t*>(data), size_bytes);
  }
  std::sort(blocks.begin(), blocks.end());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto& [data, size_bytes] = blocks[i];
    EXPECT_EQ(data[0], 5);
    EXPECT_EQ(data[size_bytes - 1], 5);
    if (i > 0) {
      EXPECT_GE(data, blocks[i - 1].first + blocks[i - 1].second);
    }
  }
  for (const auto& block : blocks) host().packed_release(block.first);
}

TEST(Host, BuildsTensors) {
  const int64_t shape[] = {2, 3};
  gantry_value* value = nullptr;
  gantry_tensor* tensor = nullptr;
  throw_if(host().value_create_tensor(GANTRY_INT64, 2, shape, &value, &tensor));
  EXPECT_EQ(host().value_kind(value), static_cast<uint32_t>(GANTRY_KIND_TENSOR));
  EXPECT_EQ(host().value_tensor(value), tensor);
  EXPECT_EQ(tensor->size_bytes, 48U);
  EXPECT_EQ(tensor->shape[1], 3);
  EXPECT_EQ(host().value_length(value), 0U);
  gantry_str text = {};
  expect_code(host().value_string(value, 0, &text), Code::kInvalidArgument);
  host().value_release(value);
  const int64_t negative[] = {-1};
  expect_code(host().value_create_tensor(GANTRY_FLOAT, 1, negative, &value, &tensor),
              Code::kInvalidArgument);
  expect_code(host().value_create_tensor(GANTRY_FLOAT, 100000, shape, &value, &tensor),
              Code::kInvalidArgument);
  expect_code(host().value_create_tensor(999, 2, shape, &value, &tensor), Code::kInvalidArgument);
}

TEST(Host, BuildsStrings) {
  const int64_t shape[] = {2};
  gantry_value* value = nullptr;
  throw_if(host().value_create_tensor(GANTRY_STRING, 1, shape, &value, nullptr));
  throw_if(host().value_set_string(value, 1, to_str("two")));
  expect_code(host().value_set_string(value, 2, to_str("three")), Code::kInvalidArgument);
  gantry_str text = {};
  throw_if(host().value_string(value, 1, &text));
  EXPECT_EQ(to_view(text), "two");
  throw_if(host().value_string(value, 0, &text));
  EXPECT_EQ(to_view(text), "");
  expect_code(host().value_string(value, 2, &text), Code::kInvalidArgument);
  host().value_release(value);
}

TEST(Host, BuildsSequencesThatShareTheirItems) {
  gantry_value* item = nullptr;
  gantry_tensor* tensor = nullptr;
  throw_if(host().value_create_tensor(GANTRY_FLOAT, 0, nullptr, &item, &tensor));
  *static_cast<float*>(tensor->data) = 2.5F;
  gantry_value* sequence = nullptr;
  throw_if(host().value_create(GANTRY_KIND_SEQUENCE, GANTRY_FLOAT, &sequence));
  throw_if(host().value_append(sequence, item));
  throw_if(host().value_append(sequence, item));
  host().value_release(item);
  EXPECT_EQ(host().value_length(sequence), 2U);
  EXPECT_EQ(*static_cast<const float*>(host().value_tensor(host().value_at(sequence, 1))->data),
            2.5F);
  EXPECT_EQ(host().value_at(sequence, 2), nullptr);
  EXPECT_EQ(host().value_tensor(sequence), nullptr);
  host().value_release(sequence);
}

// A map from {3, 5} to the rows of a table of that type.
gantry_value* make_map_of_rows(uint32_t dtype, int64_t rows, int64_t width,
                               gantry_tensor** out_values) {
  const int64_t two[] = {2};
  const int64_t shape[] = {rows, width};
  gantry_value* keys = nullptr;
  gantry_value* values = nullptr;
  gantry_value* map = nullptr;
  gantry_tensor* key_tensor = nullptr;
  throw_if(host().value_create_tensor(GANTRY_INT64, 1, two, &keys, &key_tensor));
  static_cast<int64_t*>(key_tensor->data)[0] = 3;
  static_cast<int64_t*>(key_tensor->data)[1] = 5;
  throw_if(host().value_create_tensor(dtype, 2, shape, &values, out_values));
  throw_if(host().value_create(GANTRY_KIND_MAP, dtype, &map));
  throw_if(host().value_append(map, keys));
  throw_if(host().value_append(map, values));
  host().value_release(keys);
  host().value_release(values);
  return map;
}

TEST(Host, TakesAMapOfRowsForManyMaps) {
  gantry_tensor* values = nullptr;
  gantry_value* map = make_map_of_rows(GANTRY_FLOAT, 3, 2, &values);
  for (int i = 0; i < 6; ++i) static_cast<float*>(values->data)[i] = static_cast<float>(i);
  gantry_value* sequence = nullptr;
  throw_if(host().value_create(GANTRY_KIND_SEQUENCE, GANTRY_FLOAT, &sequence));
  throw_if(host().value_append(sequence, map));
  EXPECT_EQ(host().value_length(sequence), 3U);
  throw_if(host().value_append(sequence, map));
  host().value_release(map);
  ASSERT_EQ(host().value_length(sequence), 6U);
  EXPECT_EQ(host().value_at(sequence, 6), nullptr);
  for (uint64_t i = 0; i < 6; ++i) {
    const gantry_value* item = host().value_at(sequence, i);
    ASSERT_EQ(host().value_kind(item), static_cast<uint32_t>(GANTRY_KIND_MAP));
    EXPECT_EQ(host().value_at(sequence, i), item);
    ASSERT_EQ(host().value_length(item), 2U);
    const gantry_tensor& keys = *host().value_tensor(host().value_at(item, 0));
    EXPECT_EQ(static_cast<const int64_t*>(keys.data)[1], 5);
    const gantry_tensor& row = *host().value_tensor(host().value_at(item, 1));
    ASSERT_EQ(row.rank, 1U);
    ASSERT_EQ(row.shape[0], 2);
    EXPECT_EQ(static_cast<const float*>(row.data)[1], static_cast<float>(i % 3 * 2 + 1));
  }
  host().value_release(sequence);
}

TEST(Host, RefusesMapsOfRowsThatDoNotFit) {
  gantry_value* sequence = nullptr;
  throw_if(host().value_create(GANTRY_KIND_SEQUENCE, GANTRY_FLOAT, &sequence));
  for (const auto& [dtype, width] :
       {std::pair{GANTRY_FLOAT, 3}, std::pair{GANTRY_STRING, 2}, std::pair{GANTRY_UINT4, 2}}) {
    gantry_value* map = make_map_of_rows(dtype, 4, width, nullptr);
    expect_code(host().value_append(sequence, map), Code::kInvalidArgument);
    host().value_release(map);
  }
  EXPECT_EQ(host().value_length(sequence), 0U);
  host().value_release(sequence);
}

TEST(Host, LimitsOptionalsAndRefusesOtherKinds) {
  gantry_value* item = nullptr;
  gantry_tensor* tensor = nullptr;
  throw_if(host().value_create_tensor(GANTRY_FLOAT, 0, nullptr, &item, &tensor));
  gantry_value* optional = nullptr;
  throw_if(host().value_create(GANTRY_KIND_OPTIONAL, GANTRY_FLOAT, &optional));
  throw_if(host().value_append(optional, item));
  expect_code(host().value_append(optional, item), Code::kInvalidArgument);
  expect_code(host().value_append(item, item), Code::kInvalidArgument);
  expect_code(host().value_append(optional, nullptr), Code::kInvalidArgument);
  gantry_value* wrong = nullptr;
  expect_code(host().value_create(GANTRY_KIND_TENSOR, GANTRY_FLOAT, &wrong),
              Code::kInvalidArgument);
  expect_code(host().value_create(77, GANTRY_FLOAT, &wrong), Code::kInvalidArgument);
  host().value_release(optional);
  host().value_release(item);
  host().value_release(nullptr);
}

TEST(Host, HasAFunctionInEverySlot) {
  constexpr size_t kFirst = offsetof(gantry_host, error_create);
  static_assert((sizeof(gantry_host) - kFirst) % sizeof(void*) == 0);
  ASSERT_EQ(host().size, sizeof(gantry_host));
  const auto* const bytes = reinterpret_cast<const std::byte*>(&host());
  for (size_t offset = kFirst; offset < sizeof(gantry_host); offset += sizeof(void*)) {
    void* slot = nullptr;
    std::memcpy(&slot, bytes + offset, sizeof(slot));
    EXPECT_NE(slot, nullptr) << "at byte " << offset;
  }
}

}  // namespace
}  // namespace gantry
