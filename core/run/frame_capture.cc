// SPDX-License-Identifier: Apache-2.0
// How a frame records a capturable segment of its steps and launches what was recorded.
#include <algorithm>

#include "run/frame.h"
#include "run/run_resources.h"

namespace gantry {

// Launches the capture of the segment that begins with the step being issued; records it first if
// there is none yet and CapturedPlan::may_record(). False: its steps must be run one by one.
bool Frame::run_segment(const Step& head) {
  if (has_diverged_) return false;
  gantry_capture*& capture = captures_->captures[step_];
  if (!capture && captures_->may_record()) {
    const TraceSpan span(resources_.trace(), "capture", "record", head.label);
    capture = record_segment(head);
  }
  if (!capture) return false;
  const MemorySpace& space = resources_.space(head.space);
  Trace* const trace = resources_.trace();
  const uint64_t start_ns = trace ? Trace::now() : 0;
  space.check(space.api->capture_launch(capture, resources_.stream(head.space)),
              [&] { return "captured steps from " + head.label; });
  if (trace) [[unlikely]]
    note_replay(head, start_ns);
  const uint32_t end = step_ + head.capturable_steps;
  for (; step_ + 1 < end; ++step_) release_ended(program_.steps()[step_]);
  release_ended(program_.steps()[step_]);
  return true;
}

// Records the segment. Null, and nothing has run: the segment is not the same in every run of the
// plan.
gantry_capture* Frame::record_segment(const Step& head) {
  const MemorySpace& space = resources_.space(head.space);
  gantry_stream* const stream = resources_.stream(head.space);
  const auto is_fixed = [&](uint32_t slot) {
    return slot == kNoSlot || slots_[slot].is_planned || program_.slots()[slot].constant;
  };
  bool is_static = true;
  for (uint32_t i = step_; i < step_ + head.capturable_steps; ++i) {
    const Step& step = program_.steps()[i];
    is_static = is_static && std::all_of(step.inputs.begin(), step.inputs.end(), is_fixed);
    for (size_t k = 0; k < step.outputs.size(); ++k)
      is_static = is_static && (!step.wanted[k] || is_fixed(step.outputs[k]));
  }
  gantry_capture* capture = nullptr;
  try {
    if (is_static) {
      space.check(space.api->capture_begin(stream), head.label);
      const bool same = run_recording(head);
      space.check(space.api->capture_end(stream, &capture), head.label);
      if (same) return capture;
    }
  } catch (const Error& error) {
    if (error.code() == Code::kDeviceLost) throw;
  }
  if (capture) space.api->capture_destroy(capture);
  captures_->is_refused = true;
  return nullptr;
}

// Runs the kernels of a segment while the stream records; true if all their requests were those of
// the plan.
bool Frame::run_recording(const Step& head) {
  bool same = true;
  try {
    for (uint32_t i = step_; i < step_ + head.capturable_steps && same; ++i) {
      calls_[i].scratch_next = 0;
      run_kernel(program_.steps()[i], calls_[i]);
      calls_[i].scratch_next = 0;
      same = !has_diverged_ && calls_[i].scratch.empty();
    }
  } catch (...) {  // the error comes again when the kernels run one by one
    same = false;
  }
  return same;
}

}  // namespace gantry
