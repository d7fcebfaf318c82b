// SPDX-License-Identifier: Apache-2.0
// A fake libcudnn: descriptors are maps of attributes, and a plan computes the operations of its
// graph one after the other, in double, by the strides of the tensors. It offers two engines, of
// which the first may round operands. With GANTRY_FAKE_CUDNN=alone it has none for graphs of more
// than one operation.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "enqueue.h"
#include "numbers.h"

using namespace gantry::test;  // NOLINT(google-build-using-namespace): all of it is its own

namespace {

constexpr int kWinograd = 5;
enum Status { kOk = 0, kBadParameter = 2000, kNotSupported = 3000 };
enum Kind {
  kEngine = 2,
  kConfig = 3,
  kPlan = 5,
  kConvolution = 10,
  kBackward = 12,
  kPointwise = 13,
  kTensor = 17
};

struct Descriptor {
  int kind;
  bool is_finalized = false;
  std::map<int, std::vector<char>> attributes;
  int way = 0;  // index of an engine or its configuration

  template <class T>
  std::vector<T> all(int attribute) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return {};
    std::vector<T> values(found->second.size() / sizeof(T));
    std::memcpy(values.data(), found->second.data(), values.size() * sizeof(T));
    return values;
  }
  template <class T>
  T one(int attribute, T fallback = {}) const {
    const std::vector<T> values = all<T>(attribute);
    return values.empty() ? fallback : values[0];
  }
  const Descriptor* other(int attribute) const { return one<const Descriptor*>(attribute); }
};

size_t size_of(int type) {
  switch (type) {
    case 2:  // bool
      return 1;
    case 0:   // handle
    case 3:   // int64
    case 5:   // double
    case 6:   // pointer
    case 15:  // descriptor
      return 8;
    default:
      return 4;
  }
}

int64_t count_of(const std::vector<int64_t>& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  return count;
}

// A tensor of the graph; intermediate ones are stored here, dense.
struct Tensor {
  int64_t id = 0;
  Number type = Number::kFloat;
  std::vector<int64_t> extents, strides;
  bool is_virtual = false;
  void* data = nullptr;
  std::shared_ptr<std::vector<double>> kept;

  explicit Tensor(const Descriptor& from)
      : id(from.one<int64_t>(906)),
        extents(from.all<int64_t>(902)),
        strides(from.all<int64_t>(903)),
        is_virtual(from.one<char>(907) != 0) {
    const int data_type = from.one<int>(901);
    type = data_type == 2 ? Number::kHalf : data_type == 9 ? Number::kBfloat : Number::kFloat;
  }
  [[nodiscard]] int64_t offset(const std::vector<int64_t>& at) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < at.size(); ++axis)
      offset += extents[axis] == 1 ? 0 : at[axis] * strides[axis];
    return offset;
  }
  [[nodiscard]] double get(const std::vector<int64_t>& at) const {
    return is_virtual ? (*kept)[static_cast<size_t>(offset(at))] : read(data, type, offset(at));
  }
  void put(const std::vector<int64_t>& at, double value) const {
    if (is_virtual) {
      (*kept)[static_cast<size_t>(offset(at))] = value;
    } else {
      write(data, type, offset(at), value);
    }
  }
};

bool advance(std::vector<int64_t>& at, const std::vector<int64_t>& extents) {
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (++at[axis] < extents[axis]) return true;
    at[axis] = 0;
  }
  return false;
}

struct Work {
  std::vector<const Descriptor*> operations;
  std::map<int64_t, void*> addresses;
  std::map<int64_t, std::shared_ptr<std::vector<double>>> between;

  Tensor tensor(const Descriptor* from) {
    Tensor made(*from);
    if (made.is_virtual) {
      std::shared_ptr<std::vector<double>>& room = between[made.id];
      if (!room) room = std::make_shared<std::vector<double>>(count_of(made.extents));
      made.kept = room;
    } else {
      made.data = addresses.at(made.id);
    }
    return made;
  }

  void run() {
    for (const Descriptor* one : operations) {
      if (one->kind == kConvolution) convolve(*one);
      if (one->kind == kBackward) spread(*one);
      if (one->kind == kPointwise) point(*one);
    }
  }

