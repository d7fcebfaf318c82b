// SPDX-License-Identifier: Apache-2.0
#include "schedule/capture.h"

#include <algorithm>

#include "schedule/execution_context.h"

namespace gantry {

CaptureCache::CaptureCache(ExecutionContext& context, const Program& program)
    : context_(context), program_(program) {}

CapturedPlan& CaptureCache::of(const std::shared_ptr<const MemoryPlan>& plan) {
  auto found = std::find_if(plans_.begin(), plans_.end(),
                            [&](const CapturedPlan& captured) { return captured.plan == plan; });
  if (found == plans_.end()) {
    if (plans_.size() == kMost) {
      destroy(plans_.back());
      plans_.pop_back();
    }
    plans_.push_front({plan, std::vector<std::byte*>(context_.space_count(), nullptr),
                       std::vector<gantry_capture*>(program_.steps().size(), nullptr), 0, false});
    found = plans_.begin();
  }
  plans_.splice(plans_.begin(), plans_, found);
  CapturedPlan& captured = plans_.front();
  for (uint32_t space = 1; space < captured.arenas.size(); ++space) {
    std::byte* const now = context_.arena(space).reserve(0);
    if (captured.arenas[space] == now) continue;
    captured.arenas[space] = now;
    captured.runs = 0;
  }
  if (captured.runs == 0) destroy(captured);
  captured.runs = std::min(captured.runs + 1, 2U);
  return captured;
}

void CaptureCache::clear() noexcept {
  for (CapturedPlan& captured : plans_) destroy(captured);
  plans_.clear();
}

void CaptureCache::destroy(CapturedPlan& captured) const noexcept {
  for (uint32_t step = 0; step < captured.captures.size(); ++step) {
    gantry_capture*& capture = captured.captures[step];
    if (!capture) continue;
    const MemorySpace& space = context_.space(program_.steps()[step].space);
    if (!space.is_hung()) space.api->capture_destroy(capture);
    capture = nullptr;
  }
}

// Launches the stretch that begins with the step being issued, recording it
// first if it is time for that. False: its steps are to be run one by one.
bool Frame::run_stretch(const Step& head) {
  if (has_diverged_) return false;
  gantry_capture*& capture = captures_->captures[step_];
  if (!capture && captures_->may_record()) {
    const TraceSpan span(context_.trace(), "capture", "record", head.label);
    capture = record_stretch(head);
  }
  if (!capture) return false;
  const MemorySpace& space = context_.space(head.space);
  Trace* const trace = context_.trace();
  const uint64_t start_ns = trace ? Trace::now() : 0;
  space.check(space.api->capture_launch(capture, context_.stream(head.space)),
              [&] { return "captured steps from " + head.label; });
  if (trace) [[unlikely]]
    note_replay(head, start_ns);
  const uint32_t end = step_ + head.stretch;
  for (; step_ + 1 < end; ++step_) release_ended(program_.steps()[step_]);
  release_ended(program_.steps()[step_]);
  return true;
}

// Null, and nothing has run, if the stretch is not the same in every run of the
// plan.
gantry_capture* Frame::record_stretch(const Step& head) {
  const MemorySpace& space = context_.space(head.space);
  gantry_stream* const stream = context_.stream(head.space);
  const auto is_fixed = [&](uint32_t slot) {
    return slot == kNoSlot || slots_[slot].is_planned || program_.slots()[slot].constant;
  };
  bool is_static = true;
  for (uint32_t i = step_; i < step_ + head.stretch; ++i) {
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

// Runs the kernels of a stretch while the stream records; true if they asked
// for what the plan has.
bool Frame::run_recording(const Step& head) {
  bool same = true;
  try {
    for (uint32_t i = step_; i < step_ + head.stretch && same; ++i) {
      calls_[i].scratch_next = 0;
      run_kernel(program_.steps()[i], calls_[i]);
      calls_[i].scratch_next = 0;
      same = !has_diverged_ && calls_[i].scratch.empty();
    }
  } catch (...) {  // shows again when the kernels run one by one
    same = false;
  }
  return same;
}

}  // namespace gantry
