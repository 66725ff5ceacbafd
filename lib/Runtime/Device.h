/* What the runtime asks of a GPU, as a table of operations: CUDA is one (Cuda.c), a simulated
 * device of the tests may be another. Only a program with device code refers to a table, so that a
 * model for CPUs carries none of this.
 *
 * Every operation that can fail returns a tcc_status and fills *error when it is not NULL; nothing
 * aborts. A device may be used by several threads at once; its operations leave the calling
 * thread's own use of the driver as they found it. What a stream does is asynchronous: its failures
 * appear at a later operation, and from then on at every one.
 */
#ifndef TCC_RUNTIME_DEVICE_H
#define TCC_RUNTIME_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "tcc/Runtime/tcc.h"

#ifdef __cplusplus
#define _Alignas alignas
#endif

struct tcc_device;        /* one GPU that was opened */
struct tcc_device_code;   /* kernels that were loaded to it */
struct tcc_device_kernel; /* one of them; lives as long as the code */
struct tcc_device_stream; /* work in order */
struct tcc_device_event;  /* a point in a stream */
typedef uint64_t tcc_device_address;

struct tcc_device_info {
  char name[128];
  int32_t capability; /* 10 * major + minor */
  int32_t multiprocessors;
  int32_t shared_bytes; /* that one block may have */
  uint64_t memory_bytes;
};

/* A dense matrix of 16-bit elements that a kernel copies boxes of, swizzled by 128 bytes. */
struct tcc_tensor_map {
  tcc_device_address memory; /* a multiple of 16 */
  uint64_t rows, columns;    /* columns: a multiple of 8 */
  uint32_t box_rows, box_columns;
};
struct tcc_encoded_tensor_map {
  _Alignas(64) unsigned char bytes[128];
};

struct tcc_device_launch {
  struct tcc_device_kernel *kernel;
  uint32_t blocks, threads, shared_bytes; /* shared: dynamic */
  const uint64_t *words;                  /* the first parameters, as they lie in memory */
  uint32_t num_words;                     /* at most TCC_LAUNCH_WORDS */
  uint32_t num_tensor_maps;               /* the parameters after them */
  const struct tcc_encoded_tensor_map *tensor_maps;
};
#define TCC_LAUNCH_WORDS 512u

struct tcc_device_driver {
  const char *kind; /* "cuda" */

  tcc_status (*open)(int32_t ordinal, struct tcc_device **device, struct tcc_device_info *info,
                     tcc_error *error);
  void (*close)(struct tcc_device *device); /* after all that was made with it is gone */

  /* `image` is a cubin, or PTX as text, which takes the driver some time. */
  tcc_status (*load)(struct tcc_device *device, const void *image, struct tcc_device_code **code,
                     tcc_error *error);
  void (*unload)(struct tcc_device *device, struct tcc_device_code *code);
  /* `shared_bytes` is the most dynamic shared memory that a launch of it will ask for. */
  tcc_status (*kernel)(struct tcc_device *device, struct tcc_device_code *code, const char *name,
                       uint32_t shared_bytes, struct tcc_device_kernel **kernel, tcc_error *error);

  tcc_status (*alloc)(struct tcc_device *device, size_t bytes, tcc_device_address *memory,
                      tcc_error *error);
  void (*free)(struct tcc_device *device, tcc_device_address memory);
  tcc_status (*copy_in)(struct tcc_device *device, struct tcc_device_stream *stream,
                        tcc_device_address to, const void *from, size_t bytes, tcc_error *error);
  tcc_status (*copy_out)(struct tcc_device *device, struct tcc_device_stream *stream, void *to,
                         tcc_device_address from, size_t bytes, tcc_error *error);
  tcc_status (*copy)(struct tcc_device *device, struct tcc_device_stream *stream,
                     tcc_device_address to, tcc_device_address from, size_t bytes,
                     tcc_error *error);

  tcc_status (*stream_create)(struct tcc_device *device, struct tcc_device_stream **stream,
                              tcc_error *error);
  void (*stream_destroy)(struct tcc_device *device, struct tcc_device_stream *stream);
  tcc_status (*launch)(struct tcc_device *device, struct tcc_device_stream *stream,
                       const struct tcc_device_launch *launch, tcc_error *error);
  /* Encodes `map` as a parameter for kernels. */
  tcc_status (*tensor_map)(struct tcc_device *device, const struct tcc_tensor_map *map,
                           struct tcc_encoded_tensor_map *encoded, tcc_error *error);
  tcc_status (*synchronize)(struct tcc_device *device, struct tcc_device_stream *stream,
                            tcc_error *error);

  tcc_status (*event_create)(struct tcc_device *device, struct tcc_device_event **event,
                             tcc_error *error);
  void (*event_destroy)(struct tcc_device *device, struct tcc_device_event *event);
  tcc_status (*event_record)(struct tcc_device *device, struct tcc_device_stream *stream,
                             struct tcc_device_event *event, tcc_error *error);
  /* Waits for both. */
  tcc_status (*event_milliseconds)(struct tcc_device *device, struct tcc_device_event *from,
                                   struct tcc_device_event *to, float *milliseconds,
                                   tcc_error *error);
};

extern const struct tcc_device_driver tcc_cuda __attribute__((visibility("hidden")));

#endif
