// SPDX-License-Identifier: Apache-2.0
#include "run/stream_clock.h"

#include <gtest/gtest.h>

#include "support/test_program.h"

namespace gantry {
namespace {

using test::TestProgram;
using test::WorkingProvider;

TEST(StreamClock, NotesEachMarkOnceAndInTheOrderOfTheStream) {
  WorkingProvider::reset();
  const TestProgram program("g (float[2] x) => (float[2] y) { y = Neg(x) }", {"MEM:0"});
  const MemorySpace& space = program.devices().space(1);
  gantry_stream* stream = nullptr;
  ASSERT_EQ(space.api->stream_create(space.device, &stream), nullptr);
  Trace trace;
  const uint32_t track = trace.add_track({"MEM:0", "stream"});
  constexpr int kMarks = 50;
  {
    StreamClock clock(space, stream, trace, track);
    for (int i = 0; i < kMarks; ++i) {
      clock.mark(&program.steps()[0], Trace::now(), static_cast<uint32_t>(i));
      if (i % 7 == 0) clock.drain();
    }
    clock.drain();
  }
  int64_t next = 0;
  uint64_t last_end = 0;
  trace.read([&](uint32_t, const TraceRecord& record) {
    ASSERT_EQ(record.kind, TraceKind::kDevice);
    EXPECT_EQ(record.track, track);
    EXPECT_EQ(record.numbers()[0], next++);
    EXPECT_GE(record.start_ns + record.duration_ns, last_end);
    last_end = record.start_ns + record.duration_ns;
  });
  EXPECT_EQ(next, kMarks);
  space.api->stream_destroy(stream);
}

}  // namespace
}  // namespace gantry
