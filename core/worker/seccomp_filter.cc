// SPDX-License-Identifier: Apache-2.0
#include "worker/seccomp_filter.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace gantry {

#if defined(__x86_64__)
namespace {

// Constants of newer kernels that the headers of older systems lack.
constexpr uint32_t kFchmodat2 = 452;
constexpr uint32_t kSetxattrat = 463;
constexpr uint32_t kRemovexattrat = 466;
constexpr uint32_t kFileSetattr = 469;

constexpr uint32_t kDenied[] = {
    SYS_socket, SYS_io_uring_setup,
    // Processes and namespaces.
    SYS_fork, SYS_vfork, SYS_execve, SYS_execveat, SYS_unshare, SYS_setns, SYS_setpgid,
    // Signals, except tgkill, with which glibc signals its own process.
    SYS_tkill, SYS_pidfd_send_signal,
    // Other processes and the user's keys.
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise, SYS_pidfd_getfd,
    SYS_kcmp, SYS_perf_event_open, SYS_bpf, SYS_add_key, SYS_request_key, SYS_keyctl,
    // Objects that outlive a process and are found by a number alone.
    SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
    SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
    // Attributes of files, which Landlock does not restrict.
    SYS_chmod, SYS_fchmod, SYS_fchmodat, kFchmodat2, SYS_chown, SYS_fchown, SYS_lchown,
    SYS_fchownat, SYS_utime, SYS_utimes, SYS_utimensat, SYS_futimesat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, kSetxattrat, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, kRemovexattrat,
    kFileSetattr, SYS_open_by_handle_at};

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t kDeny = SECCOMP_RET_ERRNO | EPERM;
// As on a kernel without the call (clone3): glibc then uses clone, whose flags a filter can read.
constexpr uint32_t kUnknown = SECCOMP_RET_ERRNO | ENOSYS;

// Builds a BPF program. A rule whose system call does not match falls through to the next rule,
// with the number of the call in the register.
class FilterProgram {
 public:
  FilterProgram() {
    constexpr uint32_t kOtherNumbers = 0x40000000;  // the x32 system calls of x86-64
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
    answer(kDeny);
    load(offsetof(seccomp_data, nr));
    jump(BPF_JGE, kOtherNumbers, 0, 1);
    answer(kDeny);
  }
  void on(uint32_t call, uint32_t what) {
    jump(BPF_JEQ, call, 0, 1);
    answer(what);
  }
  /// Returns `then` if argument `index` is one of the values, else `otherwise`.
  void on(uint32_t call, uint32_t index, std::initializer_list<uint32_t> values, uint32_t then,
          uint32_t otherwise) {
    begin(call, 2 + 2 * static_cast<uint8_t>(values.size()));
    argument(index);
    for (const uint32_t value : values) {
      jump(BPF_JEQ, value, 0, 1);
      answer(then);
    }
    answer(otherwise);
  }
  /// Returns `then` if the first argument has a bit of `mask`, else `otherwise`.
  void on_bits(uint32_t call, uint32_t mask, uint32_t then, uint32_t otherwise) {
    begin(call, 4);
    argument(0);
    jump(BPF_JSET, mask, 0, 1);
    answer(then);
    answer(otherwise);
  }
  /// Allows `call` if argument 0 is `which` and argument 1 is one of the values.
  void allow_which(uint32_t call, uint32_t which, std::initializer_list<uint32_t> values) {
    begin(call, 5 + 2 * static_cast<uint8_t>(values.size()));
    argument(0);
    jump(BPF_JEQ, which, 1, 0);
    answer(kDeny);
    argument(1);
    for (const uint32_t value : values) {
      jump(BPF_JEQ, value, 0, 1);
      answer(kAllow);
    }
    answer(kDeny);
  }
  /// Allows `call` if argument `index`, masked by `mask`, is one of the values.
  void allow_masked(uint32_t call, uint32_t index, uint32_t mask,
                    std::initializer_list<uint32_t> values) {
    begin(call, 3 + 2 * static_cast<uint8_t>(values.size()));
    argument(index);
    code_.push_back(sock_filter BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    for (const uint32_t value : values) {
      jump(BPF_JEQ, value, 0, 1);
      answer(kAllow);
    }
    answer(kDeny);
  }
  std::vector<sock_filter>& finish() {
    answer(kAllow);
    return code_;
  }

 private:
  void load(size_t offset) {
    code_.push_back(sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
  }
  // Loads the lower half of an argument: the kernel also reads these arguments as int.
  void argument(uint32_t index) { load(offsetof(seccomp_data, args) + index * sizeof(uint64_t)); }
  void jump(uint16_t test, uint32_t value, uint8_t if_true, uint8_t if_false) {
    code_.push_back(sock_filter BPF_JUMP(static_cast<uint16_t>(BPF_JMP | test | BPF_K), value,
                                         if_true, if_false));
  }
  void answer(uint32_t what) { code_.push_back(sock_filter BPF_STMT(BPF_RET | BPF_K, what)); }
  // Begins a rule of `size` instructions for one call.
  void begin(uint32_t call, uint8_t size) { jump(BPF_JEQ, call, 0, size); }

  std::vector<sock_filter> code_;
};

}  // namespace

std::string install_seccomp_filter() {
  // The id is constant: the filter permits no fork.
  const auto self = static_cast<uint32_t>(getpid());
  FilterProgram program;
  for (const uint32_t call : kDenied) program.on(call, kDeny);
  program.on(SYS_clone3, kUnknown);
  program.on_bits(SYS_clone, CLONE_THREAD, kAllow, kDeny);
  for (const uint32_t call : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo})
    program.on(call, 0, {self}, kAllow, kDeny);
  for (const uint32_t call :
       {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
        SYS_sched_setattr, SYS_move_pages, SYS_migrate_pages})
    program.on(call, 0, {0, self}, kAllow, kDeny);
  constexpr uint32_t kIoprioWhoProcess = 1;
  program.allow_which(SYS_setpriority, PRIO_PROCESS, {0, self});
  program.allow_which(SYS_ioprio_set, kIoprioWhoProcess, {0, self});
  // F_SETOWN names the process to which the kernel sends SIGIO.
  program.on(SYS_fcntl, 1, {F_SETOWN, F_SETOWN_EX}, kDeny, kAllow);
  program.on(SYS_ioctl, 1, {FIOSETOWN, SIOCSPGRP, TIOCSTI, TIOCLINUX}, kDeny, kAllow);
  // Datagrams can be sent to any named local socket, even from one of a pair.
  constexpr uint32_t kSocketType = 0xF;
  program.allow_masked(SYS_socketpair, 1, kSocketType, {SOCK_STREAM, SOCK_SEQPACKET});
  std::vector<sock_filter>& code = program.finish();
  const sock_fprog filter = {static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return {};
  return std::strerror(errno);
}
#else
std::string install_seccomp_filter() { return "there is none for this processor"; }
#endif

}  // namespace gantry