  void convolve(const Descriptor& operation) {
    const Descriptor& how = *operation.other(702);
    const auto strides = how.all<int64_t>(103);
    const auto dilations = how.all<int64_t>(102);
    const auto before = how.all<int64_t>(105);
    const Tensor x = tensor(operation.other(704));
    const Tensor w = tensor(operation.other(703));
    const Tensor y = tensor(operation.other(705));
    const int64_t group_in = w.extents[1];
    const int64_t group_out = y.extents[1] / (x.extents[1] / group_in);
    std::vector<int64_t> at(y.extents.size());
    const std::vector<int64_t> window(w.extents.begin() + 1, w.extents.end());
    // Made once, not for each product.
    std::vector<int64_t> in(window.size());
    std::vector<int64_t> from(at.size());
    std::vector<int64_t> weight(at.size());
    do {
      double sum = 0;
      do {
        from[0] = at[0];
        from[1] = at[1] / group_out * group_in + in[0];
        weight[0] = at[1];
        weight[1] = in[0];
        bool is_inside = true;
        for (size_t axis = 0; axis + 1 < window.size(); ++axis) {
          const int64_t place =
              at[2 + axis] * strides[axis] - before[axis] + in[1 + axis] * dilations[axis];
          is_inside = is_inside && place >= 0 && place < x.extents[2 + axis];
          from[2 + axis] = place;
          weight[2 + axis] = in[1 + axis];
        }
        if (is_inside) sum += x.get(from) * w.get(weight);
      } while (advance(in, window));
      y.put(at, sum);
    } while (advance(at, y.extents));
  }

  // The gradient of a convolution by its input.
  void spread(const Descriptor& operation) {
    const Descriptor& how = *operation.other(708);
    const auto strides = how.all<int64_t>(103);
    const auto dilations = how.all<int64_t>(102);
    const auto before = how.all<int64_t>(105);
    const Tensor dy = tensor(operation.other(711));
    const Tensor w = tensor(operation.other(709));
    const Tensor dx = tensor(operation.other(710));
    const int64_t made = w.extents[1];  // of a group
    const int64_t group_size = dy.extents[1] / (dx.extents[1] / made);
    std::vector<double> sums(static_cast<size_t>(count_of(dx.extents)));
    std::vector<int64_t> at(dy.extents.size());
    const std::vector<int64_t> window(w.extents.begin() + 1, w.extents.end());
    do {
      std::vector<int64_t> in(window.size());
      do {
        std::vector<int64_t> weight = {at[1], in[0]};
        int64_t number = at[0] * dx.extents[1] + at[1] / group_size * made + in[0];
        bool is_inside = true;
        for (size_t axis = 0; axis + 1 < window.size(); ++axis) {
          const int64_t place =
              at[2 + axis] * strides[axis] - before[axis] + in[1 + axis] * dilations[axis];
          is_inside = is_inside && place >= 0 && place < dx.extents[2 + axis];
          number = number * dx.extents[2 + axis] + place;
          weight.push_back(in[1 + axis]);
        }
        if (is_inside) sums[static_cast<size_t>(number)] += dy.get(at) * w.get(weight);
      } while (advance(in, window));
    } while (advance(at, dy.extents));
    std::vector<int64_t> to(dx.extents.size());
    size_t number = 0;
    do {
      dx.put(to, sums[number++]);
    } while (advance(to, dx.extents));
  }

  void point(const Descriptor& operation) {
    const Descriptor& how = *operation.other(750);
    const bool is_sum = how.one<int>(0) == 0;
    const double most = how.one<double>(4, HUGE_VAL);
    const Tensor x = tensor(operation.other(751));
    const Tensor y = tensor(operation.other(753));
    const Tensor b = is_sum ? tensor(operation.other(752)) : x;
    std::vector<int64_t> at(y.extents.size());
    do {
      const double value = x.get(at);
      y.put(at, is_sum ? value + b.get(at) : value < 0 ? 0 : value > most ? most : value);
    } while (advance(at, y.extents));
  }
};

Descriptor& of(void* descriptor) { return *static_cast<Descriptor*>(descriptor); }

// Whether the extents of a convolution's operation fit its window.
bool fits(const Descriptor& operation) {
  const bool is_back = operation.kind == kBackward;
  const Descriptor& how = *operation.other(is_back ? 708 : 702);
  const auto from = operation.other(is_back ? 710 : 704)->all<int64_t>(902);
  const auto to = operation.other(is_back ? 711 : 705)->all<int64_t>(902);
  const auto window = operation.other(is_back ? 709 : 703)->all<int64_t>(902);
  for (size_t axis = 0; axis + 2 < from.size(); ++axis) {
    const int64_t enable_peer_access = how.all<int64_t>(102)[axis] * (window[2 + axis] - 1) + 1;
    const int64_t room = from[2 + axis] + how.all<int64_t>(105)[axis] +
                         how.all<int64_t>(104)[axis] - enable_peer_access;
    if (room < 0 || room / how.all<int64_t>(103)[axis] + 1 != to[2 + axis]) return false;
  }
  return true;
}
void* streams = nullptr;
int plans_made = 0;

