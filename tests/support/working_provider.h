// SPDX-License-Identifier: Apache-2.0
// A provider that computes, for tests of programs and runs without a library of a provider: device
// HST:0 works in host memory, MEM:0 and MEM:1 have memory and streams of their own. A stream does
// its work when somebody waits for it and not before, so that a wait that is missing shows.
//
// Kernels, of floats: Add, Mul, Neg, Relu; of any tensor: Identity; the rest is refused.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugin/error.h"
#include "plugin/host.h"
#include "plugin/registry.h"

namespace gantry::test {

/// What kernels of an operator do, or, by its name, that of one node.
struct Behaviour {
  std::vector<uint32_t> input_flags = {};   ///< GANTRY_PORT_*, by slot
  std::vector<uint32_t> output_flags = {};  ///< likewise
  uint64_t overwrites = 0;                  ///< of the first output
  std::string compile_error = {};           ///< not empty: its compile fails with that
  std::string run_error = {};               ///< likewise of each run
  uint64_t scratch_bytes = 0;               ///< asked for in each run
  uint32_t kernel_flags = 0;                ///< GANTRY_KERNEL_*
  std::string form = {};                    ///< not empty: handed out by serialize
  std::vector<gantry_format> formats = {};  ///< of all ports beside the dense one
  std::function<void(const gantry_compile&)> during_compile = {};
  std::function<void(const gantry_call&)> before_run = {};
};

/// Calls of the provider.
struct Counts {
  uint64_t compiles = 0, runs = 0, captures = 0, launches = 0, reorders = 0;
  std::map<uint32_t, uint64_t> copies = {};  ///< by gantry_copy_kind
};

/// What the provider was asked for, and what it shall do. Of the process: reset() before a test.
struct WorkingProvider {
  static inline std::map<std::string, Behaviour> behaviours;  ///< by operator or name of a node
  static inline Counts counts;
  static inline std::vector<std::string> blobs;  ///< given to compile, in the order of calls
  static inline bool offers_captures = false;
  static inline std::vector<std::vector<uint32_t>> sets;  ///< claimed as one, before single nodes

  static void reset() {
    behaviours.clear();
    counts = {};
    blobs.clear();
    offers_captures = false;
    sets.clear();
  }

  /// Adds the provider to a registry.
  static void add_to(ProviderRegistry& registry) {
    registry.add(enter, R"({"manifest_version": 1, "name": "working", "version": "1.0.0",
                            "abi": {"major": 1, "minor": 0}, "devices": ["HST", "MEM"]})");
  }

