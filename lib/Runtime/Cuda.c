/* NVIDIA's GPUs through the driver's own library, which is opened when a device is: nothing of CUDA
 * is needed to build or to link, and a machine without a driver gets a sentence instead of a loader
 * error. The library stays open, because the driver keeps threads of its own.
 *
 * The device's primary context is used, the one that other CUDA code of the process uses too, so
 * that their pointers are ours. Each operation makes it current and then puts back what was.
 */
#include "CudaDriver.h"
#include "Device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "Internal.h"

struct tcc_device {
  CUdevice ordinal;
  CUhandle context;
#define TCC_DECLARE(name, symbol, parameters) CUresult(*name) parameters;
  TCC_CUDA_FUNCTIONS(TCC_DECLARE)
#undef TCC_DECLARE
};

/* Handles of the driver are handed out as they are. */
#define HANDLE(pointer) ((CUhandle)(pointer))

static tcc_status status_of(CUresult result) {
  switch (result) {
  case CUDA_SUCCESS:
    return TCC_OK;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return TCC_OUT_OF_MEMORY;
  case CUDA_ERROR_NO_DEVICE:
  case CUDA_ERROR_INVALID_DEVICE:
  case CUDA_ERROR_INVALID_IMAGE:
  case CUDA_ERROR_NO_BINARY_FOR_GPU:
  case CUDA_ERROR_INVALID_PTX:
  case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    return TCC_INCOMPATIBLE;
  default:
    return TCC_INTERNAL;
  }
}

static tcc_status failure(const struct tcc_device *device, CUresult result, const char *what,
                          tcc_error *error) {
  const char *text = NULL;
  if (device->error_string(result, &text) != CUDA_SUCCESS || !text)
    text = "unknown error";
  return tcc_set_error(error, status_of(result), "GPU: %s: %s (CUDA error %d)", what, text, result);
}

/* Runs `call` in the device's context and returns from the function if it fails. */
#define CUDA_TRY(device, what, call)                                                               \
  do {                                                                                             \
    CUresult result_ = (device)->context_push((device)->context);                                  \
    if (result_ == CUDA_SUCCESS) {                                                                 \
      result_ = (call);                                                                            \
      CUhandle popped_;                                                                            \
      (device)->context_pop(&popped_);                                                             \
    }                                                                                              \
    if (result_ != CUDA_SUCCESS)                                                                   \
      return failure(device, result_, what, error);                                                \
  } while (0)

/* The same where nobody can be told: what is given up is, as far as it can be. */
#define CUDA_QUIETLY(device, call)                                                                 \
  do {                                                                                             \
    CUresult pushed_ = (device)->context_push((device)->context);                                  \
    (void)(call);                                                                                  \
    CUhandle popped_;                                                                              \
    if (pushed_ == CUDA_SUCCESS)                                                                   \
      (device)->context_pop(&popped_);                                                             \
  } while (0)

/* `call` to the driver, which refuses it while any stream is captured in a graph, lest it was meant
 * for that graph, unless the thread says that it knows. */
#define BESIDE_CAPTURES(device, beside, call)                                                      \
  ((device)->exchange_capture_mode(&(beside).mode), (beside).result = (call),                      \
   (device)->exchange_capture_mode(&(beside).mode), (beside).result)
struct beside {
  int mode;
  CUresult result;
};
static const struct beside kBeside = {CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS};

/* ---- the device ---- */

