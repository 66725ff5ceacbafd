/* A libcuda.so.1 without a GPU: keeps count of what is open, copies in host memory, and fails the
 * call that it is told to, alone or with all that come after it, as after an error of a kernel. It
 * does at once what it is asked for, or keeps launches on the host's memory until it is waited for.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
static atomic_int calls, live, depth, launches, early, waits, allocations;
static int fail_at, fail_code, fail_alloc, stays, capability = 90;

/* Launches that were put off, as their words. */
enum { MOST_HELD = 256 };
static uint64_t held[MOST_HELD][3];
static int holds, num_held;

/* From now on what is put into streams that were not made here is recorded into a graph, which is
 * not replayed. Who allocates or frees memory meanwhile spoils it, unless he says that he knows. */
static int capturing, spoiled;
static _Thread_local int capture_mode;
void fake_cuda_capture(int on) {
  capturing = on;
  spoiled = 0;
}

/* Memory that was given out. */
enum { MOST_BLOCKS = 4096 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint64_t at;
  size_t size;
} blocks[MOST_BLOCKS];

static int is_memory(uint64_t at) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_BLOCKS && !found; ++i)
    found = blocks[i].at && at >= blocks[i].at && at < blocks[i].at + blocks[i].size;
  pthread_mutex_unlock(&lock);
  return found;
}

/* Call `at` from here on fails with `code`; 0: none. */
void fake_cuda_reset(int at, int code) {
  calls = allocations = waits = early = 0;
  fail_at = at;
  fail_code = code;
  fail_alloc = stays = 0;
  capability = 90;
}
/* All that come after it do, too. */
void fake_cuda_stays(void) { stays = 1; }
/* The allocation of this number finds no memory; -1: none does. */
void fake_cuda_fail_alloc(int at) { fail_alloc = at; }
static int finds_memory(void) { return fail_alloc >= 0 && ++allocations != fail_alloc; }
void fake_cuda_set_capability(int c) { capability = c; }
int fake_cuda_waits(void) { return waits; }
/* Launches that may start before the work before them ends. */
int fake_cuda_early(void) { return early; }
int fake_cuda_allocations(void) { return allocations; }
/* What was opened and not closed again; contexts that were pushed and not popped. */
void fake_cuda_state(int *open, int *pushed, int *called, int *launched) {
  *open = live;
  *pushed = depth;
  *called = calls;
  *launched = launches;
}

static void add(const uint64_t *words) {
  for (uint64_t i = 0; i < words[1]; ++i)
    ((unsigned char *)(uintptr_t)words[0])[i] += (unsigned char)words[2];
}
/* What was put off is done, and from now on what is asked for is put off or not. */
void fake_cuda_hold(int on) {
  for (int i = 0; i < num_held; ++i)
    add(held[i]);
  num_held = 0;
  holds = on;
}

static int failing(void) {
  int call = ++calls;
  return fail_at && (call == fail_at || (stays && call > fail_at));
}
#define CALL()                                                                                     \
  if (failing())                                                                                   \
  return fail_code