 private:
  using Work = std::function<void()>;
  struct WorkingDevice {};
  // A trace waits for events on a thread of its own while the run goes on, and finishing one stream
  // may finish another: one lock for all.
  static std::recursive_mutex& streams_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
  }
  struct WorkingStream {
    std::deque<Work> waiting;
    std::vector<Work>* recording = nullptr;
    std::unique_ptr<std::vector<Work>> recorded;
    uint64_t given = 0, done = 0;

    void add(Work work) {
      const std::lock_guard lock(streams_mutex());
      if (recording) {
        recording->push_back(std::move(work));
        return;
      }
      waiting.push_back(std::move(work));
      ++given;
    }
    void finish(uint64_t number) {
      const std::lock_guard lock(streams_mutex());
      while (done < number) {
        waiting.front()();
        waiting.pop_front();
        ++done;
      }
    }
  };
  struct WorkingEvent {
    WorkingStream* stream = nullptr;
    uint64_t number = 0;
  };
  struct WorkingCapture {
    std::vector<Work> work;
  };
  struct WorkingKernel {
    std::string op_type;
    Behaviour behaviour;
  };

  static gantry_error* fail(uint32_t code, const std::string& message) {
    return host_table().error_create(code, to_str(message));
  }
  static const Behaviour& behaviour_of(const gantry_node& node) {
    static const Behaviour plain;
    for (const gantry_str key : {node.name, node.op_type}) {
      const auto found = behaviours.find(std::string(to_view(key)));
      if (found != behaviours.end()) return found->second;
    }
    return plain;
  }
  static bool is_known(std::string_view op_type) {
    static const std::set<std::string_view> known = {"Add", "Mul", "Neg", "Relu", "Identity"};
    return known.contains(op_type);
  }

  static gantry_error* report_devices(gantry_provider*, const gantry_device_sink* sink) {
    const auto report = [&](const char* type, uint32_t id, uint32_t flags) {
      gantry_device_info info = {};
      info.size = sizeof(info);
      info.type = {type, 3};
      info.id = id;
      info.flags = flags;
      sink->device(sink->self, &info);
    };
    report("HST", 0, GANTRY_DEVICE_HOST_MEMORY);
    report("MEM", 0, GANTRY_DEVICE_CAPTURE);
    report("MEM", 1, 0);
    return nullptr;
  }

  static gantry_error* claim(gantry_provider*, const gantry_claim_request* request) {
    for (const std::vector<uint32_t>& set : sets) claim_nodes(*request, set);
    for (uint32_t i = 0; i < request->graph->node_count; ++i) {
      const gantry_node& node = *request->graph->nodes[i];
      if (is_known(to_view(node.op_type))) {
        claim_nodes(*request, {i});
      } else {
        request->sink->refuse(request->sink->self, i, to_str("it is no operator of this test"));
      }
    }
    return nullptr;
  }

  static void claim_nodes(const gantry_claim_request& request, const std::vector<uint32_t>& nodes) {
    const gantry_node& node = *request.graph->nodes[nodes.back()];
    const Behaviour& behaviour = behaviour_of(node);
    std::vector<const gantry_format*> formats;
    for (const gantry_format& format : behaviour.formats) formats.push_back(&format);
    const auto port_of = [&](const std::vector<uint32_t>& flags, size_t i) {
      gantry_port port = {};
      port.size = sizeof(port);
      port.flags = i < flags.size() ? flags[i] : 0;
      port.repeats = GANTRY_NONE;
      port.formats = formats.data();
      port.format_count = static_cast<uint32_t>(formats.size());
      return port;
    };
    std::vector<gantry_port> inputs;
    std::vector<gantry_port> outputs;
    for (uint32_t i = 0; i < node.input_count; ++i)
      inputs.push_back(port_of(behaviour.input_flags, i));
    for (uint32_t i = 0; i < node.output_count; ++i) {
      outputs.push_back(port_of(behaviour.output_flags, i));
      if (i == 0) outputs[0].overwrites = behaviour.overwrites;
    }
    gantry_claim row = {};
    row.size = sizeof(row);
    row.nodes = nodes.data();
    row.node_count = static_cast<uint32_t>(nodes.size());
    row.port_size = sizeof(gantry_port);
    if (nodes.size() == 1) {
      row.inputs = inputs.data();
      row.outputs = outputs.data();
      row.input_count = node.input_count;
      row.output_count = node.output_count;
    }
    row.time_ns = -1;
    row.kernel = to_str("working");
    request.sink->claim(request.sink->self, &row);
  }

  static gantry_error* compile(gantry_provider*, const gantry_compile* args, gantry_kernel* out) {
    const gantry_node& node = *args->graph->nodes[args->nodes[args->node_count - 1]];
    const Behaviour& behaviour = behaviour_of(node);
    static std::mutex mutex;  // claims are compiled on all cores
    const std::lock_guard lock(mutex);
    ++counts.compiles;
    blobs.emplace_back(static_cast<const char*>(args->blob), args->blob_bytes);
    if (behaviour.during_compile) behaviour.during_compile(*args);
    if (!behaviour.compile_error.empty()) return fail(GANTRY_UNSUPPORTED, behaviour.compile_error);
    out->self = new WorkingKernel{std::string(to_view(node.op_type)), behaviour};
    out->flags = behaviour.kernel_flags;
    out->run = run;
    out->destroy = [](void* self) { delete static_cast<WorkingKernel*>(self); };
    out->implementation = to_str("plain loops");
    if (!behaviour.form.empty()) {
      out->serialize = [](void* self, void* target, void (*write)(void*, const void*, uint64_t)) {
        const std::string& form = static_cast<WorkingKernel*>(self)->behaviour.form;
        write(target, form.data(), form.size());
        return static_cast<gantry_error*>(nullptr);
      };
    }
    return nullptr;
  }

  static gantry_error* run(void* self, void*, const gantry_call* call) {
    const WorkingKernel& kernel = *static_cast<WorkingKernel*>(self);
    std::atomic_ref(counts.runs).fetch_add(1);
    if (kernel.behaviour.before_run) {
      if (gantry_error* error = guard([&] { kernel.behaviour.before_run(*call); })) return error;
    }
    if (!kernel.behaviour.run_error.empty())
      return fail(GANTRY_DEVICE_ERROR, kernel.behaviour.run_error);
    if (kernel.behaviour.scratch_bytes > 0) {
      void* memory = nullptr;
      gantry_error* error =
          host_table().scratch(call->run, kernel.behaviour.scratch_bytes, &memory);
      if (error) return error;
      if (!call->stream) std::memset(memory, 0xFF, kernel.behaviour.scratch_bytes);
    }
    const gantry_tensor& first = *call->inputs[0];
    gantry_tensor* output = nullptr;
    if (gantry_error* error =
            host_table().output(call->run, 0, first.dtype, first.rank, first.shape, &output))
      return error;
    std::vector<const void*> inputs;
    for (uint32_t i = 0; i < call->input_count; ++i)
      inputs.push_back(call->inputs[i] ? call->inputs[i]->data : nullptr);
    Work work = [op = kernel.op_type, inputs, to = output->data, bytes = first.size_bytes] {
      compute(op, inputs, to, bytes);
    };
    if (call->stream) {
      stream_of(call->stream).add(std::move(work));
    } else {
      work();
    }
    return nullptr;
  }

  static void compute(const std::string& op, const std::vector<const void*>& inputs, void* to,
                      uint64_t bytes) {
    if (op == "Identity") {
      std::memmove(to, inputs[0], bytes);
      return;
    }
    const auto* x = static_cast<const float*>(inputs[0]);
    const auto* y = inputs.size() > 1 ? static_cast<const float*>(inputs[1]) : nullptr;
    auto* z = static_cast<float*>(to);
    for (uint64_t i = 0; i < bytes / sizeof(float); ++i) {
      if (op == "Add") z[i] = x[i] + y[i];
      if (op == "Mul") z[i] = x[i] * y[i];
      if (op == "Neg") z[i] = -x[i];
      if (op == "Relu") z[i] = std::max(x[i], 0.0F);
    }
  }

  static WorkingStream& stream_of(gantry_stream* stream) {
    return *reinterpret_cast<WorkingStream*>(stream);
  }
  static WorkingEvent& event_of(gantry_event* event) {
    return *reinterpret_cast<WorkingEvent*>(event);
  }

  static gantry_error* copy(gantry_stream* stream, const gantry_copy* copy) {
    ++counts.copies[copy->kind];
    stream_of(stream).add([copy = *copy] {
      for (uint64_t row = 0; row < copy.rows; ++row) {
        std::memcpy(static_cast<std::byte*>(copy.target) + row * copy.target_pitch,
                    static_cast<const std::byte*>(copy.source) + row * copy.source_pitch,
                    copy.row_bytes);
      }
    });
    return nullptr;
  }

  static void add_device_slots(gantry_provider_api& api) {
    api.device_open = [](gantry_provider*, uint32_t, gantry_device** out) -> gantry_error* {
      *out = reinterpret_cast<gantry_device*>(new WorkingDevice);
      return nullptr;
    };
    api.device_close = [](gantry_device* device) {
      delete reinterpret_cast<WorkingDevice*>(device);
    };
    api.memory_allocate = [](gantry_device*, uint64_t bytes, void** out) -> gantry_error* {
      *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
      return *out ? nullptr : fail(GANTRY_OUT_OF_MEMORY, "no memory");
    };
    api.memory_free = [](gantry_device*, void* memory) { std::free(memory); };
    api.stream_create = [](gantry_device*, gantry_stream** out) -> gantry_error* {
      *out = reinterpret_cast<gantry_stream*>(new WorkingStream);
      return nullptr;
    };
    api.stream_destroy = [](gantry_stream* stream) { delete &stream_of(stream); };
    api.stream_synchronize = [](gantry_stream* stream) -> gantry_error* {
      const std::lock_guard lock(streams_mutex());
      stream_of(stream).finish(stream_of(stream).given);
      return nullptr;
    };
    api.copy = copy;
    api.event_create = [](gantry_device*, gantry_event** out) -> gantry_error* {
      *out = reinterpret_cast<gantry_event*>(new WorkingEvent);
      return nullptr;
    };
    api.event_destroy = [](gantry_event* event) { delete &event_of(event); };
    api.event_record = [](gantry_event* event, gantry_stream* stream) -> gantry_error* {
      const std::lock_guard lock(streams_mutex());
      event_of(event) = {&stream_of(stream), stream_of(stream).given};
      return nullptr;
    };
    api.event_synchronize = [](gantry_event* event) -> gantry_error* {
      if (event_of(event).stream) event_of(event).stream->finish(event_of(event).number);
      return nullptr;
    };
    api.event_wait = [](gantry_event* event, gantry_stream* stream) -> gantry_error* {
      stream_of(stream).add([event = event_of(event)] {
        if (event.stream) event.stream->finish(event.number);
      });
      return nullptr;
    };
  }

  static void add_capture_slots(gantry_provider_api& api) {
    api.capture_begin = [](gantry_stream* stream) -> gantry_error* {
      stream_of(stream).recorded = std::make_unique<std::vector<Work>>();
      stream_of(stream).recording = stream_of(stream).recorded.get();
      return nullptr;
    };
    api.capture_end = [](gantry_stream* stream, gantry_capture** out) -> gantry_error* {
      ++counts.captures;
      stream_of(stream).recording = nullptr;
      *out = reinterpret_cast<gantry_capture*>(
          new WorkingCapture{std::move(*stream_of(stream).recorded)});
      return nullptr;
    };
    api.capture_launch = [](gantry_capture* capture, gantry_stream* stream) -> gantry_error* {
      ++counts.launches;
      for (const Work& work : reinterpret_cast<WorkingCapture*>(capture)->work)
        stream_of(stream).add(work);
      return nullptr;
    };
    api.capture_destroy = [](gantry_capture* capture) {
      delete reinterpret_cast<WorkingCapture*>(capture);
    };
  }

  static gantry_error* enter(const gantry_offer*, gantry_accept* accept) {
    static gantry_provider_api api;
    api = {};
    api.size = sizeof(api);
    api.devices = report_devices;
    api.claim = claim;
    api.compile = compile;
    api.destroy = [](gantry_provider*) {};
    add_device_slots(api);
    if (offers_captures) add_capture_slots(api);
    api.reorder = [](gantry_provider*, gantry_run*, gantry_stream*, const gantry_tensor* source,
                     gantry_tensor* target) -> gantry_error* {
      ++counts.reorders;
      std::memcpy(target->data, source->data, source->size_bytes);
      return nullptr;
    };
    accept->layout = GANTRY_ABI_LAYOUT;
    accept->api = &api;
    return nullptr;
  }
};

}  // namespace gantry::test