static tcc_status find_functions(struct tcc_device *device, tcc_error *error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return tcc_set_error(error, TCC_INCOMPATIBLE, "GPU: NVIDIA's driver is not installed: %s",
                         dlerror());
  const char *missing = NULL;
#define TCC_FIND(name, symbol, parameters)                                                         \
  {                                                                                                \
    void *found = dlsym(library, #symbol);                                                         \
    memcpy(&device->name, &found, sizeof found);                                                   \
    if (!found)                                                                                    \
      missing = #symbol;                                                                           \
  }
  TCC_CUDA_FUNCTIONS(TCC_FIND)
#undef TCC_FIND
  dlclose(library);
  if (missing)
    return tcc_set_error(error, TCC_INCOMPATIBLE, "GPU: NVIDIA's driver is too old: it has no %s",
                         missing);
  return TCC_OK;
}

static tcc_status describe(struct tcc_device *device, struct tcc_device_info *info,
                           tcc_error *error) {
  memset(info, 0, sizeof *info);
  int major = 0, minor = 0;
  size_t memory = 0;
  CUresult result = device->device_name(info->name, sizeof info->name, device->ordinal);
  const struct {
    int *value;
    int attribute;
  } attributes[] = {
      {&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
      {&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {&info->multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
      {&info->shared_bytes, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
  };
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes && result == CUDA_SUCCESS; ++i)
    result =
        device->device_attribute(attributes[i].value, attributes[i].attribute, device->ordinal);
  if (result == CUDA_SUCCESS)
    result = device->device_memory(&memory, device->ordinal);
  if (result != CUDA_SUCCESS)
    return failure(device, result, "asking what the device is", error);
  info->capability = 10 * major + minor;
  info->memory_bytes = memory;
  return TCC_OK;
}

static tcc_status start(struct tcc_device *device, int32_t ordinal, struct tcc_device_info *info,
                        tcc_error *error) {
  tcc_status status = find_functions(device, error);
  if (status != TCC_OK)
    return status;
  CUresult result = device->init(0);
  if (result != CUDA_SUCCESS)
    return failure(device, result, "starting NVIDIA's driver", error);
  int count = 0;
  result = device->device_count(&count);
  if (result != CUDA_SUCCESS)
    return failure(device, result, "counting the devices", error);
  if (ordinal < 0 || ordinal >= count)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "GPU: there is no device %d; %d %s visible",
                         ordinal, count, count == 1 ? "is" : "are");
  result = device->device_get(&device->ordinal, ordinal);
  if (result != CUDA_SUCCESS)
    return failure(device, result, "finding the device", error);
  struct tcc_device_info unused;
  status = describe(device, info ? info : &unused, error);
  if (status != TCC_OK)
    return status;
  result = device->context_retain(&device->context, device->ordinal);
  return result == CUDA_SUCCESS ? TCC_OK : failure(device, result, "opening the device", error);
}

static tcc_status cuda_open(int32_t ordinal, struct tcc_device **opened,
                            struct tcc_device_info *info, tcc_error *error) {
  struct tcc_device *device = calloc(1, sizeof *device);
  if (!device)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: out of memory");
  tcc_status status = start(device, ordinal, info, error);
  if (status != TCC_OK) {
    free(device);
    return status;
  }
  *opened = device;
  return TCC_OK;
}

static void cuda_close(struct tcc_device *device) {
  if (!device)
    return;
  (void)device->context_release(device->ordinal);
  free(device);
}

/* ---- code ---- */

static tcc_status cuda_load(struct tcc_device *device, const void *image,
                            struct tcc_device_code **code, tcc_error *error) {
  CUhandle module = NULL;
  CUDA_TRY(device, "loading kernels", device->module_load(&module, image));
  *code = module;
  return TCC_OK;
}

static void cuda_unload(struct tcc_device *device, struct tcc_device_code *code) {
  CUDA_QUIETLY(device, device->module_unload(HANDLE(code)));
}

static tcc_status find_kernel(struct tcc_device *device, struct tcc_device_code *code,
                              const char *name, uint32_t shared_bytes, CUhandle *function,
                              tcc_error *error) {
  CUDA_TRY(device, name, device->module_function(function, HANDLE(code), name));
  enum { UNASKED = 48 << 10 }; /* what a kernel gets */
  if (shared_bytes > UNASKED)
    CUDA_TRY(device, name,
             device->function_attribute(*function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                        (int)shared_bytes));
  return TCC_OK;
}

static CUresult unless_large(CUresult result) {
  return result == CUDA_ERROR_INVALID_CLUSTER_SIZE ? CUDA_SUCCESS : result;
}

/* How many clusters fit: parts of a GPU, and some GPUs, have too few neighbouring multiprocessors.
 */
static tcc_status count_clusters(struct tcc_device *device, CUhandle function, const char *name,
                                 const struct tcc_device_image *image, int *count,
                                 tcc_error *error) {
  struct launch_attribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                     .value.cluster = {image->cluster, 1, 1}};
  struct launch_config config = {
      {image->cluster, 1, 1}, {image->threads, 1, 1}, image->shared_bytes, NULL, &cluster, 1};
  CUDA_TRY(
      device, name,
      device->function_attribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  CUDA_TRY(device, name, unless_large(device->resident_clusters(count, function, &config)));
  return TCC_OK;
}

static tcc_status cuda_kernel(struct tcc_device *device, struct tcc_device_code *code,
                              const char *name, const struct tcc_device_image *image,
                              struct tcc_device_kernel **kernel, bool *narrow, tcc_error *error) {
  CUhandle function = NULL;
  tcc_status status = find_kernel(device, code, name, image->shared_bytes, &function, error);
  int clusters = 0;
  if (!status && image->cluster)
    status = count_clusters(device, function, name, image, &clusters, error);
  *narrow = !status && image->cluster && clusters == 0;
  if (*narrow) {
    char other[1024];
    snprintf(other, sizeof other, "%s" TCC_NARROW, name);
    status = find_kernel(device, code, other, image->narrow_shared_bytes, &function, error);
  }
  *kernel = function;
  return status;
}

/* ---- memory ---- */

static tcc_status cuda_alloc(struct tcc_device *device, size_t bytes, tcc_device_address *memory,
                             tcc_error *error) {
  struct beside beside = kBeside;
  CUDA_TRY(device, "allocating memory",
           BESIDE_CAPTURES(device, beside, device->memory_alloc(memory, bytes ? bytes : 1)));
  return TCC_OK;
}

static void cuda_free(struct tcc_device *device, tcc_device_address memory) {
  struct beside beside = kBeside;
  if (memory)
    CUDA_QUIETLY(device, BESIDE_CAPTURES(device, beside, device->memory_free(memory)));
}

static void cuda_unshare(struct tcc_device *device, void *host) {
  struct beside beside = kBeside;
  CUDA_QUIETLY(device, BESIDE_CAPTURES(device, beside, device->host_free(host)));
}

static tcc_status host_address(struct tcc_device *device, void *host, tcc_device_address *memory,
                               tcc_error *error) {
  CUDA_TRY(device, "mapping memory of the host", device->host_address(memory, host, 0));
  return TCC_OK;
}

static tcc_status cuda_share(struct tcc_device *device, size_t bytes, void **host,
                             tcc_device_address *memory, tcc_error *error) {
  struct beside beside = kBeside;
  CUDA_TRY(
      device, "allocating memory of the host",
      BESIDE_CAPTURES(device, beside, device->host_alloc(host, bytes, CU_MEMHOSTALLOC_DEVICEMAP)));
  tcc_status status = host_address(device, *host, memory, error);
  if (status)
    cuda_unshare(device, *host);
  return status;
}

static tcc_status cuda_check_memory(struct tcc_device *device, tcc_device_address memory,
                                    size_t bytes, tcc_error *error) {
  (void)bytes;
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  const int names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
  void *values[] = {&type, &managed, &ordinal};
  CUDA_TRY(device, "asking where memory is",
           device->pointer_attributes(sizeof names / sizeof *names, names, values, memory));
  if (managed || (type == CU_MEMORYTYPE_DEVICE && ordinal == device->ordinal))
    return TCC_OK;
  return tcc_set_error(error, TCC_INVALID_ARGUMENT, "GPU: 0x%llx is no memory of device %d",
                       (unsigned long long)memory, device->ordinal);
}

static tcc_status cuda_copy_in(struct tcc_device *device, struct tcc_device_stream *stream,
                               tcc_device_address to, const void *from, size_t bytes,
                               tcc_error *error) {
  if (bytes)
    CUDA_TRY(device, "copying to the device", device->copy_in(to, from, bytes, HANDLE(stream)));
  return TCC_OK;
}

static tcc_status cuda_copy_out(struct tcc_device *device, struct tcc_device_stream *stream,
                                void *to, tcc_device_address from, size_t bytes, tcc_error *error) {
  if (bytes)
    CUDA_TRY(device, "copying from the device", device->copy_out(to, from, bytes, HANDLE(stream)));
  return TCC_OK;
}

static tcc_status cuda_copy(struct tcc_device *device, struct tcc_device_stream *stream,
                            tcc_device_address to, tcc_device_address from, size_t bytes,
                            tcc_error *error) {
  if (bytes)
    CUDA_TRY(device, "copying on the device", device->copy(to, from, bytes, HANDLE(stream)));
  return TCC_OK;
}

static tcc_status cuda_clear(struct tcc_device *device, struct tcc_device_stream *stream,
                             tcc_device_address memory, size_t bytes, tcc_error *error) {
  if (bytes)
    CUDA_TRY(device, "clearing memory", device->clear(memory, 0, bytes, HANDLE(stream)));
  return TCC_OK;
}

/* ---- streams ---- */

static tcc_status cuda_stream_create(struct tcc_device *device, struct tcc_device_stream **stream,
                                     tcc_error *error) {
  CUhandle made = NULL;
  CUDA_TRY(device, "making a stream", device->stream_create(&made, CU_STREAM_NON_BLOCKING));
  *stream = made;
  return TCC_OK;
}

static void cuda_stream_destroy(struct tcc_device *device, struct tcc_device_stream *stream) {
  CUDA_QUIETLY(device, device->stream_destroy(HANDLE(stream)));
}

static tcc_status cuda_launch(struct tcc_device *device, struct tcc_device_stream *stream,
                              const struct tcc_device_launch *launch, tcc_error *error) {
  if (launch->blocks == 0)
    return TCC_OK;
  size_t bytes = sizeof(uint64_t) * launch->num_words;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)launch->words,
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  /* Where the assembler puts a tensor map among the parameters is known to the driver alone: with
   * one, each parameter is given by its address. */
  void *each[TCC_LAUNCH_WORDS + TCC_LAUNCH_MAPS];
  if (launch->num_words > TCC_LAUNCH_WORDS || launch->num_tensor_maps > TCC_LAUNCH_MAPS)
    return tcc_set_error(error, TCC_INTERNAL, "GPU: a kernel of %u parameters",
                         launch->num_words + launch->num_tensor_maps);
  for (uint32_t i = 0; launch->num_tensor_maps && i < launch->num_words; ++i)
    each[i] = (void *)&launch->words[i];
  for (uint32_t i = 0; i < launch->num_tensor_maps; ++i)
    each[launch->num_words + i] = (void *)&launch->tensor_maps[i];
  struct launch_attribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                                   .value.programmatic_stream_serialization_allowed = 1};
  struct launch_config config = {.grid = {launch->blocks, 1, 1},
                                 .block = {launch->threads, 1, 1},
                                 .shared_bytes = launch->shared_bytes,
                                 .stream = HANDLE(stream),
                                 .attributes = &early,
                                 .num_attributes = launch->waits};
  CUDA_TRY(device, "starting a kernel",
           device->launch(&config, HANDLE(launch->kernel), launch->num_tensor_maps ? each : NULL,
                          launch->num_tensor_maps ? NULL : extra));
  return TCC_OK;
}

static tcc_status cuda_tensor_map(struct tcc_device *device, const struct tcc_tensor_map *map,
                                  struct tcc_encoded_tensor_map *encoded, tcc_error *error) {
  /* The driver counts axes from the innermost one. */
  uint64_t extents[TCC_MAP_RANK], pitches[TCC_MAP_RANK], pitch = map->element_bytes;
  uint32_t box[TCC_MAP_RANK], steps[TCC_MAP_RANK];
  for (uint32_t i = 0; i < map->rank; ++i) {
    uint32_t axis = map->rank - 1 - i;
    extents[i] = map->extents[axis];
    box[i] = map->box[axis];
    steps[i] = map->steps[axis];
    pitches[i] = pitch *= extents[i]; /* from one place along the next axis to the next */
  }
  /* Elements are moved, not computed with: any type of that size will do. */
  int type = map->element_bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
             : map->element_bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
             : map->element_bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                       : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  /* 0, 1, 2, 3 for none, 32, 64 and 128 bytes. */
  int swizzle = map->swizzle_bytes ? __builtin_ctz(map->swizzle_bytes) - 4 : 0;
  if (map->window.pixels) {
    int low[3] = {0}, high[3] = {0};
    for (uint32_t i = 0; i + 2 < map->rank; ++i) {
      low[i] = map->window.low[map->rank - 3 - i];
      high[i] = map->window.high[map->rank - 3 - i];
    }
    CUDA_TRY(device, "describing an image",
             device->tensor_map_encode_window(
                 encoded->bytes, type, map->rank, (void *)(uintptr_t)map->memory, extents, pitches,
                 low, high, box[0], map->window.pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                 swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return TCC_OK;
  }
  CUDA_TRY(device, "describing a tensor",
           device->tensor_map_encode(
               encoded->bytes, type, map->rank, (void *)(uintptr_t)map->memory, extents, pitches,
               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return TCC_OK;
}

static tcc_status cuda_synchronize(struct tcc_device *device, struct tcc_device_stream *stream,
                                   tcc_error *error) {
  struct beside beside = kBeside;
  CUDA_TRY(device, "waiting for the device",
           BESIDE_CAPTURES(device, beside, device->stream_synchronize(HANDLE(stream))));
  return TCC_OK;
}

/* ---- events ---- */

static tcc_status cuda_event_create(struct tcc_device *device, struct tcc_device_event **event,
                                    tcc_error *error) {
  CUhandle made = NULL;
  CUDA_TRY(device, "making an event", device->event_create(&made, 0));
  *event = made;
  return TCC_OK;
}

static void cuda_event_destroy(struct tcc_device *device, struct tcc_device_event *event) {
  CUDA_QUIETLY(device, device->event_destroy(HANDLE(event)));
}

static tcc_status cuda_event_record(struct tcc_device *device, struct tcc_device_stream *stream,
                                    struct tcc_device_event *event, tcc_error *error) {
  CUDA_TRY(device, "recording an event", device->event_record(HANDLE(event), HANDLE(stream)));
  return TCC_OK;
}

static tcc_status cuda_event_wait(struct tcc_device *device, struct tcc_device_stream *stream,
                                  struct tcc_device_event *event, tcc_error *error) {
  CUDA_TRY(device, "waiting for an event", device->event_wait(HANDLE(stream), HANDLE(event), 0));
  return TCC_OK;
}

static tcc_status cuda_event_milliseconds(struct tcc_device *device, struct tcc_device_event *from,
                                          struct tcc_device_event *to, float *milliseconds,
                                          tcc_error *error) {
  CUDA_TRY(device, "waiting for an event", device->event_synchronize(HANDLE(to)));
  CUDA_TRY(device, "reading the time",
           device->event_elapsed(milliseconds, HANDLE(from), HANDLE(to)));
  return TCC_OK;
}

static bool cuda_captures(struct tcc_device *device, struct tcc_device_stream *stream) {
  int status = 0;
  CUresult result = 0;
  CUDA_QUIETLY(device, result = device->stream_capturing(HANDLE(stream), &status));
  return !result && status;
}

const struct tcc_device_driver tcc_cuda = {
    "cuda",
    kDLCUDA,
    0,
    cuda_open,
    cuda_close,
    cuda_load,
    cuda_unload,
    cuda_kernel,
    cuda_alloc,
    cuda_free,
    cuda_share,
    cuda_unshare,
    cuda_check_memory,
    cuda_copy_in,
    cuda_copy_out,
    cuda_copy,
    cuda_clear,
    cuda_stream_create,
    cuda_stream_destroy,
    cuda_launch,
    cuda_tensor_map,
    cuda_synchronize,
    cuda_event_create,
    cuda_event_destroy,
    cuda_event_record,
    cuda_event_wait,
    cuda_event_milliseconds,
    cuda_captures,
};
