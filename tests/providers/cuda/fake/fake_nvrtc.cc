// SPDX-License-Identifier: Apache-2.0
// A fake libnvrtc: compiles kernels for the host into shared libraries, with the compiler that
// built the tests; the fake libcuda loads them. So the tests run every kernel of the provider. With
// GANTRY_FAKE_NVRTC_SOURCES it also writes each source to that folder.
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

struct Program {
  std::string source;
  std::string code;
  std::string log = std::string(1, '\0');
};

constexpr int kOk = 0;
constexpr int kInvalidInput = 3;
constexpr int kCompilation = 6;
constexpr int kBuiltinsMissing = 7;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A new folder for temporary files of this process.
std::string temporary_folder() {
  const char* parent = std::getenv("TMPDIR");
  std::string folder = std::string(parent ? parent : "/tmp") + "/gantry_kernel_XXXXXX";
  return mkdtemp(folder.data()) ? folder : "";
}

void keep_source(const std::string& source) {
  const char* folder = std::getenv("GANTRY_FAKE_NVRTC_SOURCES");
  if (!folder) return;
  std::ostringstream name;
  name << folder << "/" << std::hex << std::hash<std::string>()(source) << ".cu";
  write_file(name.str(), source);
}

// What a device's entry needs and the host's has no use for (kernels/prelude.cu).
bool bounds_its_threads(const std::string& source) {
  return source.find("#define MOST_THREADS ") != std::string::npos;
}

int compile(Program& program) {
  if (!bounds_its_threads(program.source)) {
    program.log = "error: identifier \"MOST_THREADS\" is undefined\n" + std::string(1, '\0');
    return kCompilation;
  }
  const std::string folder = temporary_folder();
  if (folder.empty()) return kCompilation;
  write_file(folder + "/kernel.cc", program.source);
  write_file(folder + "/emulation.h", read_file(GANTRY_TEST_EMULATION));
  const bool has_barriers = program.source.find("__syncthreads") != std::string::npos ||
                            program.source.find("_sync(") != std::string::npos;
  // Compiled and then linked, and by names within the folder, so that the compiler's cache (which
  // links nothing and looks at names) serves every process and checkout. The linker alone takes
  // half the time that the compiler takes to start it, for some thousand kernels in a run of all
  // tests.
  const std::string compiler = GANTRY_TEST_COMPILER;
  const std::string command =
      "cd '" + folder + "' && { CCACHE_NOHASHDIR=1 " + GANTRY_TEST_LAUNCHER + " " + compiler +
      " -std=c++17 -O1 -w -fPIC -fvisibility=hidden -ffp-contract=off -fno-strict-aliasing"
      " -fsanitize=alignment -include emulation.h -c -o kernel.o kernel.cc && " +
      GANTRY_TEST_LINK "; } > log 2>&1";
  const int status = std::system(command.c_str());
  program.log = read_file(folder + "/log") + '\0';
  if (status == 0) program.code = (has_barriers ? "B" : "-") + read_file(folder + "/kernel.so");
  std::filesystem::remove_all(folder);
  return status == 0 ? kOk : kCompilation;
}

int get(const std::string& text, char* out) {
  std::copy(text.begin(), text.end(), out);
  return kOk;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT const char* nvrtcGetErrorString(int result) {
  return result == kOk ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}
EXPORT int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return kOk;
}
EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  *count = 3;
  return kOk;
}
EXPORT int nvrtcGetSupportedArchs(int* architectures) {
  architectures[0] = 80;
  architectures[1] = 90;
  architectures[2] = 120;
  return kOk;
}
EXPORT int nvrtcCreateProgram(void** out, const char* source, const char*, int headers,
                              const char* const*, const char* const*) {
  if (headers != 0) return kInvalidInput;
  *out = new Program{source, {}};
  return kOk;
}
EXPORT int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return kOk;
}
EXPORT int nvrtcCompileProgram(void* program, int, const char* const*) {
  // Like the real NVRTC, opens its part by the bare name.
  if (!dlopen("libnvrtc-builtins.so.13.0", RTLD_LAZY | RTLD_NOLOAD)) {
    static_cast<Program*>(program)->log = "failed to open libnvrtc-builtins.so.13.0";
    return kBuiltinsMissing;
  }
  keep_source(static_cast<Program*>(program)->source);
  return compile(*static_cast<Program*>(program));
}
EXPORT int nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->code.size();
  return kOk;
}
EXPORT int nvrtcGetCUBIN(void* program, char* out) {
  return get(static_cast<Program*>(program)->code, out);
}
EXPORT int nvrtcGetPTXSize(void*, size_t* size) {
  *size = 0;
  return kOk;
}
EXPORT int nvrtcGetPTX(void*, char*) { return kOk; }
EXPORT int nvrtcGetProgramLogSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->log.size();
  return kOk;
}
EXPORT int nvrtcGetProgramLog(void* program, char* out) {
  return get(static_cast<Program*>(program)->log, out);
}
// NOLINTEND(readability-identifier-naming)