CUresult cuInit(unsigned flags) {
  CALL();
  return flags ? 1 : 0;
}
CUresult cuGetErrorString(CUresult result, const char **text) {
  *text = result == 2 ? "out of memory" : result == 700 ? "an illegal memory access" : NULL;
  return *text ? 0 : 1;
}
CUresult cuDeviceGetCount(int *count) {
  CALL();
  *count = 1;
  return 0;
}
CUresult cuDeviceGet(int *device, int ordinal) {
  CALL();
  *device = ordinal;
  return 0;
}
CUresult cuDeviceGetName(char *name, int size, int device) {
  CALL();
  snprintf(name, (size_t)size, "Fake %d", device);
  return 0;
}
CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
  CALL();
  *value = attribute == 75   ? capability / 10
           : attribute == 76 ? capability % 10
           : attribute == 16 ? 132
                             : 232448;
  return 0;
}
CUresult cuDeviceTotalMem_v2(size_t *bytes, int device) {
  CALL();
  *bytes = (size_t)1 << 30;
  return 0;
}
static CUresult open_handle(void **handle) {
  *handle = malloc(1);
  ++live;
  return 0;
}
static CUresult close_handle(void *handle) {
  free(handle);
  --live;
  return 0;
}
CUresult cuDevicePrimaryCtxRetain(void **context, int device) {
  CALL();
  *context = &live;
  ++live;
  return 0;
}
CUresult cuDevicePrimaryCtxRelease_v2(int device) {
  --live;
  return 0;
}
CUresult cuCtxPushCurrent_v2(void *context) {
  CALL();
  ++depth;
  return 0;
}
CUresult cuCtxPopCurrent_v2(void **context) {
  --depth;
  return 0;
}
CUresult cuModuleLoadData(void **module, const void *image) {
  CALL();
  if (memcmp(image, "cubin", 5))
    return 200;
  return open_handle(module);
}
CUresult cuModuleUnload(void *module) { return close_handle(module); }
CUresult cuModuleGetFunction(void **function, void *module, const char *name) {
  CALL();
  if (strcmp(name, "k") && strcmp(name, "k_narrow"))
    return 500;
  *function = module;
  return 0;
}
CUresult cuFuncSetAttribute(void *function, int attribute, int value) {
  CALL();
  return value > 232448 ? 1 : 0;
}
struct cluster_attribute { /* as CudaDriver.h has it */
  int id, pad;
  unsigned blocks[3];
};
struct cluster_config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  const struct cluster_attribute *attributes;
  unsigned num_attributes;
};
/* Multiprocessors are neighbours of eight. */
CUresult cuOccupancyMaxActiveClusters(int *count, void *function,
                                      const struct cluster_config *config) {
  CALL();
  *count = config->attributes->id == 4 && config->attributes->blocks[0] <= 8 ? 3 : 0;
  return 0;
}
static int refused_in_captures(void) {
  int refused = capturing && capture_mode != 2;
  spoiled |= refused;
  return refused;
}
CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}
CUresult cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
  CALL();
  if (refused_in_captures())
    return 900;
  if (bytes > (size_t)1 << 30 || !finds_memory())
    return 2;
  *memory = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  memset((void *)(uintptr_t)*memory, 0xff, bytes);
  ++live;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_BLOCKS; ++i)
    if (!blocks[i].at) {
      blocks[i].at = *memory;
      blocks[i].size = bytes;
      break;
    }
  pthread_mutex_unlock(&lock);
  return 0;
}
CUresult cuMemFree_v2(uint64_t memory) {
  (void)refused_in_captures();
  pthread_mutex_lock(&lock);
  for (int i = 0; i < MOST_BLOCKS; ++i)
    if (blocks[i].at == memory)
      blocks[i].at = 0;
  pthread_mutex_unlock(&lock);
  return close_handle((void *)(uintptr_t)memory);
}
CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned flags) {
  CALL();
  if (refused_in_captures())
    return 900;
  if (flags != 2 || !finds_memory())
    return flags == 2 ? 2 : 1;
  *host = malloc(bytes);
  ++live;
  return 0;
}
CUresult cuMemHostGetDevicePointer_v2(uint64_t *memory, void *host, unsigned flags) {
  CALL();
  *memory = (uint64_t)(uintptr_t)host;
  return (int)flags;
}
CUresult cuMemFreeHost(void *host) { return close_handle(host); }
CUresult cuMemsetD8Async(uint64_t memory, unsigned char value, size_t bytes, void *stream) {
  CALL();
  if (!is_memory(memory))
    return 1;
  memset((void *)(uintptr_t)memory, value, bytes);
  return 0;
}
CUresult cuPointerGetAttributes(unsigned count, const int *names, void **values, uint64_t memory) {
  CALL();
  for (unsigned i = 0; i < count; ++i)
    *(int *)values[i] = names[i] == 2 && is_memory(memory) ? 2 : 0;
  return 0;
}
CUresult cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  CALL();
  if (!is_memory(to))
    return 1;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return 0;
}
CUresult cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  CALL();
  if (!is_memory(from))
    return 1;
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return 0;
}
CUresult cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  CALL();
  if (!is_memory(to) || !is_memory(from))
    return 1;
  memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
  return 0;
}
enum { MOST_STREAMS = 64 };
static void *_Atomic streams[MOST_STREAMS];
/* Whether what is put into the stream is recorded now. */
static int captures(const void *stream) {
  int own = !stream;
  for (int i = 0; i < MOST_STREAMS; ++i)
    own |= stream == streams[i];
  return capturing && !own;
}
CUresult cuStreamCreate(void **stream, unsigned flags) {
  CALL();
  open_handle(stream);
  for (int i = 0; i < MOST_STREAMS; ++i) {
    void *none = NULL;
    if (atomic_compare_exchange_strong(&streams[i], &none, *stream))
      break;
  }
  return 0;
}
CUresult cuStreamDestroy_v2(void *stream) {
  for (int i = 0; i < MOST_STREAMS; ++i) {
    void *mine = stream;
    atomic_compare_exchange_strong(&streams[i], &mine, NULL);
  }
  return close_handle(stream);
}
/* Events that were recorded into a graph, or not, are for such streams. */
static atomic_int captured_events;
CUresult cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  CALL();
  if (capturing || captured_events)
    return capturing ? 905 : 1;
  return event && !flags ? 0 : 1;
}
CUresult cuStreamIsCapturing(void *stream, int *status) {
  CALL();
  *status = captures(stream);
  return 0;
}
CUresult cuStreamSynchronize(void *stream) {
  CALL();
  if (captures(stream) || refused_in_captures())
    return 900;
  ++waits;
  return 0;
}
/* The beginnings of CUlaunchAttribute and CUlaunchConfig. */
struct launch_attribute {
  int id, pad, value;
};
struct launch_config {
  unsigned grid[3], block[3], shared;
  void *stream;
  const struct launch_attribute *attributes;
  unsigned num_attributes;
};
/* The kernel adds its third word to every byte of the memory at its first, of the length that is
 * its second. */