bool takes(const Descriptor& graph) {
  const char* text = std::getenv("GANTRY_FAKE_CUDNN");
  return !text || std::string(text) != "alone" || graph.all<void*>(801).size() == 1;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int gantry_fake_plans() { return plans_made; }

EXPORT size_t cudnnGetVersion() { return 91900; }
EXPORT const char* cudnnGetErrorString(int) { return "CUDNN_STATUS_OF_THE_TESTS"; }
EXPORT int cudnnCreate(void** handle) {
  static int handles;
  *handle = &handles;
  return kOk;
}
EXPORT int cudnnDestroy(void*) { return kOk; }
EXPORT int cudnnSetStream(void*, void* stream) {
  streams = stream;
  return kOk;
}
EXPORT int cudnnBackendCreateDescriptor(int kind, void** descriptor) {
  *descriptor = new Descriptor{kind, false, {}, 0};
  return kOk;
}
EXPORT int cudnnBackendDestroyDescriptor(void* descriptor) {
  delete static_cast<Descriptor*>(descriptor);
  return kOk;
}
EXPORT int cudnnBackendSetAttribute(void* descriptor, int attribute, int type, int64_t count,
                                    const void* values) {
  if (of(descriptor).is_finalized) return kBadParameter;
  const char* bytes = static_cast<const char*>(values);
  of(descriptor).attributes[attribute].assign(bytes, bytes + count * size_of(type));
  if (type != 15) return kOk;
  // Referenced descriptors must be finalised.
  for (const Descriptor* other : of(descriptor).all<const Descriptor*>(attribute)) {
    if (!other || !other->is_finalized) return kBadParameter;
  }
  return kOk;
}
EXPORT int cudnnBackendFinalize(void* descriptor) {
  Descriptor& made = of(descriptor);
  if (made.kind == kTensor && made.all<int64_t>(902).size() != made.all<int64_t>(903).size())
    return kBadParameter;
  if ((made.kind == kConvolution || made.kind == kBackward) && !fits(made)) return kBadParameter;
  if (made.kind == kPlan) ++plans_made;
  made.is_finalized = true;
  return kOk;
}
EXPORT int cudnnBackendGetAttribute(void* descriptor, int attribute, int, int64_t most,
                                    int64_t* count, void* out) {
  Descriptor& from = of(descriptor);
  auto** descriptors = static_cast<Descriptor**>(out);
  switch (attribute) {
    case 202:  // configurations of the heuristics, into existing descriptors
      *count = takes(*from.other(201)) ? (most < 2 ? most : 2) : 0;
      for (int64_t i = 0; i < *count; ++i) {
        descriptors[i]->way = static_cast<int>(i);
        descriptors[i]->is_finalized = true;
        const Descriptor* graph = from.other(201);
        const char* bytes = reinterpret_cast<const char*>(&graph);
        descriptors[i]->attributes[1300].assign(bytes, bytes + sizeof(graph));
      }
      return kOk;
    case 300:  // the engine of a configuration
      descriptors[0]->way = from.way;
      *count = 1;
      return kOk;
    case 1303:  // notes: the first engine rounds, and the second has more notes than were asked for
      *count = from.way == 0 ? 1 : most + 1;
      for (int64_t i = 0; i < std::min(*count, most); ++i)
        static_cast<int*>(out)[i] = from.way == 0 ? 0 : kWinograd;
      return kOk;
    case 402:
      *static_cast<int64_t*>(out) = 1024;
      *count = 1;
      return kOk;
    default:
      return kNotSupported;
  }
}
EXPORT int cudnnBackendExecute(void*, void* plan, void* pack) {
  const Descriptor* config = of(plan).other(401);
  const auto ids = of(pack).all<int64_t>(1000);
  const auto addresses = of(pack).all<void*>(1001);
  auto* const workspace = of(pack).one<void*>(1003);
  if (!config || ids.size() != addresses.size() || !workspace ||
      reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return kBadParameter;
  auto work = std::make_shared<Work>();
  work->operations = config->other(1300)->all<const Descriptor*>(801);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (reinterpret_cast<uintptr_t>(addresses[i]) % 16 != 0) return kBadParameter;
    work->addresses[ids[i]] = addresses[i];
  }
  enqueue(streams, work);
  return kOk;
}
// NOLINTEND(readability-identifier-naming)
