// SPDX-License-Identifier: Apache-2.0
// A provider that keeps every rule of docs/ABI.md but one, chosen by the option "breaks"; without
// it, all. Its devices have memory of their own (the host's, really), and streams that do nothing
// until somebody waits, so that whoever forgets to wait sees old bytes.
#include <gantry/peer_copies.h>
#include <gantry/sdk/blob.h>
#include <gantry/sdk/provider.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "duties_hostile.h"
#include "duties_sets.h"

namespace {

namespace sdk = gantry::sdk;

std::string broken;  // set by the entry, before anything else
bool breaks(const char* rule) { return broken == rule; }

// One lock for all: the device is slow on purpose.
std::recursive_mutex& device_lock() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

using Work = std::vector<std::function<void()>>;

struct Stream {
  std::deque<std::function<void()>> work;
  Work* recorded = nullptr;  // set: takes what is given instead
  uint64_t given = 0;
  uint64_t done = 0;

  void put(std::function<void()> item) {
    const std::lock_guard<std::recursive_mutex> lock(device_lock());
    if (recorded) return recorded->push_back(std::move(item));
    ++given;
    if (breaks("order")) {
      work.push_front(std::move(item));
    } else {
      work.push_back(std::move(item));
    }
  }
  void run_until(uint64_t number) {
    const std::lock_guard<std::recursive_mutex> lock(device_lock());
    while (done < number && !work.empty()) {
      const std::function<void()> item = std::move(work.front());
      work.pop_front();
      ++done;
      item();
    }
  }
};

struct Event {
  Stream* stream = nullptr;
  uint64_t number = 0;
};

Stream& stream_of(gantry_stream* stream) { return *reinterpret_cast<Stream*>(stream); }
Event& event_of(gantry_event* event) { return *reinterpret_cast<Event*>(event); }

class Relu : public sdk::Kernel {
 public:
  explicit Relu(const sdk::NodeView&) {}
  float extra = 0;  // what a blob says is to be added
  void run(sdk::Call& call) const override {
    if (const uint32_t code = call.host()->should_stop(call.run())) {
      throw sdk::Error(breaks("stop") ? GANTRY_INTERNAL : static_cast<gantry_code>(code),
                       "stopped");
    }
    static std::atomic<int> running{0};
    const int others = running++;
    if (breaks("scratch")) use_scratch(call);
    if (breaks("threads")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const float* x = call.data<float>(0);
    const int64_t count = call.shape(0).element_count();
    auto* y = static_cast<float*>(output(call));
    const bool is_wrong = breaks("numerics") || (breaks("threads") && others > 0);
    const float shift = extra + (is_wrong ? 1.0F : 0.0F);
    // With "strides" it reads as it is told, and writes as if nothing had been granted.
    std::vector<int64_t> places;
    if (call.input(0).format) places = duties::places_of(call.input(0));
    const std::function<void()> work = [=] {
      for (int64_t i = 0; i < count; ++i) {
        const float element = x[places.empty() ? i : places[static_cast<size_t>(i)]];
        y[i] = std::max(element, 0.0F) + shift;
        if (breaks("input-written")) const_cast<float*>(x)[i] = y[i];
      }
    };
    if (breaks("late")) {
      work_late(work);
    } else {
      stream_of(call.stream()).put(work);
    }
    --running;
  }

 private:
  // Of a device in host memory, which has no streams: the call is over before its work is, over and
  // over, however few threads the machine runs.
  static void work_late(const std::function<void()>& work) {
    static std::atomic<int> begun = 0;
    const int before = begun;
    std::thread([work] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      work();
      ++begun;
      while (std::chrono::steady_clock::now() < end) work();
    }).detach();
    while (begun == before) std::this_thread::yield();
  }

  // Turns the host's error into one of its own.
  static void use_scratch(sdk::Call& call) {
    void* memory = nullptr;
    gantry_error* error = call.host()->scratch(call.run(), 64, &memory);
    if (!error) return;
    call.host()->error_release(error);
    throw sdk::Error(GANTRY_INTERNAL, "something went wrong");
  }

