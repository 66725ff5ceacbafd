/* What the device's half of the runtime shares: Device{Model,Context,Run}.c. */
#ifndef TCC_RUNTIME_DEVICE_PARTS_H
#define TCC_RUNTIME_DEVICE_PARTS_H

#include "Device.h"
#include "Internal.h"

/* Calls an operation of the driver and returns its failure from the function. */
#define TCC_TRY(call)                                                                              \
  do {                                                                                             \
    tcc_status status_ = (call);                                                                   \
    if (status_ != TCC_OK)                                                                         \
      return status_;                                                                              \
  } while (0)

/* ---- DeviceModel.c ---- */

struct tcc_loaded_kernel {
  struct tcc_device_kernel *kernel;
  const struct tcc_device_image *image;
  bool narrow;       /* the device has no room for the image's clusters */
  uint32_t geometry; /* where its architecture's part of a launch's geometry begins */
};

/* A model on one device: code and weights, for all contexts there. */
struct tcc_device_model {
  struct tcc_device_model *next; /* of the model's list */
  _Atomic uint32_t references;   /* the model's, and one for each context and heap */
  const struct tcc_device_driver *driver;
  struct tcc_device *device;
  struct tcc_device_info info;
  int32_t ordinal;
  uint32_t arch; /* in tcc_program.device_archs */
  struct tcc_device_code **codes;
  uint32_t num_codes;
  struct tcc_loaded_kernel *kernels; /* as tcc_program.device_kernels */
  tcc_device_address weights;
};
/* With one more reference. */
tcc_status tcc_device_model_open(struct tcc_model *model, int32_t ordinal,
                                 struct tcc_device_model **opened, tcc_error *error);
void tcc_device_model_release(struct tcc_device_model *on);
void tcc_device_release_all(struct tcc_model *model);

/* ---- Ranges.c ---- */

/* NULL in a context without TCC_PROFILE_RANGES. */
struct tcc_ranges {
  int (*push)(const char *text);
  int (*pop)(void);
};
tcc_status tcc_ranges_open(struct tcc_ranges *ranges, tcc_error *error);
void tcc_range_begin(const struct tcc_ranges *ranges, const struct tcc_device_kernel_desc *kernel);
void tcc_range_end(const struct tcc_ranges *ranges);

/* ---- DeviceContext.c ---- */

/* Where a context's memory on the device comes from; lives as long as a block of its heap. */
struct tcc_device_memory {
  struct tcc_device_model *model;
  tcc_device_allocator allocator;
  struct tcc_device_stream *stream; /* of the current run */
  tcc_status status;                /* of the last allocation that failed */
  tcc_error error;
};

struct tcc_device_time {
  struct tcc_device_event *begin, *end;
  uint32_t kernel;
};

/* Scratch memory that captured runs have used, and for which later ones were too large. */
struct tcc_outgrown_scratch {
  struct tcc_outgrown_scratch *next;
  char *memory;
  uint64_t size;
};

struct tcc_device_checks; /* DeviceChecks.c */

struct tcc_device_context {
  struct tcc_device_model *model;
  struct tcc_device_memory *memory; /* the heap's */
  struct tcc_heap *heap;
  char *arena, *state, *scratch; /* device memory */
  uint64_t scratch_size;
  struct tcc_outgrown_scratch *outgrown;
  bool was_captured; /* a run, which may be replayed as long as the context is there */
  struct tcc_device_stream *own, *stream; /* the context's, that of the current run */
  struct tcc_device_event *last;          /* end of the last run, if nobody waited for it */
  struct tcc_device_stream *last_stream;
  bool unfinished;                  /* `last` was recorded */
  struct tcc_device_checks *checks; /* NULL until a run has one */

  /* of the current run */
  uint32_t flags; /* TCC_RUN_* */
  bool captured;  /* into a graph: nothing runs now */
  bool waits;     /* for something that the host reads or that the device reads of the host */

  /* with TCC_PROFILE_DEVICE and TCC_PROFILE_KERNELS */
  struct tcc_device_event *begin, *end;
  uint64_t nanoseconds;
  struct tcc_device_time *times; /* of the run's launches; the events stay for the next */
  uint32_t num_times, most_times;
  struct tcc_kernel_time *kernels; /* as tcc_program.device_kernels; NULL without profile */
  struct tcc_ranges ranges;
};
tcc_status tcc_device_open(struct tcc_context *context, const tcc_context_options *options,
                           tcc_error *error);
void tcc_device_close(struct tcc_context *context);
void *tcc_device_take(struct tcc_device_memory *memory, size_t size);
void tcc_device_give(struct tcc_device_memory *memory, void *block, size_t size);
/* Ends the run when there is no memory. */
void *tcc_device_block(struct tcc_context *context, int64_t bytes);
/* Scratch memory of at least `bytes`, with its counters at zero. */
tcc_status tcc_device_grow_scratch(struct tcc_device_context *device, uint64_t bytes,
                                   tcc_error *error);
/* Times what the run starts from one to the other. */
tcc_status tcc_device_begin_time(struct tcc_device_context *device, uint32_t kernel,
                                 tcc_error *error);
tcc_status tcc_device_end_time(struct tcc_device_context *device, tcc_error *error);
/* Adds the times up; all work is done. */
tcc_status tcc_device_read_times(struct tcc_device_context *device, tcc_error *error);
/* For the last run that nobody waited for. */
tcc_status tcc_device_wait_for_last(struct tcc_device_context *device, tcc_error *error);
tcc_status tcc_device_synchronize(struct tcc_context *context, tcc_error *error);
void tcc_device_get_stats(const struct tcc_context *context, tcc_context_stats *stats);
bool tcc_device_kernel_info(const struct tcc_context *context, uint32_t index,
                            tcc_kernel_info *info);

/* ---- DeviceChecks.c ---- */

/* Looks at the checks of runs that were kept and are not read; `done`: the device is. The first
 * that failed is the error, and those that came by now are read with it. */
tcc_status tcc_device_read_checks(struct tcc_device_context *device, bool done, tcc_error *error);
/* The current run is queued as a whole, or it is not and its checks say nothing. */
void tcc_device_keep_checks(struct tcc_device_context *device);
void tcc_device_drop_checks(struct tcc_device_context *device);
void tcc_device_end_checks(struct tcc_device_context *device);

static inline tcc_device_address tcc_address(const void *pointer) {
  return (tcc_device_address)(uintptr_t)pointer;
}

#endif
