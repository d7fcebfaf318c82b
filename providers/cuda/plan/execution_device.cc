// SPDX-License-Identifier: Apache-2.0
#include "plan/execution_device.h"

#include <string>
#include <vector>

namespace gantry::cuda {
namespace {

// Keeps a library alive for the rest of the process. The object stays reachable, so that leak
// checkers do not report it.
template <class Library>
void leave(std::unique_ptr<Library> library) {
  static sdk::Mutex mutex;
  static auto* const left GANTRY_PT_GUARDED_BY(mutex) = new std::vector<std::unique_ptr<Library>>;
  const sdk::MutexLock lock(mutex);
  left->push_back(std::move(library));
}

}  // namespace

ExecutionDevice::ExecutionDevice(const Services& services, const DeviceInfo& known)
    : Device(services.host, services.driver, services.options, known),
      services_(services),
      programs_(*this, services.queue),
      reorders_(services.programs, programs_),
      autotune_cache_(known.name, services.options.cache) {}

ExecutionDevice::~ExecutionDevice() {
  const ContextScope inside(*this, std::nothrow);
  if (inside.result() == kDeinitialized) {
    // The process ends and the driver has ended before it: a library that frees what it holds on
    // the device would crash.
    leave(std::move(dnn_));
    leave(std::move(blas_));
  }
  dnn_.reset();
  blas_.reset();
  programs_.unload();
}

Blas* ExecutionDevice::blas() {
  if (services_.options.own_kernels) return nullptr;
  std::call_once(blas_once_, [&] {
    blas_ = std::make_unique<Blas>(*this, services_.search, services_.options.cache);
    if (blas_->is_usable()) return;
    const std::string text = name() +
                             ": matmuls go to the provider's own kernels, which are far "
                             "slower: " +
                             blas_->reason();
    host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
  });
  return blas_->is_usable() ? blas_.get() : nullptr;
}

Dnn* ExecutionDevice::dnn() {
  if (services_.options.own_kernels) return nullptr;
  std::call_once(dnn_once_, [&] {
    dnn_ = std::make_unique<Dnn>(*this, services_.search, services_.options.cache);
    if (dnn_->is_usable()) return;
    const std::string text = name() +
                             ": convolutions go to the provider's own kernels, which are far "
                             "slower: " +
                             dnn_->reason();
    host->log(GANTRY_LOG_WARNING, sdk::to_str(text));
  });
  return dnn_->is_usable() ? dnn_.get() : nullptr;
}

void fill_reorder_slot(gantry_provider_api& api) {
  api.reorder = [](gantry_provider*, gantry_run*, gantry_stream* stream,
                   const gantry_tensor* source, gantry_tensor* target) {
    Stream& enqueued = *reinterpret_cast<Stream*>(stream);
    return sdk::guard(enqueued.device().host, [&] {
      ExecutionDevice::of(enqueued).reorders().run(enqueued, *source, *target);
    });
  };
}

}  // namespace gantry::cuda
