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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Program.h"
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

/* A dense tensor that a kernel copies parts of; axes as tcc_tensor_map_desc has them. */
struct tcc_tensor_map {
  tcc_device_address memory; /* a multiple of 16, as the bytes of the last axis are */
  uint32_t rank, element_bytes, swizzle_bytes;
  uint64_t extents[TCC_MAP_RANK];
  uint32_t box[TCC_MAP_RANK], steps[TCC_MAP_RANK];
  struct tcc_tensor_window window;
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
  bool waits; /* it may start early, for it waits itself for the work before it in its stream */
};
#define TCC_LAUNCH_WORDS 512u
#define TCC_LAUNCH_MAPS 8u

struct tcc_device_driver {
  const char *kind;    /* "cuda" */
  DLDeviceType dlpack; /* of tensors in its memory */
  uint32_t arch_flags; /* TCC_ARCH_SIMULATED, or none: code for which it runs */

  tcc_status (*open)(int32_t ordinal, struct tcc_device **device, struct tcc_device_info *info,
                     tcc_error *error);
  void (*close)(struct tcc_device *device); /* after all that was made with it is gone */

  /* `image` is a cubin, or PTX as text, which takes the driver some time; a tcc_simulated_fn. */
  tcc_status (*load)(struct tcc_device *device, const void *image, struct tcc_device_code **code,
                     tcc_error *error);
  void (*unload)(struct tcc_device *device, struct tcc_device_code *code);
  tcc_status (*kernel)(struct tcc_device *device, struct tcc_device_code *code, const char *name,
                       const struct tcc_device_image *image, struct tcc_device_kernel **kernel,
                       bool *narrow, tcc_error *error);

  tcc_status (*alloc)(struct tcc_device *device, size_t bytes, tcc_device_address *memory,
                      tcc_error *error);
  void (*free)(struct tcc_device *device, tcc_device_address memory);
  /* Memory that host and device both read and write, where each knows it by an address of its own.
   */
  tcc_status (*share)(struct tcc_device *device, size_t bytes, void **host,
                      tcc_device_address *memory, tcc_error *error);
  void (*unshare)(struct tcc_device *device, void *host);
  /* TCC_INVALID_ARGUMENT when the device cannot read `bytes` bytes there. */
  tcc_status (*check_memory)(struct tcc_device *device, tcc_device_address memory, size_t bytes,
                             tcc_error *error);
  tcc_status (*copy_in)(struct tcc_device *device, struct tcc_device_stream *stream,
                        tcc_device_address to, const void *from, size_t bytes, tcc_error *error);
  tcc_status (*copy_out)(struct tcc_device *device, struct tcc_device_stream *stream, void *to,
                         tcc_device_address from, size_t bytes, tcc_error *error);
  tcc_status (*copy)(struct tcc_device *device, struct tcc_device_stream *stream,
                     tcc_device_address to, tcc_device_address from, size_t bytes,
                     tcc_error *error);
  tcc_status (*clear)(struct tcc_device *device, struct tcc_device_stream *stream,
                      tcc_device_address memory, size_t bytes, tcc_error *error);

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
  /* What comes later in `stream` waits for the event. */
  tcc_status (*event_wait)(struct tcc_device *device, struct tcc_device_stream *stream,
                           struct tcc_device_event *event, tcc_error *error);
  /* Waits for both. */
  tcc_status (*event_milliseconds)(struct tcc_device *device, struct tcc_device_event *from,
                                   struct tcc_device_event *to, float *milliseconds,
                                   tcc_error *error);
  /* Whether what is put into the stream now is recorded for later, into a graph. NULL: never. */
  bool (*captures)(struct tcc_device *device, struct tcc_device_stream *stream);
};

extern const struct tcc_device_driver tcc_cuda __attribute__((visibility("hidden")));
extern const struct tcc_device_driver tcc_simulated __attribute__((visibility("hidden")));

#endif
