// SPDX-License-Identifier: Apache-2.0
#include "array_memory.h"

#include <gantry/tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include "py_session.h"

namespace gantry::python {
namespace {

namespace nb = nanobind;

// Smaller arrays are copied with a run's message anyway, and would occupy a page each.
constexpr size_t kLeastBytes = size_t{16} << 10;

// The blocks of a session's memory that arrays use. Any thread, since free-threaded builds of
// Python have no GIL.
class Blocks {
 public:
  explicit Blocks(nb::object session)
      : owner_(std::move(session)), session_(nb::cast<const PySession&>(owner_).session()) {}

  void* allocate(size_t size_bytes) noexcept {
    if (size_bytes < kLeastBytes) return std::malloc(std::max<size_t>(size_bytes, 1));
    try {
      Tensor block = session_.allocate_bytes(size_bytes);
      void* data = block.data();
      const std::lock_guard<std::mutex> lock(mutex_);
      blocks_.emplace(data, std::move(block));
      return data;
    } catch (...) {  // an array in other memory works too, but slower
      return std::malloc(size_bytes);
    }
  }

  void release(void* data) noexcept {
    Tensor block;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = blocks_.find(data);
      if (found == blocks_.end()) return std::free(data);
      block = std::move(found->second);
      blocks_.erase(found);
    }
  }

  void* resize(void* data, size_t size_bytes) noexcept {
    const uint64_t before = size_of(data);
    if (before == 0 && size_bytes < kLeastBytes)
      return std::realloc(data, std::max<size_t>(size_bytes, 1));
    // NumPy does not pass the size of a heap block, so heap blocks stay on the heap.
    void* moved = before == 0 ? std::realloc(data, size_bytes) : allocate(size_bytes);
    if (!moved || before == 0) return moved;
    std::memcpy(moved, data, std::min<uint64_t>(before, size_bytes));
    release(data);
    return moved;
  }

 private:
  // Bytes of a session block; 0: a heap block.
  uint64_t size_of(const void* data) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = blocks_.find(data);
    return found == blocks_.end() ? 0 : found->second.size_bytes();
  }

  nb::object owner_;
  const Session& session_;
  std::mutex mutex_;
  std::unordered_map<const void*, Tensor> blocks_;
};

Blocks& blocks_of(void* context) { return *static_cast<Blocks*>(context); }

void* allocate_zeroed(void* context, size_t count, size_t element_bytes) {
  size_t size_bytes = 0;
  if (__builtin_mul_overflow(count, element_bytes, &size_bytes)) return nullptr;
  void* data = blocks_of(context).allocate(size_bytes);
  // A reused block is not zero.
  if (data) std::memset(data, 0, size_bytes);
  return data;
}

struct Handler {
  PyDataMem_Handler handler = {};
  Blocks blocks;
  explicit Handler(nb::object session) : blocks(std::move(session)) {
    std::strncpy(handler.name, "gantry_session", sizeof(handler.name) - 1);
    handler.version = 1;
    handler.allocator.ctx = &blocks;
    handler.allocator.malloc = [](void* context, size_t size_bytes) {
      return blocks_of(context).allocate(size_bytes);
    };
    handler.allocator.calloc = allocate_zeroed;
    handler.allocator.realloc = [](void* context, void* data, size_t size_bytes) {
      return blocks_of(context).resize(data, size_bytes);
    };
    handler.allocator.free = [](void* context, void* data, size_t) {
      if (data) blocks_of(context).release(data);
    };
  }
};

void import_numpy() {
  static const bool is_imported = _import_array() >= 0;
  if (!is_imported) throw nb::python_error();
}

}  // namespace

ArrayMemory::ArrayMemory(nb::object session) {
  import_numpy();
  auto made = std::make_unique<Handler>(std::move(session));
  // NumPy looks for a capsule of this name with a PyDataMem_Handler; each array keeps the capsule
  // that it was made with.
  PyObject* capsule = PyCapsule_New(&made->handler, "mem_handler", [](PyObject* object) {
    delete static_cast<Handler*>(PyCapsule_GetContext(object));
  });
  if (!capsule) throw nb::python_error();
  handler_ = nb::steal(capsule);
  if (PyCapsule_SetContext(capsule, made.get()) != 0) throw nb::python_error();
  static_cast<void>(made.release());
}

void ArrayMemory::enter() {
  PyObject* before = PyDataMem_SetHandler(handler_.ptr());
  if (!before) throw nb::python_error();
  before_.push_back(nb::steal(before));
}

void ArrayMemory::exit() {
  if (before_.empty()) return;
  PyObject* own = PyDataMem_SetHandler(before_.back().ptr());
  before_.pop_back();
  if (!own) throw nb::python_error();
  Py_DECREF(own);
}

}  // namespace gantry::python
