/* The part of the driver's interface that is used, as its header (cuda.h) has it. The functions are
 * looked up where they are called (Cuda.c).
 */
#ifndef TCC_RUNTIME_CUDA_DRIVER_H
#define TCC_RUNTIME_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef void *CUhandle; /* context, module, function, stream, event */
enum {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_INVALID_CLUSTER_SIZE = 912
};
enum {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14,
  CU_STREAM_NON_BLOCKING = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
  CU_MEMHOSTALLOC_DEVICEMAP = 2
};
enum {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_IS_MANAGED = 8,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_MEMORYTYPE_DEVICE = 2
};
enum {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4,
  CU_TENSOR_MAP_INTERLEAVE_NONE = 0,
  CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3,
  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0
};
enum {
  CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
  CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};
struct launch_attribute {
  int id;
  char pad[8 - sizeof(int)];
  union {
    char bytes[64];
    int programmatic_stream_serialization_allowed;
    unsigned cluster[3];
    uint64_t align;
  } value;
};
struct launch_config {
  unsigned grid[3], block[3], shared_bytes;
  CUhandle stream;
  struct launch_attribute *attributes;
  unsigned num_attributes;
};
#define CU_LAUNCH_PARAM_END ((void *)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)2)

/* name in the structure, symbol of the library, parameters */
#define TCC_CUDA_FUNCTIONS(X)                                                                      \
  X(init, cuInit, (unsigned))                                                                      \
  X(error_string, cuGetErrorString, (CUresult, const char **))                                     \
  X(device_get, cuDeviceGet, (CUdevice *, int))                                                    \
  X(device_count, cuDeviceGetCount, (int *))                                                       \
  X(device_name, cuDeviceGetName, (char *, int, CUdevice))                                         \
  X(device_attribute, cuDeviceGetAttribute, (int *, int, CUdevice))                                \
  X(device_memory, cuDeviceTotalMem_v2, (size_t *, CUdevice))                                      \
  X(context_retain, cuDevicePrimaryCtxRetain, (CUhandle *, CUdevice))                              \
  X(context_release, cuDevicePrimaryCtxRelease_v2, (CUdevice))                                     \
  X(context_push, cuCtxPushCurrent_v2, (CUhandle))                                                 \
  X(context_pop, cuCtxPopCurrent_v2, (CUhandle *))                                                 \
  X(module_load, cuModuleLoadData, (CUhandle *, const void *))                                     \
  X(module_unload, cuModuleUnload, (CUhandle))                                                     \
  X(module_function, cuModuleGetFunction, (CUhandle *, CUhandle, const char *))                    \
  X(function_attribute, cuFuncSetAttribute, (CUhandle, int, int))                                  \
  X(resident_clusters, cuOccupancyMaxActiveClusters,                                               \
    (int *, CUhandle, const struct launch_config *))                                               \
  X(memory_alloc, cuMemAlloc_v2, (uint64_t *, size_t))                                             \
  X(memory_free, cuMemFree_v2, (uint64_t))                                                         \
  X(host_alloc, cuMemHostAlloc, (void **, size_t, unsigned))                                       \
  X(host_address, cuMemHostGetDevicePointer_v2, (uint64_t *, void *, unsigned))                    \
  X(host_free, cuMemFreeHost, (void *))                                                            \
  X(copy_in, cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, CUhandle))                     \
  X(copy_out, cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, CUhandle))                          \
  X(copy, cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, CUhandle))                            \
  X(clear, cuMemsetD8Async, (uint64_t, unsigned char, size_t, CUhandle))                           \
  X(pointer_attributes, cuPointerGetAttributes, (unsigned, const int *, void **, uint64_t))        \
  X(stream_create, cuStreamCreate, (CUhandle *, unsigned))                                         \
  X(stream_destroy, cuStreamDestroy_v2, (CUhandle))                                                \
  X(stream_synchronize, cuStreamSynchronize, (CUhandle))                                           \
  X(stream_capturing, cuStreamIsCapturing, (CUhandle, int *))                                      \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, (int *))                             \
  X(launch, cuLaunchKernelEx, (const struct launch_config *, CUhandle, void **, void **))          \
  X(tensor_map_encode, cuTensorMapEncodeTiled,                                                     \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,          \
     const uint32_t *, int, int, int, int))                                                        \
  X(tensor_map_encode_window, cuTensorMapEncodeIm2col,                                             \
    (void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const int *, const int *,  \
     uint32_t, uint32_t, const uint32_t *, int, int, int, int))                                    \
  X(event_create, cuEventCreate, (CUhandle *, unsigned))                                           \
  X(event_destroy, cuEventDestroy_v2, (CUhandle))                                                  \
  X(event_record, cuEventRecord, (CUhandle, CUhandle))                                             \
  X(event_wait, cuStreamWaitEvent, (CUhandle, CUhandle, unsigned))                                 \
  X(event_synchronize, cuEventSynchronize, (CUhandle))                                             \
  X(event_elapsed, cuEventElapsedTime, (float *, CUhandle, CUhandle))

#endif
