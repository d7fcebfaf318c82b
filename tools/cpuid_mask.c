// SPDX-License-Identifier: Apache-2.0
// Hides instruction sets of the CPU from a process. This is an audit library of the dynamic linker
// (rtld-audit(7), LD_AUDIT). It replaces each CPUID instruction of a library by a breakpoint before
// the library's code runs, also after dlopen, and emulates the instruction with bits masked. A text
// file beside it, named as it is with .txt for .so and written by tools/cpuid_mask.py, lists the
// masks and the instructions:
//
//   mask LEAF SUBLEAF EAX EBX ECX EDX       masks of a CPUID result, hexadecimal
//   object PATH                             an object file; its instructions follow
//   at ADDRESS                              address of a CPUID instruction in the file, hexadecimal
//
// libc's own copy of the results (CPU_FEATURE_ACTIVE) is masked too. The file is read once, since a
// process may forbid itself to open files before it loads a library.
#define _GNU_SOURCE
#include <cpuid.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/platform/x86.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_MASKS = 16, MAX_INSTRUCTIONS = 4096, BREAKPOINT = 0xCC, NO_OPERATION = 0x90 };

struct mask {
  unsigned leaf, subleaf, kept[4];
};

struct instruction {
  const char* path;  // of the object file
  unsigned long address;
};

static struct mask masks[MAX_MASKS];
static int mask_count;
static struct instruction instructions[MAX_INSTRUCTIONS];
static int instruction_count;

static void fail(const char* subject, const char* problem) {
  fprintf(stderr, "cpuid_mask: %s: %s\n", subject, problem);
  _exit(127);
}

// Emulates the CPUID instruction that the breakpoint replaced. The context's address is behind the
// breakpoint, at the second byte, which is a NOP.
static void answer(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const unsigned leaf = (unsigned)registers[REG_RAX];
  const unsigned subleaf = (unsigned)registers[REG_RCX];
  unsigned answers[4];
  __cpuid_count(leaf, subleaf, answers[0], answers[1], answers[2], answers[3]);
  for (int i = 0; i < mask_count; ++i) {
    if (masks[i].leaf != leaf || (masks[i].subleaf != subleaf && leaf != 1))
      continue;  // leaf 1 has no subleaves
    for (int j = 0; j < 4; ++j) answers[j] &= masks[i].kept[j];
  }
  registers[REG_RAX] = answers[0];
  registers[REG_RBX] = answers[1];
  registers[REG_RCX] = answers[2];
  registers[REG_RDX] = answers[3];
}

static void read_list(void) {
  // A variable of its own would not reach processes that are given few: those of providers.
  const char* library = getenv("LD_AUDIT");
  const size_t stem = library == NULL || strlen(library) < 3 ? 0 : strlen(library) - 3;
  char path[PATH_MAX];
  if (stem == 0 || stem + sizeof ".txt" > sizeof path || strcmp(library + stem, ".so") != 0)
    fail("LD_AUDIT", "expected one library, LEVEL.so, that tools/cpuid_mask.py wrote");
  memcpy(path, library, stem);
  strcpy(path + stem, ".txt");
  FILE* list = fopen(path, "re");
  if (list == NULL) fail(path, "cannot be opened");
  char line[PATH_MAX + 16];
  const char* object = NULL;
  while (fgets(line, sizeof line, list) != NULL) {
    struct mask mask;
    unsigned long address;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "mask %x %x %x %x %x %x", &mask.leaf, &mask.subleaf, &mask.kept[0],
               &mask.kept[1], &mask.kept[2], &mask.kept[3]) == 6) {
      if (mask_count == MAX_MASKS) fail(path, "has more masks than there is room for");
      masks[mask_count++] = mask;
    } else if (strncmp(line, "object ", 7) == 0) {
      object = strdup(line + 7);
    } else if (object != NULL && sscanf(line, "at %lx", &address) == 1) {
      if (instruction_count == MAX_INSTRUCTIONS)
        fail(path, "has more instructions than there is room for");
      instructions[instruction_count++] = (struct instruction){object, address};
    } else {
      fail(path, "has a line that is neither a mask nor an object nor an address in one");
    }
  }
  fclose(list);
}

static void protect(const char* subject, const void* begin, size_t bytes, int protection) {
  const uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t first = (uintptr_t)begin & ~(page_size - 1);
  if (mprotect((void*)first, (uintptr_t)begin + bytes - first, protection) != 0)
    fail(subject, "the protection of its pages cannot be changed");
}

// Masks the bits in libc's copy of one CPUID result. The page stays writable; the linker
// write-protects it after loading.
static void mask_libc(const struct mask* mask, unsigned index) {
  const struct cpuid_feature* found = __x86_get_cpuid_feature_leaf(index);
  struct cpuid_feature masked = *found;
  for (int i = 0; i < 4; ++i) {
    masked.cpuid_array[i] &= mask->kept[i];
    masked.active_array[i] &= mask->kept[i];
  }
  if (memcmp(&masked, found, sizeof masked) == 0)
    return;  // also if this libc does not store that result
  protect("libc", found, sizeof masked, PROT_READ | PROT_WRITE);
  memcpy((void*)found, &masked, sizeof masked);
}

static void put_breakpoint(const char* path, unsigned char* instruction) {
  if (instruction[0] == BREAKPOINT) return;
  if (instruction[0] != 0x0F || instruction[1] != 0xA2)
    fail(path, "is not the file that the list was written for");
  protect(path, instruction, 2, PROT_READ | PROT_WRITE | PROT_EXEC);
  instruction[0] = BREAKPOINT;
  instruction[1] = NO_OPERATION;
  protect(path, instruction, 2, PROT_READ | PROT_EXEC);
}

unsigned la_version(unsigned version) {
  (void)version;
  read_list();
  for (int i = 0; i < mask_count; ++i) {
    if (masks[i].leaf == 1) mask_libc(&masks[i], CPUID_INDEX_1);
    if (masks[i].leaf == 7)
      mask_libc(&masks[i], masks[i].subleaf == 0 ? CPUID_INDEX_7 : CPUID_INDEX_7_ECX_1);
  }
  struct sigaction action = {.sa_sigaction = answer,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
  sigaction(SIGTRAP, &action, NULL);
  return LAV_CURRENT;
}

unsigned la_objopen(struct link_map* map, Lmid_t space, uintptr_t* cookie) {
  (void)space;
  (void)cookie;
  char path[PATH_MAX];
  if (realpath(map->l_name[0] != '\0' ? map->l_name : "/proc/self/exe", path) == NULL)
    return 0;  // the vDSO
  for (int i = 0; i < instruction_count; ++i) {
    if (strcmp(instructions[i].path, path) == 0)
      put_breakpoint(path, (unsigned char*)(map->l_addr + instructions[i].address));
  }
  return 0;
}
