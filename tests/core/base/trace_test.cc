// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace gantry {
namespace {

struct Copy {
  uint32_t thread;
  TraceRecord record;
  std::string text;
};

std::vector<Copy> all(const Trace& trace) {
  std::vector<Copy> copies;
  trace.read([&](uint32_t thread, const TraceRecord& record) {
    copies.push_back({thread, record, std::string(record.text())});
  });
  return copies;
}

std::string named(const std::string& name, const std::string& detail = "") {
  return name + std::string(1, '\0') + detail;
}

TEST(Trace, KeepsWhatItIsTold) {
  Trace trace;
  const int step = 0;
  trace.add_span("load", "import", "a.onnx", 10, 30);
  const std::vector<int64_t> numbers = {7, -8, 9};
  trace.add(TraceKind::kStep, &step, 3, 40, 45, numbers);
  const std::vector<Copy> records = all(trace);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].text, named("import", "a.onnx"));
  EXPECT_EQ(records[0].record.start_ns, 10U);
  EXPECT_EQ(records[0].record.duration_ns, 20U);
  EXPECT_STREQ(static_cast<const char*>(records[0].record.subject), "load");
  EXPECT_EQ(records[1].record.subject, &step);
  EXPECT_EQ(records[1].record.track, 3U);
  EXPECT_EQ(records[1].text,
            std::string(reinterpret_cast<const char*>(numbers.data()), 3 * sizeof(int64_t)));
}

TEST(Trace, EveryThreadHasItsRecords) {
  Trace trace;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&trace, i] {
      for (int k = 0; k < 10'000; ++k) trace.add_span("test", "span", std::to_string(i), 1, 2);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::pair<uint32_t, std::string>, int> counts;
  for (const Copy& copy : all(trace)) ++counts[{copy.thread, copy.text}];
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [key, count] : counts) EXPECT_EQ(count, 10'000);
  EXPECT_EQ(trace.dropped(), 0U);
}

TEST(Trace, ReadsWhileOthersWrite) {
  Trace trace;
  std::thread writer([&trace] {
    for (int k = 0; k < 20'000; ++k) trace.add_span("test", "span", "", 1, 2);
  });
  size_t seen = 0;
  while (seen < 20'000) {
    const size_t now = all(trace).size();
    EXPECT_GE(now, seen);
    seen = now;
  }
  writer.join();
}

TEST(Trace, TwoTracesOfOneThreadStayApart) {
  Trace first;
  Trace second;
  for (int i = 0; i < 3; ++i) {
    first.add_span("test", "first", "", 1, 2);
    second.add_span("test", "second", "", 1, 2);
  }
  for (const auto& [trace, name] : {std::pair(&first, "first"), std::pair(&second, "second")}) {
    const std::vector<Copy> records = all(*trace);
    ASSERT_EQ(records.size(), 3U);
    for (const Copy& copy : records) EXPECT_EQ(copy.text, named(name));
  }
}

TEST(Trace, SpansOpenedApartAreClosedFromInside) {
  Trace trace;
  trace.close();  // without an open: nothing
  trace.open("outer");
  trace.open(std::string(100, 'n'));
  trace.close();
  trace.close();
  const std::vector<Copy> records = all(trace);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].text, named(std::string(64, 'n')));
  EXPECT_EQ(records[1].text, named("outer"));
  EXPECT_LE(records[1].record.start_ns, records[0].record.start_ns);
  EXPECT_GE(records[1].record.start_ns + records[1].record.duration_ns,
            records[0].record.start_ns + records[0].record.duration_ns);
}

TEST(Trace, TooManyOpenSpansAreLeftOut) {
  Trace trace;
  for (int i = 0; i < 40; ++i) trace.open(std::to_string(i));
  for (int i = 0; i < 40; ++i) trace.close();
  const std::vector<Copy> records = all(trace);
  ASSERT_EQ(records.size(), 32U);
  EXPECT_EQ(records.front().text, named("31"));
  EXPECT_EQ(records.back().text, named("0"));
}

TEST(Trace, WhatDoesNotFitIsCounted) {
  Trace trace(uint64_t{512} << 10);
  const std::string name(1000, 'x');
  for (int i = 0; i < 1000; ++i) trace.add_span("test", name, "", 1, 2);
  const size_t kept = all(trace).size();
  EXPECT_GT(kept, 400U);
  EXPECT_LT(kept, 512U);
  EXPECT_EQ(trace.dropped(), 1000 - kept);
}

TEST(Trace, OfNoBytesKeepsNothing) {
  Trace trace(0);
  EXPECT_FALSE(trace.keeps_records());
  trace.add_span("test", "span", "", 1, 2);
  trace.open("span");
  trace.close();
  { const TraceSpan span(&trace, "test", "span"); }
  EXPECT_TRUE(all(trace).empty());
  EXPECT_EQ(trace.dropped(), 0U);
}

}  // namespace
}  // namespace gantry