  static void* output(sdk::Call& call) {
    const sdk::Shape shape = call.shape(0);
    gantry_tensor* tensor = nullptr;
    gantry_error* error = call.host()->output(
        call.run(), 0, GANTRY_FLOAT, static_cast<uint32_t>(shape.rank), shape.data, &tensor);
    if (error && breaks("refused-output")) std::abort();
    if (error && breaks("error-kept")) throw sdk::Error(GANTRY_OUT_OF_MEMORY, "no output");
    sdk::check(call.host(), error);
    return tensor->data;
  }
};

constexpr sdk::KernelRow kRows[] = {
    {"Relu", 6, sdk::kLatest, sdk::dtypes(GANTRY_FLOAT), sdk::make<Relu>},
};

void copy_rows(const gantry_copy& copy) {
  if (breaks("lossy") && copy.row_bytes > 1) {
    std::memcpy(copy.target, copy.source, copy.row_bytes - 1);
    return;
  }
  const uint64_t source_pitch = breaks("pitch") ? copy.row_bytes : copy.source_pitch;
  for (uint64_t row = 0; row < copy.rows; ++row) {
    std::memcpy(static_cast<char*>(copy.target) + row * copy.target_pitch,
                static_cast<const char*>(copy.source) + row * source_pitch, copy.row_bytes);
  }
}

class Duties : public sdk::Provider {
 public:
  explicit Duties(const gantry_offer& offer) : Provider(offer, "duties", {sdk::table(kRows)}) {
    host_of_all = offer.host;
    fill_memory();
    fill_streams();
    fill_captures();
    fill_peers();
    static int made = 0;
    is_second = ++made > 1;
    if (breaks("allocation")) use_host_memory(*offer.host);
    if (breaks("compile-alone")) {
      sound_compile = api_.compile;
      api_.compile = compile_alone;
    }
    if (breaks("other-version")) api_.claim = nullptr;
    if (breaks("equal-size")) {
      sound_claim = api_.claim;
      api_.claim = [](gantry_provider* self, const gantry_claim_request* request) {
        if (request->size == sizeof(*request)) return sound_claim(self, request);
        return host_of_all->error_create(GANTRY_ABI_MISMATCH, sdk::to_str("another size"));
      };
    }
    if (breaks("request")) {
      sound_claim = api_.claim;
      api_.claim = [](gantry_provider* self, const gantry_claim_request* request) {
        const volatile auto* sink = request->sink;  // without a look at the size
        return sink ? sound_claim(self, request) : nullptr;
      };
    }
    if (breaks("repeatable") || breaks("kept") || breaks("hostile") || breaks("silent") ||
        breaks("domain") || breaks("object") || breaks("claim-alone") || breaks("cycle") ||
        breaks("set") || breaks("strides") || broken.rfind("hostile-", 0) == 0) {
      sound_claim = api_.claim;
      api_.claim = broken_claim;
    }
  }

  void devices(const gantry_device_sink& sink) override {
    gantry_device_info info = {};
    info.size = sizeof(info);
    info.state = GANTRY_DEVICE_READY;
    info.type = sdk::to_str("DUTY");
    info.flags = breaks("late") ? GANTRY_DEVICE_HOST_MEMORY : GANTRY_DEVICE_CAPTURE;
    static int times = 0;
    const bool is_other = breaks("restless") && times++ % 2 == 1;
    info.name = sdk::to_str(breaks("nameless") ? "" : is_other ? "another" : "a device that waits");
    sink.device(sink.self, &info);
    info.id = 1;
    if (breaks("reasonless")) info.state = GANTRY_DEVICE_ABSENT;
    sink.device(sink.self, &info);
  }

