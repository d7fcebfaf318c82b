// SPDX-License-Identifier: Apache-2.0
#include "plugin/isolation/constant_store.h"

#include <cstring>
#include <utility>

#include "base/alignment.h"

namespace gantry {
namespace {

constexpr uint64_t kSmall = 4096;  // bytes of a constant that goes in the message

}  // namespace

ConstantStore::Segment::~Segment() {
  const std::shared_ptr<ConstantStore> told = store.lock();
  if (!told) return;
  const MutexLock lock(told->dropped_mutex_);
  told->dropped_.splice(told->dropped_.end(), note);
}

std::shared_ptr<ConstantStore> ConstantStore::create() { return std::make_shared<ConstantStore>(); }

std::vector<uint64_t> ConstantStore::take_dropped() {
  const MutexLock lock(dropped_mutex_);
  std::vector<uint64_t> dropped(dropped_.begin(), dropped_.end());
  dropped_.clear();
  return dropped;
}

std::shared_ptr<ConstantStore::Segment> ConstantStore::make_segment(
    const std::shared_ptr<ConstantStore>& self) {
  auto segment = std::make_shared<Segment>();
  segment->id = next_id_++;
  segment->note.push_back(segment->id);
  segment->store = self;
  return segment;
}

void ConstantStore::forget_gone() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.value.expired(); });
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
}

ConstantStore::Batch::Batch(std::shared_ptr<ConstantStore> store) : store_(std::move(store)) {
  const MutexLock lock(store_->mutex_);
  store_->forget_gone();
  fresh_ = store_->make_segment(store_);
}

DataPlace ConstantStore::Batch::place(const gantry_value& value) {
  const uint64_t bytes = value.view.size_bytes;
  if (bytes <= kSmall) return {};
  if (auto file = MappedFile::find(value.view.data, bytes))
    return place_in(std::move(file), value.view.data);
  {
    const MutexLock lock(store_->mutex_);
    const auto known = store_->entries_.find(&value);
    if (known != store_->entries_.end() && !known->second.value.expired()) {
      used_.emplace(known->second.segment->id, known->second.segment);
      return {known->second.segment->id, known->second.offset};
    }
  }
  const auto [added, is_new] = added_.emplace(&value, size_bytes_);
  if (is_new) size_bytes_ += round_up(bytes, kTensorAlignment);
  return {fresh_->id, added->second};
}

DataPlace ConstantStore::Batch::place_in(std::shared_ptr<const MappedFile> file, const void* data) {
  const auto offset =
      static_cast<uint64_t>(static_cast<const std::byte*>(data) - file->bytes().data());
  const MutexLock lock(store_->mutex_);
  std::weak_ptr<const Segment>& known = store_->files_[file.get()];
  std::shared_ptr<const Segment> segment = known.lock();
  if (!segment) {
    const auto made = store_->make_segment(store_);
    made->mapped = std::move(file);
    segment = made;
    known = segment;
  }
  used_.emplace(segment->id, segment);
  return {segment->id, offset};
}

ConstantStore::Segments ConstantStore::Batch::finish() {
  if (!added_.empty()) {
    fresh_->memory = SharedMemory::create(size_bytes_);
    for (const auto& [value, offset] : added_)
      std::memcpy(fresh_->memory->data() + offset, value->view.data, value->view.size_bytes);
    fresh_->memory->seal_content();
    used_.emplace(fresh_->id, fresh_);
    const MutexLock lock(store_->mutex_);
    for (const auto& [value, offset] : added_) {
      if (!value->weak_from_this().expired())
        store_->entries_[value] = {value->weak_from_this(), fresh_, offset};
    }
  }
  Segments segments;
  for (const auto& [id, segment] : used_) segments.push_back(segment);
  return segments;
}

}  // namespace gantry
