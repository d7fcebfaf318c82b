// SPDX-License-Identifier: Apache-2.0
// A provider that claims every Relu and ends its process, stands still, or takes three seconds,
// where it is told to: in claim or in compile by the option "mode" of the session, in the kernel by
// the first element of its input. In mode "indices_change" it goes on writing to its output of
// int64. Against the C header alone.
#include <gantry/provider.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

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

void misbehave(gantry_str options, const char* where) {
  const std::string name = where;
  if (has(options, (name + "_crashes").c_str())) std::raise(SIGSEGV);
  if (has(options, (name + "_hangs").c_str())) stand_still();
  if (has(options, (name + "_is_slow").c_str()))
    std::this_thread::sleep_for(std::chrono::seconds(5));
}

gantry_error* devices(gantry_provider*, const gantry_device_sink* sink) {
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

// Whether files, the network, a device, the length of files and signals to the application are
// open, as numbers: for the sandbox.
void look_around(float* found, uint64_t count) {
  const int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
  const int network = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::string made_file = "/tmp/gantry-sandbox-made-" + std::to_string(getpid());
  const int made = open(made_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int device = open("/dev/full", O_RDWR | O_CLOEXEC);
  // The application made this file: each has its own, as tests run side by side.
  const std::string file_of_application =
      "/tmp/gantry-sandbox-truncate-" + std::to_string(getppid());
  const bool can_truncate = truncate(file_of_application.c_str(), 0) == 0;
  const bool can_signal = kill(getppid(), 0) == 0;
  const float answers[] = {file >= 0 ? 1.0F : 0.0F,    network >= 0 ? 1.0F : 0.0F,
                           made >= 0 ? 1.0F : 0.0F,    device >= 0 ? 1.0F : 0.0F,
                           can_truncate ? 1.0F : 0.0F, can_signal ? 1.0F : 0.0F};
  if (made >= 0) unlink(made_file.c_str());
  for (const int number : {file, network, made, device}) {
    if (number >= 0) close(number);
  }
  std::memcpy(found, answers, sizeof(float) * (count < 6 ? count : 6));
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
      look_around(to, count);
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
  out->self = out;
  out->run = run;
  return nullptr;
}

}  // namespace

extern "C" GANTRY_EXPORT gantry_error* gantry_provider_v1(const gantry_offer* offer,
                                                          gantry_accept* accept) {
  misbehave(offer->options, "start");
  host = offer->host;
  table.size = sizeof(table);
  table.self = reinterpret_cast<gantry_provider*>(&table);
  table.devices = devices;
  table.claim = claim;
  table.compile = compile;
  table.destroy = [](gantry_provider*) {};
  accept->minor = offer->minor;
  accept->layout = GANTRY_ABI_LAYOUT;
  accept->api = &table;
  return nullptr;
}