  // The blob says what the kernel adds, which is nothing.
  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile_keeping(const gantry_compile& args,
                                                             std::string& blob) const override {
    gantry_compile first = args;
    first.node_count = 1;
    std::unique_ptr<sdk::Kernel> kernel = compile(first);
    const std::string label = sdk::NodeView(host(), args.graph, args.graph->nodes[0]).label();
    sdk::Choices choices(args.blob, args.blob_bytes,
                         breaks("blob-of-another") ? std::string() : label);
    const std::string& kept = choices.keep(
        "addend", [&] { return label.find("another") == std::string::npos ? "0" : "7"; });
    auto& relu = static_cast<Relu&>(*kernel);
    if (breaks("set") && args.node_count > 1) relu.extra = 1;
    if (breaks("blob-of-another") && args.blob_bytes > 0) relu.extra = std::stof(kept);
    if (breaks("blob-damaged") && args.blob_bytes > 0)
      relu.extra = static_cast<const char*>(args.blob)[args.blob_bytes - 1] == blob_end() ? 0 : 1;
    if (breaks("blob-refused") && !choices.refusal().empty())
      throw sdk::Error(GANTRY_INTERNAL, "this blob is none");
    blob = choices.blob();
    if (breaks("blob-damaged")) blob += blob_end();
    if (breaks("blob-changes")) blob += std::to_string(++blobs);
    return kernel;
  }

 private:
  static char blob_end() { return '.'; }
  static inline int blobs = 0;
  static inline decltype(gantry_provider_api::claim) sound_claim = nullptr;
  static inline const gantry_host* host_of_all = nullptr;
  static inline decltype(gantry_provider_api::compile) sound_compile = nullptr;
  static inline bool is_second = false;

  // For a call that must not be made by two threads at once: true if it is.
  class Alone {
   public:
    explicit Alone(std::atomic<int>& inside) : inside_(inside), is_alone_(inside_++ == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ~Alone() { --inside_; }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;
    [[nodiscard]] bool holds() const { return is_alone_; }

   private:
    std::atomic<int>& inside_;
    bool is_alone_;
  };

  static gantry_error* compile_alone(gantry_provider* self, const gantry_compile* args,
                                     gantry_kernel* out) {
    static std::atomic<int> inside{0};
    const Alone alone(inside);
    if (alone.holds()) return sound_compile(self, args, out);
    return host_of_all->error_create(GANTRY_INTERNAL, sdk::to_str("compile is busy"));
  }

  // As one that never looks whether there was any.
  static void use_host_memory(const gantry_host& host) {
    void* memory = host.allocate(100, 64);
    std::memset(memory, 1, 100);
    host.release(memory);
  }

  static void refuse_all(const gantry_claim_request* request, const char* reason) {
    for (uint32_t node = 0; node < request->graph->node_count; ++node)
      request->sink->refuse(request->sink->self, node, sdk::to_str(reason));
  }

  // All nodes that it knows as one set, whatever stands between them.
  static void claim_all(const gantry_claim_request* request) {
    const gantry_graph& graph = *request->graph;
    std::vector<uint32_t> nodes;
    for (uint32_t node = 0; node < graph.node_count; ++node) {
      if (sdk::to_view(graph.nodes[node]->op_type) == "Relu") {
        nodes.push_back(node);
      } else {
        request->sink->refuse(request->sink->self, node, sdk::to_str("only Relu is known"));
      }
    }
    gantry_claim row = {};
    row.size = sizeof(row);
    row.nodes = nodes.data();
    row.node_count = static_cast<uint32_t>(nodes.size());
    row.time_ns = -1;
    row.kernel = sdk::to_str("relus");
    if (!nodes.empty()) request->sink->claim(request->sink->self, &row);
  }

