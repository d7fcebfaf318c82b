// SPDX-License-Identifier: Apache-2.0
#include "custom_ops/run_context.h"

#include <gantry/sdk/mutex.h>

#include <algorithm>
#include <string>
#include <utility>

#include "objects/api_table.h"
#include "objects/host_value.h"
#include "objects/memory.h"
#include "objects/status.h"

namespace gantry::ort {
namespace {

std::string number_of(const char* what, size_t index) {
  return std::string(what) + " " + std::to_string(index);
}

Status* get_input_count(const RunContext* context, size_t* out) {
  *out = context->ports().inputs.size();
  return nullptr;
}
Status* get_output_count(const RunContext* context, size_t* out) {
  *out = context->ports().outputs.size();
  return nullptr;
}
Status* get_input(const RunContext* context, size_t index, const Value** out) {
  return guarded([&] { *out = context->input(index); });
}
Status* get_output(RunContext* context, size_t index, const int64_t* shape, size_t rank,
                   Value** out) {
  return context->keep_errors([&] { *out = context->output(index, shape, rank); });
}
Status* get_gpu_stream(const RunContext*, void** out) {
  *out = nullptr;
  return nullptr;
}
Status* get_sync_stream(const RunContext*, void** out) {
  *out = nullptr;
  return nullptr;
}
// gantry makes outputs when it is told their shapes.
Status* get_preallocated_output(const RunContext*, size_t, Value** out) {
  *out = nullptr;
  return nullptr;
}
Status* get_resource(const RunContext*, int, int, void** out) {
  *out = nullptr;
  return guarded([] {
    throw ApiError(ErrorCode::kNotImplemented, "kernels on the CPU have no resources of a device");
  });
}
Status* get_allocator(const RunContext*, const MemoryInfo*, Allocator** out) {
  *out = &host_allocator();
  return nullptr;
}
Status* get_scratch(RunContext* context, const MemoryInfo*, size_t bytes, void** out) {
  return context->keep_errors([&] { *out = context->scratch(bytes); });
}
Status* get_logger(const RunContext* context, const Logger** out) {
  *out = &context->ports().logger;
  return nullptr;
}
// The first exception of several threads.
class FirstException {
 public:
  /// Keeps the current one, if none was kept before.
  void keep() {
    const sdk::MutexLock lock(mutex_);
    if (!kept_) kept_ = std::current_exception();
  }
  void rethrow() {
    const sdk::MutexLock lock(mutex_);
    if (kept_) std::rethrow_exception(kept_);
  }

 private:
  sdk::Mutex mutex_;
  std::exception_ptr kept_ GANTRY_GUARDED_BY(mutex_);
};

// Bodies of the host must not throw, but a library's may.
Status* parallel_for(RunContext* context, void (*body)(void* arg, size_t index), size_t count,
                     size_t batches, void* arg) {
  return guarded([&] {
    const size_t grain = batches > 0 ? (count + batches - 1) / batches : 1;
    FirstException thrown;
    context->call().parallel_for(static_cast<int64_t>(count), static_cast<int64_t>(grain),
                                 [&](int64_t begin, int64_t end) {
                                   try {
                                     for (int64_t i = begin; i < end; ++i)
                                       body(arg, static_cast<size_t>(i));
                                   } catch (...) {
                                     thrown.keep();
                                   }
                                 });
    thrown.rethrow();
  });
}

}  // namespace

RunContext::RunContext(sdk::Call& call, const KernelPorts& ports)
    : call_(call), ports_(ports), inputs_(ports.inputs.size()), outputs_(ports.outputs.size()) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const int slot = ports.inputs[i];
    if (call.has_input(slot)) inputs_[i] = value_of(call.host(), *call.value(slot));
  }
}

const Value* RunContext::input(size_t index) const {
  if (index >= inputs_.size()) {
    throw ApiError(ErrorCode::kInvalidArgument, number_of("input", index) + " of " + ports_.label +
                                                    ", which has " +
                                                    std::to_string(inputs_.size()));
  }
  return inputs_[index] ? &*inputs_[index] : nullptr;
}

Value* RunContext::output(size_t index, const int64_t* shape, size_t rank) {
  if (index >= outputs_.size()) {
    throw ApiError(ErrorCode::kInvalidArgument, number_of("output", index) + " of " + ports_.label +
                                                    ", which has " +
                                                    std::to_string(outputs_.size()));
  }
  const int slot = ports_.outputs[index];
  if (slot < 0) return nullptr;
  std::unique_ptr<Value>& value = outputs_[index];
  TensorType type{ports_.output_types[index], {shape, shape + rank}};
  if (value) {
    if (value->type.shape == type.shape) return value.get();
    throw ApiError(ErrorCode::kInvalidArgument, number_of("output", index) + " of " + ports_.label +
                                                    " was asked for before, with another shape");
  }
  if (type.dtype == GANTRY_STRING || !call_.wants(slot)) {
    value = Value::make(std::move(type));  // strings are handed over by finish()
    return value.get();
  }
  auto made = std::make_unique<Value>();
  made->type = std::move(type);
  made->data = call_.output(slot, made->type.dtype, {shape, static_cast<int>(rank)}).data;
  value = std::move(made);
  return value.get();
}

void* RunContext::scratch(size_t bytes) {
  return call_.scratch<std::byte>(static_cast<int64_t>(bytes));
}

Status* RunContext::keep_errors(const std::function<void()>& function) noexcept {
  return guarded([&] {
    try {
      function();
    } catch (const sdk::Error&) {
      if (!error_) error_ = std::current_exception();
      throw;
    }
  });
}

void RunContext::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

void RunContext::finish() {
  const gantry_host* host = call_.host();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int slot = ports_.outputs[i];
    if (slot < 0 || !call_.wants(slot)) continue;
    if (!outputs_[i]) {
      throw sdk::Error(GANTRY_INTERNAL,
                       ports_.label + ": its library made no " + number_of("output", i));
    }
    const Value& value = *outputs_[i];
    if (value.type.dtype != GANTRY_STRING) continue;
    gantry_value* made = nullptr;
    gantry_tensor* tensor = nullptr;
    sdk::check(host, host->value_create_tensor(GANTRY_STRING,
                                               static_cast<uint32_t>(value.type.shape.size()),
                                               value.type.shape.data(), &made, &tensor));
    const std::unique_ptr<gantry_value, void (*)(gantry_value*)> owned(made, host->value_release);
    for (size_t k = 0; k < value.texts.size(); ++k)
      sdk::check(host, host->value_set_string(made, k, sdk::to_str(value.texts[k])));
    call_.output_value(slot, made);
  }
}

void add_run_context_functions(ApiTable& table) {
  table.set(Slot::kKernelContextGetInputCount, get_input_count);
  table.set(Slot::kKernelContextGetOutputCount, get_output_count);
  table.set(Slot::kKernelContextGetInput, get_input);
  table.set(Slot::kKernelContextGetOutput, get_output);
  table.set(Slot::kKernelContextGetGpuComputeStream, get_gpu_stream);
  table.set(Slot::kKernelContextGetSyncStream, get_sync_stream);
  table.set(Slot::kKernelContextGetPreallocatedOutput, get_preallocated_output);
  table.set(Slot::kKernelContextGetResource, get_resource);
  table.set(Slot::kKernelContextGetAllocator, get_allocator);
  table.set(Slot::kKernelContextGetScratchBuffer, get_scratch);
  table.set(Slot::kKernelContextGetLogger, get_logger);
  table.set(Slot::kKernelContextParallelFor, parallel_for);
}

}  // namespace gantry::ort
