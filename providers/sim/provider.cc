// SPDX-License-Identifier: Apache-2.0
// The provider: enumerates the devices of the options and implements the slots for memory, streams
// and captures.
#include <gantry/peer_copies.h>
#include <gantry/sdk/blob.h>
#include <gantry/sdk/provider.h>
#include <gantry/sdk/work.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kernels.h"
#include "options.h"
#include "stream.h"

namespace gantry::sim {
namespace {

Device* from(gantry_device* device) { return reinterpret_cast<Device*>(device); }
Stream* from(gantry_stream* stream) { return reinterpret_cast<Stream*>(stream); }
Event* from(gantry_event* event) { return reinterpret_cast<Event*>(event); }
Capture* from(gantry_capture* capture) { return reinterpret_cast<Capture*>(capture); }

// The source or target of a copy, whose address is resolved when the task runs.
struct Side {
  const void* address;
  uint64_t pitch;
  bool is_on_device;

  [[nodiscard]] std::byte* real(const Memory& memory, const gantry_copy& copy,
                                const char* what) const {
    const uint64_t bytes =
        copy.rows == 0 || copy.row_bytes == 0 ? 0 : (copy.rows - 1) * pitch + copy.row_bytes;
    if (is_on_device) return memory.real(address, bytes, what);
    memory.expect_host(address, bytes, what);
    return static_cast<std::byte*>(const_cast<void*>(address));
  }
};

void run_copy(const Memory& memory, const gantry_copy& copy) {
  const Side source{copy.source, copy.source_pitch, copy.kind != GANTRY_COPY_HOST_TO_DEVICE};
  const Side target{copy.target, copy.target_pitch, copy.kind != GANTRY_COPY_DEVICE_TO_HOST};
  const std::byte* from_row = source.real(memory, copy, "copy, source");
  std::byte* to_row = target.real(memory, copy, "copy, target");
  for (uint64_t row = 0; row < copy.rows && copy.row_bytes > 0; ++row) {
    std::memmove(to_row + row * copy.target_pitch, from_row + row * copy.source_pitch,
                 copy.row_bytes);
  }
}

gantry_error* enqueue_copy(gantry_stream* stream, const gantry_copy* copy) {
  Stream& to = *from(stream);
  return sdk::guard(to.device().host, [&] {
    if (copy->kind > GANTRY_COPY_WITHIN_DEVICE) {
      throw sdk::Error(GANTRY_UNSUPPORTED,
                       "copy: the kind " + std::to_string(copy->kind) + " is not known");
    }
    const auto kind = copy->kind == GANTRY_COPY_HOST_TO_DEVICE   ? Journal::Kind::kCopyIn
                      : copy->kind == GANTRY_COPY_DEVICE_TO_HOST ? Journal::Kind::kCopyOut
                                                                 : Journal::Kind::kCopyWithin;
    to.enqueue(Task(
        kind, "", "copy", [copy = *copy](const Memory& memory) { run_copy(memory, copy); }, false));
  });
}

gantry_error* enqueue_peer_copy(gantry_stream* stream, gantry_stream* source_stream, void* target,
                                const void* source, uint64_t size_bytes) {
  Stream& to = *from(stream);
  Stream& of = *from(source_stream);
  return sdk::guard(to.device().host, [&] {
    of.given().record(of);
    of.given().wait(to);
    const Memory* there = &of.device().memory;
    to.enqueue(Task(
        Journal::Kind::kCopyBetween, "", "copy",
        [there, target, source, size_bytes](const Memory& here) {
          const std::byte* bytes = there->real(source, size_bytes, "copy from a device, source");
          std::byte* place = here.real(target, size_bytes, "copy from a device, target");
          if (size_bytes > 0) std::memcpy(place, bytes, size_bytes);
        },
        false));
  });
}

void* native_handle(gantry_device* device, gantry_stream*, gantry_str kind) {
  return sdk::to_view(kind) == "sim.journal" ? &from(device)->journal : nullptr;
}

void* native_handle_or_peers(gantry_device* device, gantry_stream* stream, gantry_str kind) {
  static gantry_peer_copies peers = {sizeof(gantry_peer_copies), 0, enqueue_peer_copy};
  return sdk::to_view(kind) == GANTRY_PEER_COPIES ? &peers : native_handle(device, stream, kind);
}

class SimProvider final : public sdk::Provider {
 public:
  explicit SimProvider(const gantry_offer& offer)
      : Provider(offer, "sim", all_kernels()), options_(offer.options) {
    journal_.is_kept = options_.journal;
    compile_row_ = api_.compile;
    api_.compile = [](gantry_provider* self, const gantry_compile* args, gantry_kernel* out) {
      return of(self).compile(*args, *out);
    };
    fill_device_slots();
    fill_stream_slots();
    fill_event_slots();
    if (options_.capture) fill_capture_slots();
  }

