/* Ranges for NVIDIA's profilers, which show what the host does beside what the GPU does: one around
 * each launch, with the kernel's name and the nodes of the model that it computes. The toolkit's
 * library is opened when a context asks for them, and stays open.
 */
#include "DeviceParts.h"

#include <dlfcn.h>
#include <stdio.h>

/* The caller's own comes first. */
static void *library(void) {
  static const char *const names[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1",
                                      "libnvtx3interop.so"};
  void *handle = RTLD_DEFAULT;
  for (size_t i = 0; i < sizeof names / sizeof *names && !dlsym(handle, "nvtxRangePushA"); ++i) {
    void *opened = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    handle = opened ? opened : handle;
  }
  return handle;
}

tcc_status tcc_ranges_open(struct tcc_ranges *ranges, tcc_error *error) {
  void *handle = library();
  *(void **)&ranges->push = dlsym(handle, "nvtxRangePushA");
  *(void **)&ranges->pop = dlsym(handle, "nvtxRangePop");
  if (ranges->push && ranges->pop)
    return TCC_OK;
  *ranges = (struct tcc_ranges){0};
  return tcc_set_error(error, TCC_INCOMPATIBLE,
                       "NVTX: there is no libnvToolsExt.so.1 on this machine, which comes with "
                       "CUDA's toolkit");
}

void tcc_range_begin(const struct tcc_ranges *ranges, const struct tcc_device_kernel_desc *kernel) {
  char text[512];
  if (!ranges->push)
    return;
  snprintf(text, sizeof text, "%s: %s", kernel->name, kernel->sources);
  ranges->push(text);
}

void tcc_range_end(const struct tcc_ranges *ranges) {
  if (ranges->pop)
    ranges->pop();
}
