// SPDX-License-Identifier: Apache-2.0
// What the C library has only since a version newer than 2.27, for systems with an older one. The
// files of the wheel ask for these symbols without a version (make_portable.py): of two libraries
// that define one, a process takes the first it loaded, its own C library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/platform/x86.h>
#endif

#define EXPORT __attribute__((visibility("default")))

// 2.32. False is always right: counters of references are then updated atomically.
EXPORT char __libc_single_threaded = 0;

// 2.30
EXPORT pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.33: before, these were inline functions. The kernel's struct stat is the C library's.
EXPORT int fstatat(int folder, const char* path, struct stat* status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
EXPORT int stat(const char* path, struct stat* status) {
  return fstatat(AT_FDCWD, path, status, 0);
}
EXPORT int lstat(const char* path, struct stat* status) {
  return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
EXPORT int fstat(int descriptor, struct stat* status) {
  return (int)syscall(SYS_fstat, descriptor, status);
}
EXPORT int fstatat64(int folder, const char* path, struct stat64* status, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, status, flags);
}
EXPORT int stat64(const char* path, struct stat64* status) {
  return fstatat64(AT_FDCWD, path, status, 0);
}
EXPORT int lstat64(const char* path, struct stat64* status) {
  return fstatat64(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}
EXPORT int fstat64(int descriptor, struct stat64* status) {
  return (int)syscall(SYS_fstat, descriptor, status);
}

// 2.33. The older function counts with 32 bits: above 4 GiB the numbers are too small.
EXPORT struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo found = mallinfo();
  return (struct mallinfo2){(unsigned)found.arena,    (unsigned)found.ordblks,
                            (unsigned)found.smblks,   (unsigned)found.hblks,
                            (unsigned)found.hblkhd,   (unsigned)found.usmblks,
                            (unsigned)found.fsmblks,  (unsigned)found.uordblks,
                            (unsigned)found.fordblks, (unsigned)found.keepcost};
}

// 2.36
EXPORT uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
  }
  return number;
}

static int64_t now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// 2.30. A condition variable waits for the clock that it was made with, CLOCK_REALTIME here as in
// std::condition_variable: the time left on `clock` is put onto that one, as often as needed.
EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  clockid_t clock, const struct timespec* until) {
  const int64_t seconds =
      until->tv_sec > INT64_MAX / 2000000000 ? INT64_MAX / 2000000000 : until->tv_sec;
  const int64_t until_ns = seconds * 1000000000 + until->tv_nsec;
  for (;;) {
    const int64_t left_ns = until_ns - now_ns(clock);
    if (left_ns <= 0) return ETIMEDOUT;
    const int64_t deadline_ns = now_ns(CLOCK_REALTIME) + left_ns;
    const struct timespec deadline = {.tv_sec = deadline_ns / 1000000000,
                                      .tv_nsec = deadline_ns % 1000000000};
    const int status = pthread_cond_timedwait(condition, mutex, &deadline);
    if (status != ETIMEDOUT) return status;
  }
}

#if defined(__x86_64__)
// 2.33: what CPU and operating system have, as CPUID and XGETBV say.
enum { kLeaves = 3 };  // CPUID_INDEX_1, CPUID_INDEX_7, CPUID_INDEX_80000001: all that gantry asks
static struct cpuid_feature leaves[kLeaves + 1];

static void switch_off(const unsigned* features, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    leaves[features[i] / 128].active_array[features[i] % 128 / 32] &= ~(1U << features[i] % 32);
  }
}

__attribute__((constructor)) static void read_cpu(void) {
  static const unsigned kNumbers[kLeaves] = {1, 7, 0x80000001};
  static const unsigned kVectors256[] = {x86_cpu_AVX,  x86_cpu_AVX2,      x86_cpu_FMA,
                                         x86_cpu_FMA4, x86_cpu_XOP,       x86_cpu_F16C,
                                         x86_cpu_VAES, x86_cpu_VPCLMULQDQ};
  static const unsigned kVectors512[] = {
      x86_cpu_AVX512F,     x86_cpu_AVX512DQ,      x86_cpu_AVX512_IFMA,      x86_cpu_AVX512CD,
      x86_cpu_AVX512BW,    x86_cpu_AVX512VL,      x86_cpu_AVX512_VBMI,      x86_cpu_AVX512_VBMI2,
      x86_cpu_AVX512_VNNI, x86_cpu_AVX512_BITALG, x86_cpu_AVX512_VPOPCNTDQ, x86_cpu_AVX512_FP16};
  static const unsigned kTiles[] = {x86_cpu_AMX_TILE, x86_cpu_AMX_INT8, x86_cpu_AMX_BF16};
  for (int i = 0; i < kLeaves; ++i) {
    unsigned* found = leaves[i].cpuid_array;
    __get_cpuid_count(kNumbers[i], 0, &found[0], &found[1], &found[2], &found[3]);
    for (int reg = 0; reg < 4; ++reg) leaves[i].active_array[reg] = found[reg];
  }
  unsigned state = 0;  // the registers that the operating system keeps
  if (leaves[CPUID_INDEX_1].cpuid_array[2] & bit_OSXSAVE) {
    unsigned high = 0;
    __asm__("xgetbv" : "=a"(state), "=d"(high) : "c"(0));
  }
  if ((state & 0x06) != 0x06) switch_off(kVectors256, sizeof kVectors256 / sizeof kVectors256[0]);
  if ((state & 0xe6) != 0xe6) switch_off(kVectors512, sizeof kVectors512 / sizeof kVectors512[0]);
  if ((state & 0x60000) != 0x60000) switch_off(kTiles, sizeof kTiles / sizeof kTiles[0]);
}

EXPORT const struct cpuid_feature* __x86_get_cpuid_feature_leaf(unsigned leaf) {
  return &leaves[leaf < kLeaves ? leaf : kLeaves];
}
#endif

// 2.34: since then the C library runs a program's constructors, which the program did itself
// before.
typedef int Main(int, char**, char**);
typedef int StartMain(Main*, int, char**, void (*init)(int, char**, char**), void (*fini)(void),
                      void (*rtld_fini)(void), void* stack_end);

static void run_constructors(int count, char** arguments, char** environment) {
  const struct link_map* program = _r_debug.r_map;
  void (*const* constructors)(int, char**, char**) = NULL;
  size_t bytes = 0;
  for (const ElfW(Dyn)* entry = program->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_INIT)
      ((void (*)(int, char**, char**))(program->l_addr + entry->d_un.d_ptr))(count, arguments,
                                                                             environment);
    if (entry->d_tag == DT_INIT_ARRAY)
      constructors = (void (*const*)(int, char**, char**))(program->l_addr + entry->d_un.d_ptr);
    if (entry->d_tag == DT_INIT_ARRAYSZ) bytes = entry->d_un.d_val;
  }
  for (size_t i = 0; i < bytes / sizeof *constructors; ++i)
    constructors[i](count, arguments, environment);
}

EXPORT int __libc_start_main(Main* main, int count, char** arguments,
                             void (*init)(int, char**, char**), void (*fini)(void),
                             void (*rtld_fini)(void), void* stack_end) {
  StartMain* newer = (StartMain*)dlvsym(RTLD_NEXT, "__libc_start_main", "GLIBC_2.34");
  if (newer != NULL) return newer(main, count, arguments, init, fini, rtld_fini, stack_end);
  StartMain* older = (StartMain*)dlsym(RTLD_NEXT, "__libc_start_main");
  return older(main, count, arguments, init != NULL ? init : run_constructors, fini, rtld_fini,
               stack_end);
}