  void devices(const gantry_device_sink& sink) override {
    for (uint32_t id = 0; id < options_.devices; ++id) {
      const bool is_absent = std::count(options_.absent.begin(), options_.absent.end(), id) > 0;
      const std::string uid = "sim-" + std::to_string(id);
      gantry_device_info info = {};
      info.size = sizeof(info);
      info.state = is_absent ? GANTRY_DEVICE_ABSENT : GANTRY_DEVICE_READY;
      info.type = sdk::to_str("SIM");
      info.id = id;
      info.flags = options_.capture ? GANTRY_DEVICE_CAPTURE : 0;
      info.uid = sdk::to_str(uid);
      info.name = sdk::to_str("simulated accelerator");
      if (is_absent) info.reason = sdk::to_str("the option \"absent\" takes it away");
      info.memory_bytes = options_.memory_bytes;
      sink.device(sink.self, &info);
    }
  }

  // Stores the name of the kernel's program, for this device and driver, as the compile blob; a
  // real compiler would store the program itself.
  [[nodiscard]] std::unique_ptr<sdk::Kernel> compile_keeping(const gantry_compile& args,
                                                             std::string& blob) const override {
    std::unique_ptr<sdk::Kernel> kernel = Provider::compile(args);
    const sdk::NodeView node(host(), args.graph, args.graph->nodes[args.nodes[0]]);
    sdk::Choices choices(
        args.blob, args.blob_bytes,
        "driver " + driver() + ", device " + std::to_string(args.device) + ", " + node.label());
    if (!choices.refusal().empty()) {
      const std::string line =
          node.label() +
          ": compiled anew; the compiled-model cache cannot be used: " + choices.refusal();
      host()->log(GANTRY_LOG_INFO, sdk::to_str(line));
    }
    choices.keep("program", [&] { return std::string(node.op_type()) + ".sim"; });
    blob = choices.blob();
    return kernel;
  }

  [[nodiscard]] std::string refuses(const sdk::NodeView& node, uint32_t /*device*/) const override {
    const auto& taken = options_.operators;
    if (taken.empty() || std::find(taken.begin(), taken.end(), node.op_type()) != taken.end())
      return {};
    return "operator " + std::string(node.op_type()) + " is not in the option \"operators\"";
  }

  // A cost model of an accelerator: launch latency, then high throughput.
  [[nodiscard]] double estimated_ns(const sdk::NodeView& node, uint32_t) const override {
    constexpr double kOperationsPerNs = 5000;
    constexpr double kBytesPerNs = 500;
    const sdk::Work work = sdk::work_of(node);
    if (!work.is_known) return -1;
    return 1000.0 * static_cast<double>(options_.latency_us) +
           std::max(work.operations / kOperationsPerNs, work.bytes / kBytesPerNs);
  }

 private:
  // Not an option, since a driver changes without the process being told.
  static std::string driver() {
    const char* version = std::getenv("GANTRY_SIM_DRIVER");
    return version && *version ? version : "1";
  }

  static SimProvider& of(gantry_provider* self) {
    return static_cast<SimProvider&>(*reinterpret_cast<sdk::Provider*>(self));
  }

  // Compiles by the kernel rows, with the faults of the options.
  gantry_error* compile(const gantry_compile& args, gantry_kernel& out) {
    // compile_row_ refuses it; the fragment must not be read.
    if (!GANTRY_HAS(&args, fragment)) return compile_row_(api_.self, &args, &out);
    const sdk::NodeView node(host(), args.graph, args.graph->nodes[args.nodes[0]]);
    gantry_error* error = sdk::guard(host(), [&] {
      const uint64_t number = ++compiled_;
      if (options_.faults.concern(args.device) &&
          options_.faults.compile.hits(number, node.op_type())) {
        node.fail(GANTRY_DEVICE_ERROR, "cannot be compiled (the fault \"compile\")");
      }
    });
    if (!error) error = compile_row_(api_.self, &args, &out);
    const auto& unsafe = options_.no_capture;
    if (!error && std::find(unsafe.begin(), unsafe.end(), node.op_type()) != unsafe.end())
      out.flags |= GANTRY_KERNEL_NO_CAPTURE;
    return error;
  }

