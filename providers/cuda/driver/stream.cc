// SPDX-License-Identifier: Apache-2.0
#include "driver/stream.h"

#include "driver/copy_in_parts.h"
#include "driver/launch_config.h"

namespace gantry::cuda {
namespace {

// Whether there are no gaps between rows.
bool is_dense(const gantry_copy& copy) {
  return copy.rows == 1 ||
         (copy.source_pitch == copy.row_bytes && copy.target_pitch == copy.row_bytes);
}

}  // namespace

Stream::Stream(Device& device)
    : device_(device), pending_copies_(std::make_shared<PendingCopies>(device.staging())) {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.stream_create(&handle_, kNonBlockingStream), "making a stream");
}

Stream::~Stream() {
  const ContextScope inside(device_, std::nothrow);
  // The driver destroys a stream without waiting for its work, and `pending_copies_` then returns
  // the blocks of unfinished copies to the pool.
  if (pending_copies_->has_until(pending_copies_->last()))
    device_.driver.stream_synchronize(handle_);
  if (given_) device_.driver.event_destroy(given_);
  device_.driver.stream_destroy(handle_);
}

void Stream::copy(const gantry_copy& copy) {
  device_.require_alive();
  const ContextScope inside(device_);
  if (bytes_of(copy) == 0) return;
  switch (copy.kind) {
    case GANTRY_COPY_HOST_TO_DEVICE:
      return copy_in(copy);
    case GANTRY_COPY_DEVICE_TO_HOST:
      return copy_out(copy);
    case GANTRY_COPY_WITHIN_DEVICE:
      return issue(copy);
    default:
      throw sdk::Error(GANTRY_UNSUPPORTED, device_.name() + ": a copy of the kind " +
                                               std::to_string(copy.kind) + " is not known");
  }
}

void Stream::copy_in(const gantry_copy& copy) {
  // The source may be the target of a pending copy, which has to be finished before the host reads
  // it.
  if (pending_copies_->writes(copy.source, span_of(copy, copy.source_pitch))) synchronize();
  const uint64_t bytes = bytes_of(copy);
  if (bytes > Staging::kMostBytes && is_dense(copy) &&
      copy_in_parts(device_, handle(), reinterpret_cast<uintptr_t>(copy.target),
                    static_cast<const std::byte*>(copy.source), bytes))
    return;
  StagingBlock* block = bytes <= Staging::kMostBytes ? device_.staging().take(bytes) : nullptr;
  if (!block) return issue(copy);
  copy_rows(block->data, copy.row_bytes, static_cast<const std::byte*>(copy.source),
            copy.source_pitch, copy);
  gantry_copy staged = copy;
  staged.source = block->data;
  staged.source_pitch = copy.row_bytes;
  try {
    issue(staged);
  } catch (...) {
    device_.staging().give(block);
    throw;
  }
  device_.staging().give_after(block, handle());
}

void Stream::copy_out(const gantry_copy& copy) {
  const uint64_t bytes = bytes_of(copy);
  StagingBlock* block = bytes <= Staging::kMostBytes ? device_.staging().take(bytes) : nullptr;
  if (!block) {
    issue(copy);
    return;
  }
  gantry_copy staged = copy;
  staged.target = block->data;
  staged.target_pitch = copy.row_bytes;
  try {
    issue(staged);
  } catch (...) {
    device_.staging().give(block);
    throw;
  }
  pending_copies_->add(block, copy);
}

void Stream::issue(const gantry_copy& copy) {
  const Driver& driver = device_.driver;
  const auto address = [](const void* memory) { return reinterpret_cast<uintptr_t>(memory); };
  const uint64_t bytes = bytes_of(copy);
  if (is_dense(copy) && copy.kind == GANTRY_COPY_HOST_TO_DEVICE) {
    device_.require(driver.copy_in(address(copy.target), copy.source, bytes, handle()),
                    "copying to the device");
  } else if (is_dense(copy) && copy.kind == GANTRY_COPY_DEVICE_TO_HOST) {
    device_.require(driver.copy_out(copy.target, address(copy.source), bytes, handle()),
                    "copying from the device");
  } else if (is_dense(copy)) {
    device_.require(driver.copy_within(address(copy.target), address(copy.source), bytes, handle()),
                    "copying on the device");
  } else {
    Copy2d rows;
    const bool from_host = copy.kind == GANTRY_COPY_HOST_TO_DEVICE;
    const bool to_host = copy.kind == GANTRY_COPY_DEVICE_TO_HOST;
    rows.source_type = from_host ? kHostMemory : kDeviceMemory;
    rows.source_host = from_host ? copy.source : nullptr;
    rows.source_device = from_host ? 0 : address(copy.source);
    rows.source_pitch = copy.source_pitch;
    rows.target_type = to_host ? kHostMemory : kDeviceMemory;
    rows.target_host = to_host ? copy.target : nullptr;
    rows.target_device = to_host ? 0 : address(copy.target);
    rows.target_pitch = copy.target_pitch;
    rows.width_bytes = copy.row_bytes;
    rows.height = copy.rows;
    device_.require(driver.copy_2d(&rows, handle()), "copying rows");
  }
}

void Stream::copy_from(Stream& source_stream, void* target, const void* source,
                       uint64_t size_bytes) {
  Device& other = source_stream.device_;
  device_.require_alive();
  other.require_alive();
  if (size_bytes == 0) return;
  const Driver& driver = device_.driver;
  {
    const ContextScope inside(other);
    if (!source_stream.given_)
      other.require(driver.event_create(&source_stream.given_, kNoTiming), "making an event");
    other.require(driver.event_record(source_stream.given_, source_stream.handle()),
                  "recording an event");
  }
  const ContextScope inside(device_);
  device_.enable_peer_access(other);
  // Recording the event again later does not affect this wait.
  device_.require(driver.stream_wait(handle(), source_stream.given_, 0),
                  "letting a stream wait for another device");
  device_.require(driver.copy_between(reinterpret_cast<uintptr_t>(target), device_.context(),
                                      reinterpret_cast<uintptr_t>(source), other.context(),
                                      size_bytes, handle()),
                  "copying from another device");
}

void Stream::synchronize() {
  const ContextScope inside(device_);
  const uint64_t number = pending_copies_->last();
  device_.require(device_.driver.stream_synchronize(handle()), "waiting for a stream");
  pending_copies_->finish(number);
  device_.require_alive();
}

void Stream::launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameters) {
  LaunchAttribute early;
  early.id = kProgrammaticStreamSerialization;
  early.value[0] = 1;
  LaunchConfig config;
  config.blocks = blocks;
  config.threads = threads;
  config.stream = handle_;
  config.attributes = &early;
  config.attribute_count = is_behind_kernel_ && device_.uses_dependent_launch() ? 1 : 0;
  void* all[] = {parameters};
  const auto launch = [&] { return device_.driver.launch(&config, function, all, nullptr); };
  int result = launch();
  if (result != kSuccess && config.attribute_count == 1) {
    config.attribute_count = 0;
    const int refusal = result;
    result = launch();
    if (result == kSuccess) device_.disable_dependent_launch(refusal);
  }
  device_.require(result, "launching a kernel");
  has_dependent_launch_ = has_dependent_launch_ || config.attribute_count == 1;
  is_behind_kernel_ = true;
}

}  // namespace gantry::cuda
