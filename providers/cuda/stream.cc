// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <algorithm>
#include <cstring>

#include "launch.h"

namespace gantry::cuda {
namespace {

uint64_t bytes_of(const gantry_copy& copy) { return copy.rows * copy.row_bytes; }

// Bytes from the first to the last, gaps between rows included.
uint64_t span_of(const gantry_copy& copy, uint64_t pitch) {
  return bytes_of(copy) == 0 ? 0 : (copy.rows - 1) * pitch + copy.row_bytes;
}

void copy_rows(std::byte* to, uint64_t to_pitch, const std::byte* from, uint64_t from_pitch,
               const gantry_copy& copy) {
  if (to_pitch == copy.row_bytes && from_pitch == copy.row_bytes) {
    std::memcpy(to, from, bytes_of(copy));
    return;
  }
  for (uint64_t row = 0; row < copy.rows; ++row)
    std::memcpy(to + row * to_pitch, from + row * from_pitch, copy.row_bytes);
}

}  // namespace

Outbox::~Outbox() {
  for (const Item& item : items_) staging_.give(item.block);
}

void Outbox::add(StagingBlock* block, const gantry_copy& copy) {
  const std::lock_guard<std::mutex> lock(mutex_);
  items_.push_back({++last_, block, copy});
}

uint64_t Outbox::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

bool Outbox::has_until(uint64_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !items_.empty() && items_.front().number <= number;
}

bool Outbox::writes(const void* memory, uint64_t size_bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(items_.begin(), items_.end(), [&](const Item& item) {
    const auto target = reinterpret_cast<uintptr_t>(item.copy.target);
    return begin < target + span_of(item.copy, item.copy.target_pitch) &&
           target < begin + size_bytes;
  });
}

void Outbox::finish(uint64_t number) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!items_.empty() && items_.front().number <= number) {
    const Item& item = items_.front();
    copy_rows(static_cast<std::byte*>(item.copy.target), item.copy.target_pitch, item.block->data,
              item.copy.row_bytes, item.copy);
    staging_.give(item.block);
    items_.pop_front();
  }
}

Stream::Stream(Device& device)
    : device_(device), outbox_(std::make_shared<Outbox>(device.staging())) {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.stream_create(&handle_, kNonBlockingStream), "making a stream");
}

Stream::~Stream() {
  const ContextScope inside(device_, std::nothrow);
  // The driver destroys a stream without waiting for its work, and blocks of copies that nobody
  // fetched are given to others when the outbox ends.
  if (outbox_->has_until(outbox_->last())) device_.driver.stream_synchronize(handle_);
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
  // What an earlier copy brings to the host is read here and now.
  if (outbox_->writes(copy.source, span_of(copy, copy.source_pitch))) synchronize();
  const uint64_t bytes = bytes_of(copy);
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
  outbox_->add(block, copy);
}

void Stream::issue(const gantry_copy& copy) {
  const Driver& driver = device_.driver;
  const auto address = [](const void* memory) { return reinterpret_cast<uintptr_t>(memory); };
  const uint64_t bytes = bytes_of(copy);
  const bool is_dense = copy.rows == 1 || (copy.source_pitch == copy.row_bytes &&
                                           copy.target_pitch == copy.row_bytes);
  if (is_dense && copy.kind == GANTRY_COPY_HOST_TO_DEVICE) {
    device_.require(driver.copy_in(address(copy.target), copy.source, bytes, handle()),
                    "copying to the device");
  } else if (is_dense && copy.kind == GANTRY_COPY_DEVICE_TO_HOST) {
    device_.require(driver.copy_out(copy.target, address(copy.source), bytes, handle()),
                    "copying from the device");
  } else if (is_dense) {
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
  device_.reach(other);
  // Of an event that is recorded again the wait means what was recorded before it.
  device_.require(driver.stream_wait(handle(), source_stream.given_, 0),
                  "letting a stream wait for another device");
  device_.require(driver.copy_between(reinterpret_cast<uintptr_t>(target), device_.context(),
                                      reinterpret_cast<uintptr_t>(source), other.context(),
                                      size_bytes, handle()),
                  "copying from another device");
}

void Stream::synchronize() {
  const ContextScope inside(device_);
  const uint64_t number = outbox_->last();
  device_.require(device_.driver.stream_synchronize(handle()), "waiting for a stream");
  outbox_->finish(number);
  device_.require_alive();
}

void Stream::launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameters) {
  LaunchAttribute early;
  early.id = kMayBeginEarly;
  early.value[0] = 1;
  LaunchConfig config;
  config.blocks = blocks;
  config.threads = threads;
  config.stream = handle_;
  config.attributes = &early;
  config.attribute_count = is_behind_kernel_ && device_.begins_early() ? 1 : 0;
  void* all[] = {parameters};
  const auto launch = [&] { return device_.driver.launch(&config, function, all, nullptr); };
  int result = launch();
  if (result != kSuccess && config.attribute_count == 1) {
    config.attribute_count = 0;
    const int refusal = result;
    result = launch();
    if (result == kSuccess) device_.never_begin_early(refusal);
  }
  device_.require(result, "launching a kernel");
  has_early_ = has_early_ || config.attribute_count == 1;
  is_behind_kernel_ = true;
}

void Stream::capture_begin() {
  device_.require_alive();
  const ContextScope inside(device_);
  has_early_ = false;
  device_.require(device_.driver.capture_begin(handle(), kCaptureOfThread), "beginning a capture");
}

GraphExecHandle Stream::capture_end() {
  const ContextScope inside(device_);
  GraphHandle graph = nullptr;
  int result = device_.driver.capture_end(handle(), &graph);
  const char* what = "ending a capture";
  GraphExecHandle executable = nullptr;
  if (result == kSuccess) {
    what = "making a graph from a capture";
    result = device_.driver.graph_instantiate(&executable, graph, 0);
    device_.driver.graph_destroy(graph);
  }
  // Graphs are worth more than kernels that begin early: the next are made without.
  if (result != kSuccess && has_early_) device_.never_begin_early(result);
  device_.require(result, what);
  return executable;
}

Event::Event(Device& device) : device_(device) {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.event_create(&handle_, kNoTiming), "making an event");
}

Event::~Event() {
  const ContextScope inside(device_, std::nothrow);
  device_.driver.event_destroy(handle_);
}

void Event::record(Stream& stream) {
  device_.require_alive();
  const ContextScope inside(device_);
  device_.require(device_.driver.event_record(handle_, stream.handle()), "recording an event");
  outbox_ = stream.outbox();
  number_ = outbox_->last();
}

void Event::wait(Stream& stream) {
  device_.require_alive();
  if (!outbox_) return;
  // What the device has copied is the host's only when somebody has fetched it.
  if (outbox_->has_until(number_)) synchronize();
  const ContextScope inside(device_);
  device_.require(device_.driver.stream_wait(stream.handle(), handle_, 0),
                  "letting a stream wait for an event");
}

void Event::synchronize() {
  if (!outbox_) return;
  const ContextScope inside(device_);
  device_.require(device_.driver.event_synchronize(handle_), "waiting for an event");
  finish();
}

bool Event::query() {
  if (!outbox_) return true;
  const ContextScope inside(device_);
  const int result = device_.driver.event_query(handle_);
  if (result == kNotReady) return false;
  device_.require(result, "asking for an event");
  finish();
  return true;
}

void Event::finish() { outbox_->finish(number_); }

void Capture::launch(Stream& stream) const {
  device.require_alive();
  const ContextScope inside(device);
  device.require(device.driver.graph_launch(graph, stream.handle()), "launching a graph");
}

}  // namespace gantry::cuda
