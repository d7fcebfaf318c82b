// SPDX-License-Identifier: Apache-2.0
// A provider that claims every Relu and ends its process, stands still, waits for a file, closes
// descriptors or lowers limits where it is told to: by the option "mode" ("claim_exits") of the
// process in start, devices and close, of the session in claim, compile, run (if the first element
// of the input is -12) and release; in the kernel by that element too. Option "gate": the file. In
// mode "indices_change" it goes on writing to its output of int64. Against the C header alone.
#include <gantry/provider.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "look_around.h"
#include "relu_claims.h"

GANTRY_PROVIDER_NOTE

namespace {

const gantry_host* host = nullptr;
gantry_provider_api table = {};

bool has(gantry_str options, const char* mode) {
  return std::string_view(options.data, options.length).find(mode) != std::string_view::npos;
}

[[noreturn]] void stand_still() {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

void lower_limits() {
  const rlimit none = {0, 0};
  for (const auto limit : {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_MEMLOCK}) setrlimit(limit, &none);
}

/// The value of a string option, which has no escapes; empty: none.
std::string option(gantry_str options, const std::string& name) {
  const std::string_view text(options.data, options.length);
  const std::string key = "\"" + name + "\":\"";
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + key.size();
  return std::string(text.substr(begin, text.find('"', begin) - begin));
}

// Returns when the gate is open. Ends the process if that takes long, so that every test ends.
void wait_at(const std::string& gate) {
  constexpr int kPatienceMs = 20'000;
  for (int waited_ms = 0; access(gate.c_str(), F_OK) != 0; waited_ms += 5) {
    if (waited_ms > kPatienceMs) _exit(4);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void misbehave(gantry_str options, const char* where) {
  const std::string name = where;
  const auto shall = [&](const char* what) { return has(options, (name + what).c_str()); };
  std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's report would end the process in another way
  if (shall("_crashes")) std::raise(SIGSEGV);
  if (shall("_exits")) _exit(3);
  if (shall("_stops")) std::raise(SIGSTOP);
  if (shall("_hangs")) stand_still();
  if (shall("_closes")) syscall(SYS_close_range, 3U, ~0U, 0);
  if (shall("_limits")) lower_limits();
  if (shall("_waits")) wait_at(option(options, "gate"));
}

// Of the process, and of the session that compiled last.
std::string process_options;
std::string session_options;
gantry_str str_of(const std::string& text) { return {text.data(), text.size()}; }

gantry_error* devices(gantry_provider*, const gantry_device_sink* sink) {
  misbehave(str_of(process_options), "devices");
  fakes::report_device(*sink, "fragile device");
  return nullptr;
}

gantry_error* claim(gantry_provider*, const gantry_claim_request* request) {
  misbehave(request->options, "claim");
  fakes::claim_relus(*request, "fragile.relu");
  return nullptr;
}

void exhaust_memory() {
  for (;;) {
    const size_t size_bytes = size_t{64} << 20;
    std::memset(std::malloc(size_bytes), 1, size_bytes);  // nobody looks whether there was any
  }
}

void overwrite_heap() {
  auto* block = static_cast<char*>(std::malloc(64));
  auto* next = static_cast<char*>(std::malloc(64));
  volatile size_t beyond = 256;  // so that the compiler does not know better
  std::memset(block, 0x41, beyond);
  std::free(next);
  std::free(block);
  std::free(std::malloc(1 << 20));
  std::abort();  // the allocator did not notice; a real one would go on for a while
}

bool changes_indices = false;
std::atomic<int64_t*> last_indices = nullptr;
std::atomic<uint64_t> last_count = 0;

// Writes indices that are far outside of everything, and good ones, by turns.
[[noreturn]] void change_indices() {
  for (int64_t value = 0;; value = value == 0 ? int64_t{1} << 40 : 0) {
    volatile int64_t* indices = last_indices;
    for (uint64_t i = 0; indices && i < last_count; ++i) indices[i] = value;
  }
}

gantry_error* repeat_indices(const gantry_call* call, const gantry_tensor& x) {
  gantry_tensor* y = nullptr;
  if (gantry_error* error = host->output(call->run, 0, x.dtype, x.rank, x.shape, &y)) return error;
  std::memcpy(y->data, x.data, x.size_bytes);
  if (!changes_indices) return nullptr;
  if (!last_indices) std::thread(change_indices).detach();
  last_count = x.size_bytes / sizeof(int64_t);
  last_indices = static_cast<int64_t*>(y->data);
  return nullptr;
}

gantry_error* run(void*, void*, const gantry_call* call) {
  const gantry_tensor& x = *call->inputs[0];
  if (x.dtype == GANTRY_INT64) return repeat_indices(call, x);
  const auto* from = static_cast<const float*>(x.data);
  const uint64_t count = x.size_bytes / sizeof(float);
  gantry_tensor* y = nullptr;
  if (gantry_error* error = host->output(call->run, 0, GANTRY_FLOAT, x.rank, x.shape, &y))
    return error;
  auto* to = static_cast<float*>(y->data);
  if (count > 0 && from[0] == -12) misbehave(str_of(session_options), "run");
  std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's report would end the process in another way
  switch (count > 0 ? static_cast<int>(from[0]) : 0) {
    case -1:
      std::raise(SIGSEGV);
      break;
    case -2:
      std::abort();
    case -3:
      stand_still();
    case -4:
      exhaust_memory();
      break;
    case -5:
      std::memset(to + count, 0x41, 4096);
      break;
    case -6:
      overwrite_heap();
      break;
    case -7:
      _exit(0);
    case -8:
      while (host->should_stop(call->run) == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return host->error_create(host->should_stop(call->run), fakes::to_str("stopped as told"));
    case -9:
      fakes::look_around(to, count);
      return nullptr;
    case -10:
      to[0] = -1;  // so that the next one crashes
      return nullptr;
    case -11:
      // A child has the channels of its parent, and keeps them open.
      if (fork() == 0) {
        sleep(20);
        _exit(0);
      }
      std::raise(SIGSEGV);
      break;
    default:
      break;
  }
  for (uint64_t i = 0; i < count; ++i) to[i] = from[i] < 0 ? 0 : from[i];
  return nullptr;
}

gantry_error* compile(gantry_provider*, const gantry_compile* args, gantry_kernel* out) {
  misbehave(args->options, "compile");
  changes_indices = has(args->options, "indices_change");
  session_options.assign(args->options.data, args->options.length);
  out->self = out;
  out->run = run;
  out->destroy = [](void*) { misbehave(str_of(session_options), "release"); };
  return nullptr;
}

}  // namespace

extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer,
                                                          gantry_accept* accept) {
  process_options.assign(offer->options.data, offer->options.length);
  misbehave(offer->options, "start");
  host = offer->host;
  table.size = sizeof(table);
  table.self = reinterpret_cast<gantry_provider*>(&table);
  table.devices = devices;
  table.claim = claim;
  table.compile = compile;
  table.destroy = [](gantry_provider*) { misbehave(str_of(process_options), "close"); };
  accept->minor = offer->minor;
  accept->layout = GANTRY_ABI_LAYOUT;
  accept->api = &table;
  return nullptr;
}