  static gantry_error* broken_claim(gantry_provider* self, const gantry_claim_request* request) {
    if (!GANTRY_HAS(request, sink)) return sound_claim(self, request);
    static int questions = 0;
    const gantry_graph& graph = *request->graph;
    if (breaks("repeatable") && ++questions % 3 == 0) {
      refuse_all(request, "not today");
      return nullptr;
    }
    if (breaks("object") && is_second) {
      refuse_all(request, "not any more");
      return nullptr;
    }
    if (breaks("claim-alone")) {
      static std::atomic<int> inside{0};
      const Alone alone(inside);
      if (alone.holds()) return sound_claim(self, request);
      refuse_all(request, "claim is busy");
      return nullptr;
    }
    if (broken.rfind("hostile-", 0) == 0 && duties::is_strange(broken.substr(8), graph))
      std::abort();
    if (breaks("cycle")) claim_all(request);
    if (breaks("set")) duties::claim_pairs(*request);
    if (breaks("strides")) duties::claim_in_order(*request);
    if (breaks("cycle") || breaks("set") || breaks("strides")) return nullptr;
    if (breaks("kept")) (void)host_of_all->allocate(100, 64);
    if (breaks("silent")) return nullptr;
    if (breaks("hostile")) {
      for (uint32_t node = 0; node < graph.node_count; ++node) {
        const volatile uint32_t first = graph.nodes[node]->inputs[0];  // there may be none
        if (graph.values[first]->rank > 64) return nullptr;
      }
    }
    if (breaks("domain")) {
      fakes::claim_relus(*request, "relu");
      return nullptr;
    }
    return sound_claim(self, request);
  }

  static gantry_error* allocate(gantry_device*, uint64_t size_bytes, void** out_memory) {
    constexpr uint64_t kMost = uint64_t{1} << 32;
    if (size_bytes > kMost) {
      return host_of_all->error_create(breaks("limit") ? GANTRY_INTERNAL : GANTRY_OUT_OF_MEMORY,
                                       sdk::to_str("the device has 4 GiB"));
    }
    // A front of one line, so that a block can be off by less than that.
    constexpr uint64_t kLine = 64;
    auto* block = static_cast<char*>(std::aligned_alloc(kLine, (size_bytes / kLine + 3) * kLine));
    *out_memory = block + kLine + (breaks("alignment") ? 4 : 0);
    return nullptr;
  }

  void fill_memory() {
    api_.device_open = [](gantry_provider* self, uint32_t, gantry_device** out) -> gantry_error* {
      static int opened = 0;
      if (breaks("reopen") && ++opened > 1) {
        return host_of_all->error_create(GANTRY_UNAVAILABLE, sdk::to_str("it was opened before"));
      }
      *out = reinterpret_cast<gantry_device*>(self);
      return nullptr;
    };
    api_.device_close = [](gantry_device*) {};
    api_.memory_allocate = allocate;
    api_.memory_free = [](gantry_device*, void* memory) {
      if (memory)
        std::free(reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory) - 64) / 64 * 64));
    };
    api_.copy = [](gantry_stream* stream, const gantry_copy* copy) -> gantry_error* {
      stream_of(stream).put([copy = *copy] { copy_rows(copy); });
      return nullptr;
    };
  }

  // Both devices have the same memory.
  static gantry_error* copy_from_peer(gantry_stream* stream, gantry_stream* source_stream,
                                      void* target, const void* source, uint64_t size_bytes) {
    Stream& other = stream_of(source_stream);
    stream_of(stream).put([&other, until = other.given, target, source, size_bytes] {
      if (!breaks("peers")) other.run_until(until);
      std::memcpy(target, source, size_bytes);
    });
    return nullptr;
  }

  void fill_peers() {
    api_.native_handle = [](gantry_device*, gantry_stream*, gantry_str kind) -> void* {
      static gantry_peer_copies peers = {sizeof(gantry_peer_copies), 0, copy_from_peer};
      return sdk::to_view(kind) == GANTRY_PEER_COPIES ? &peers : nullptr;
    };
  }

  void fill_captures() {
    api_.capture_begin = [](gantry_stream* stream) -> gantry_error* {
      stream_of(stream).recorded = new Work;
      return nullptr;
    };
    api_.capture_end = [](gantry_stream* stream, gantry_capture** out) -> gantry_error* {
      Work* work = std::exchange(stream_of(stream).recorded, nullptr);
      if (breaks("capture-runs")) {
        for (const auto& item : *work) stream_of(stream).put(item);
      }
      *out = reinterpret_cast<gantry_capture*>(work);
      return nullptr;
    };
    api_.capture_launch = [](gantry_capture* capture, gantry_stream* stream) -> gantry_error* {
      auto& work = *reinterpret_cast<Work*>(capture);
      for (const auto& item : work) stream_of(stream).put(item);
      if (breaks("capture-once")) work.clear();
      return nullptr;
    };
    api_.capture_destroy = [](gantry_capture* capture) { delete reinterpret_cast<Work*>(capture); };
  }

  void fill_streams() {
    api_.stream_create = [](gantry_device*, gantry_stream** out) -> gantry_error* {
      *out = reinterpret_cast<gantry_stream*>(new Stream);
      return nullptr;
    };
    api_.stream_destroy = [](gantry_stream* stream) {
      if (breaks("null")) stream_of(stream).given = 0;
      delete reinterpret_cast<Stream*>(stream);
    };
    api_.stream_synchronize = [](gantry_stream* stream) -> gantry_error* {
      stream_of(stream).run_until(UINT64_MAX);
      return nullptr;
    };
    api_.event_create = [](gantry_device*, gantry_event** out) -> gantry_error* {
      *out = reinterpret_cast<gantry_event*>(new Event);
      return nullptr;
    };
    api_.event_destroy = [](gantry_event* event) { delete reinterpret_cast<Event*>(event); };
    api_.event_record = [](gantry_event* event, gantry_stream* stream) -> gantry_error* {
      event_of(event) = {&stream_of(stream), stream_of(stream).given};
      return nullptr;
    };
    api_.event_wait = [](gantry_event* event, gantry_stream* stream) -> gantry_error* {
      if (breaks("wait")) return nullptr;
      stream_of(stream).put([at = event_of(event)] { at.stream->run_until(at.number); });
      return nullptr;
    };
    api_.event_synchronize = [](gantry_event* event) -> gantry_error* {
      if (!breaks("completion")) event_of(event).stream->run_until(event_of(event).number);
      return nullptr;
    };
  }
};

}  // namespace

