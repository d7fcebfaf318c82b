// SPDX-License-Identifier: Apache-2.0
#include "libraries/cudnn_api.h"

#include <utility>

namespace gantry::cuda {

DnnDescriptor::DnnDescriptor(const DnnFunctions& functions, DnnKind kind)
    : functions_(&functions), status_(functions.descriptor_create(kind, &handle_)) {
  if (status_ != 0) handle_ = nullptr;
}

DnnDescriptor::~DnnDescriptor() {
  if (handle_) functions_->descriptor_destroy(handle_);
}

DnnDescriptor::DnnDescriptor(DnnDescriptor&& other) noexcept
    : functions_(other.functions_),
      handle_(std::exchange(other.handle_, nullptr)),
      status_(other.status_) {}

void DnnDescriptor::set_all(DnnAttribute attribute, DnnType type, int64_t count,
                            const void* values) {
  if (status_ == 0) status_ = functions_->set(handle_, attribute, type, count, values);
}

void DnnDescriptor::set(DnnAttribute attribute, const DnnDescriptor& other) {
  if (status_ == 0) status_ = other.status_;
  void* const handle = other.handle_;
  set_all(attribute, kDnnDescriptorType, 1, &handle);
}

int DnnDescriptor::finalize() {
  if (status_ == 0) status_ = functions_->finalize(handle_);
  return status_;
}

int64_t DnnDescriptor::get(DnnAttribute attribute, DnnType type, int64_t most, void* out) const {
  int64_t count = 0;
  if (status_ != 0 || functions_->get(handle_, attribute, type, most, &count, out) != 0) return 0;
  return count;
}

}  // namespace gantry::cuda