CUresult cuLaunchKernelEx(const struct launch_config *config, void *function, void **parameters,
                          void **extra) {
  CALL();
  if (spoiled)
    return 901;
  uint64_t words[3];
  if (config->grid[1] * config->grid[2] * config->block[1] * config->block[2] != 1 ||
      !parameters == !extra || config->num_attributes > 1 ||
      (config->num_attributes && (config->attributes->id != 6 || config->attributes->value != 1)))
    return 1;
  early += config->num_attributes;
  if (parameters) {
    /* ... and the tensor map that is the fourth parameter is of its memory. */
    for (int i = 0; i < 3; ++i)
      words[i] = *(uint64_t *)parameters[i];
    if (memcmp(parameters[3], words, sizeof *words))
      return 1;
  } else {
    if (extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4] ||
        *(size_t *)extra[3] != sizeof words)
      return 1;
    memcpy(words, extra[1], sizeof words);
  }
  if (holds && !is_memory(words[0]) && num_held < MOST_HELD)
    memcpy(held[num_held++], words, sizeof words);
  else
    add(words);
  ++launches;
  return 0;
}
CUresult cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *memory,
                                const uint64_t *extents, const uint64_t *pitches,
                                const uint32_t *box, const uint32_t *steps, int interleave,
                                int swizzle, int promotion, int fill) {
  CALL();
  if (type != 1 || rank != 2 || pitches[0] != extents[0] * 2 || box[0] > extents[0] || interleave ||
      swizzle != 3 || promotion != 3 || fill || steps[0] != 1 || steps[1] != 1)
    return 1;
  memcpy(map, &memory, sizeof memory);
  return 0;
}
CUresult cuTensorMapEncodeIm2col(void *map, int type, uint32_t rank, void *memory,
                                 const uint64_t *extents, const uint64_t *pitches, const int *low,
                                 const int *high, uint32_t channels, uint32_t pixels,
                                 const uint32_t *steps, int interleave, int swizzle, int promotion,
                                 int fill) {
  CALL();
  /* [2, 9, 10, 64] under 3 x 2 with a step of 2 along rows, a pixel of padding above and one left.
   */
  const uint64_t shape[] = {64, 10, 9, 2};
  if (type != 1 || rank != 4 || memcmp(extents, shape, sizeof shape) || pitches[0] != 128 ||
      pitches[1] != 1280 || pitches[2] != 11520 || low[0] != -1 || low[1] != -2 || high[0] != 0 ||
      high[1] != -3 || channels != 64 || pixels != 128 || steps[0] != 1 || steps[1] != 2 ||
      steps[2] != 1 || steps[3] != 1 || interleave || swizzle != 3 || promotion != 3 || fill)
    return 1;
  memcpy(map, &memory, sizeof memory);
  return 0;
}
CUresult cuEventCreate(void **event, unsigned flags) {
  CALL();
  return open_handle(event);
}
CUresult cuEventDestroy_v2(void *event) { return close_handle(event); }
CUresult cuEventRecord(void *event, void *stream) {
  CALL();
  captured_events = capturing;
  return 0;
}
CUresult cuEventSynchronize(void *event) {
  CALL();
  if (captured_events)
    return 907;
  fake_cuda_hold(holds);
  ++waits;
  return 0;
}
CUresult cuEventElapsedTime(float *milliseconds, void *from, void *to) {
  CALL();
  *milliseconds = 1.5f;
  return 0;
}