GANTRY_PROVIDER_NOTE

extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer,
                                                          gantry_accept* accept) {
  const std::string_view options =
      GANTRY_HAS(offer, options) ? sdk::to_view(offer->options) : std::string_view();
  const std::string_view name = "\"breaks\":";
  const size_t at = options.find(name);
  if (at == std::string_view::npos) {
    broken.clear();
  } else {
    const size_t begin = options.find('"', at + name.size()) + 1;
    broken = options.substr(begin, options.find('"', begin) - begin);
  }
  if (breaks("crash")) std::abort();
  if (breaks("hang")) std::this_thread::sleep_for(std::chrono::hours(1));
  if (breaks("sizes") && offer->host->size != sizeof(gantry_host)) {
    return offer->host->error_create(GANTRY_ABI_MISMATCH,
                                     sdk::to_str("another size of gantry_host"));
  }
  if (breaks("later-slot")) {  // one that only a later version has
    const volatile auto* end = reinterpret_cast<const volatile char*>(offer->host + 1);
    if (*end == 1) return nullptr;
  }
  if (breaks("truncated")) {
    const volatile auto last = offer->host->trace_end;
    if (!last) return nullptr;
  }
  if (breaks("again")) {
    static int entered = 0;
    if (++entered > 1)
      return offer->host->error_create(GANTRY_INTERNAL, sdk::to_str("it was made before"));
  }
  if (breaks("trace") && !offer->host->trace_begin)
    return offer->host->error_create(GANTRY_ABI_MISMATCH, sdk::to_str("no trace slots"));
  if (breaks("leak")) (void)offer->host->allocate(100, 64);
  if (breaks("throws")) throw 1;
  gantry_offer own = {};
  if (breaks("layout")) {
    own = *offer;
    own.layout = GANTRY_ABI_LAYOUT;
  }
  gantry_error* error = sdk::enter<Duties>(own.size > 0 ? &own : offer, accept);
  if (breaks("minor")) accept->minor = offer->minor;
  return error;
}