  void fill_device_slots() {
    api_.device_open = [](gantry_provider* self, uint32_t index, gantry_device** out) {
      SimProvider& provider = of(self);
      return sdk::guard(provider.host(), [&] {
        auto device = std::make_unique<Device>(provider.host(), index, provider.options_,
                                               provider.journal_, provider.rendezvous_);
        *out = reinterpret_cast<gantry_device*>(device.release());
      });
    };
    api_.device_close = [](gantry_device* device) { delete from(device); };
    api_.memory_allocate = [](gantry_device* device, uint64_t size_bytes, void** out) {
      return sdk::guard(from(device)->host, [&] { *out = from(device)->allocate(size_bytes); });
    };
    api_.memory_free = [](gantry_device* device, void* memory) {
      const gantry_host* host = from(device)->host;
      gantry_error* error = sdk::guard(host, [&] { from(device)->free(memory); });
      if (!error) return;
      host->log(GANTRY_LOG_ERROR, host->error_message(error));  // destroying cannot fail
      host->error_release(error);
    };
    // Without peer_copies the provider lacks the extension for peer copies.
    api_.native_handle = options_.peer_copies ? native_handle_or_peers : native_handle;
  }

  void fill_stream_slots() {
    api_.stream_create = [](gantry_device* device, gantry_stream** out) {
      return sdk::guard(from(device)->host, [&] {
        from(device)->require_alive();
        *out = reinterpret_cast<gantry_stream*>(new Stream(*from(device)));
      });
    };
    api_.stream_destroy = [](gantry_stream* stream) { delete from(stream); };
    api_.stream_synchronize = [](gantry_stream* stream) {
      return sdk::guard(from(stream)->device().host, [&] { from(stream)->synchronize(); });
    };
    api_.copy = enqueue_copy;
  }

  void fill_event_slots() {
    api_.event_create = [](gantry_device* device, gantry_event** out) {
      return sdk::guard(from(device)->host,
                        [&] { *out = reinterpret_cast<gantry_event*>(new Event(*from(device))); });
    };
    api_.event_destroy = [](gantry_event* event) { delete from(event); };
    api_.event_record = [](gantry_event* event, gantry_stream* stream) {
      return sdk::guard(from(event)->device().host, [&] { from(event)->record(*from(stream)); });
    };
    api_.event_wait = [](gantry_event* event, gantry_stream* stream) {
      return sdk::guard(from(event)->device().host, [&] { from(event)->wait(*from(stream)); });
    };
    api_.event_synchronize = [](gantry_event* event) {
      return sdk::guard(from(event)->device().host, [&] { from(event)->synchronize(); });
    };
    api_.event_query = [](gantry_event* event, uint32_t* out_is_complete) {
      return sdk::guard(from(event)->device().host,
                        [&] { *out_is_complete = from(event)->query() ? 1 : 0; });
    };
  }

  void fill_capture_slots() {
    api_.capture_begin = [](gantry_stream* stream) {
      return sdk::guard(from(stream)->device().host, [&] { from(stream)->capture_begin(); });
    };
    api_.capture_end = [](gantry_stream* stream, gantry_capture** out) {
      return sdk::guard(from(stream)->device().host, [&] {
        *out = reinterpret_cast<gantry_capture*>(from(stream)->capture_end().release());
      });
    };
    api_.capture_launch = [](gantry_capture* capture, gantry_stream* stream) {
      return sdk::guard(from(stream)->device().host, [&] { from(stream)->launch(*from(capture)); });
    };
    api_.capture_destroy = [](gantry_capture* capture) {
      if (!capture) return;
      --from(capture)->device->journal.captures_alive;
      delete from(capture);
    };
  }

  Options options_;
  Journal journal_;
  Rendezvous rendezvous_;
  std::atomic<uint64_t> compiled_{0};
  gantry_error* (*compile_row_)(gantry_provider* self, const gantry_compile* args,
                                gantry_kernel* out_kernel) = nullptr;
};

}  // namespace
}  // namespace gantry::sim

GANTRY_DEFINE_PROVIDER(gantry::sim::SimProvider)
