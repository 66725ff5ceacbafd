//===- DeviceHere.cpp - Whether this machine runs code for GPUs -----------===//
//
// Measuring and verifying run the model, and mostly it is compiled on a machine that has no GPU.
// The driver is asked in a process of its own, because a process that has started it cannot fork
// any more, and measuring forks.
//
//===----------------------------------------------------------------------===//
#include "DeviceHere.h"
#include "llvm/ADT/STLExtras.h"
#include <cerrno>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tcc;

/// 10 * major + minor of the first GPU, 0 where there is none.
static int askDriver() {
  constexpr int kMajor = 75, kMinor = 76; // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto find = [&](const char *name) { return library ? dlsym(library, name) : nullptr; };
  auto init = reinterpret_cast<int (*)(unsigned)>(find("cuInit"));
  auto get = reinterpret_cast<int (*)(int *, int)>(find("cuDeviceGet"));
  auto attribute = reinterpret_cast<int (*)(int *, int, int)>(find("cuDeviceGetAttribute"));
  int device = 0, major = 0, minor = 0;
  bool good = init && get && attribute && init(0) == 0 && get(&device, 0) == 0 &&
              attribute(&major, kMajor, device) == 0 && attribute(&minor, kMinor, device) == 0;
  return good ? 10 * major + minor : 0;
}

static unsigned capabilityHere() {
  pid_t child = fork();
  if (child == 0)
    _exit(askDriver());
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) ? static_cast<unsigned>(WEXITSTATUS(status)) : 0;
}

bool tcc::runsHere(const GpuTarget &devices) {
  unsigned here = capabilityHere();
  return llvm::any_of(devices.codes, [&](const GpuCode &code) {
    unsigned wanted = code.arch->capability;
    bool sameFamily = !code.arch->specific && wanted / 10 == here / 10 && wanted <= here;
    return here > 0 && (wanted == here || sameFamily || (code.ptx && wanted <= here));
  });
}
