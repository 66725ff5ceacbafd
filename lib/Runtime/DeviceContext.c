/* What a context has on its device: a stream, memory, and the times of a profile.
 *
 * Blocks are reused in the order of the stream: what was started before a block was freed reads it
 * before what is started later writes it. A run in another stream than the last one first waits
 * for that one's end, so that this holds from run to run.
 */
#include "DeviceParts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void *tcc_device_take(struct tcc_device_memory *memory, size_t size) {
  const tcc_device_allocator *own = &memory->allocator;
  tcc_device_address block = 0;
  if (!own->alloc)
    memory->status =
        memory->model->driver->alloc(memory->model->device, size, &block, &memory->error);
  else if (!(block = tcc_address(own->alloc(own->user, size, memory->stream))))
    memory->status = tcc_set_error(&memory->error, TCC_OUT_OF_MEMORY,
                                   "GPU: the caller's allocator has no %zu bytes", size);
  return (void *)(uintptr_t)block;
}

void tcc_device_give(struct tcc_device_memory *memory, void *block, size_t size) {
  if (!block)
    return;
  if (memory->allocator.free)
    memory->allocator.free(memory->allocator.user, block, size, memory->stream);
  else
    memory->model->driver->free(memory->model->device, tcc_address(block));
}

static void *take(void *user, size_t size) { return tcc_device_take(user, size); }

static void give(void *user, void *block, size_t size) { tcc_device_give(user, block, size); }

static void memory_gone(void *user) {
  struct tcc_device_memory *memory = user;
  tcc_device_model_release(memory->model);
  free(memory);
}

static bool make_heap(struct tcc_device_context *device, const tcc_context_options *options) {
  device->memory = calloc(1, sizeof *device->memory);
  if (!device->memory)
    return false;
  device->memory->model = device->model;
  device->memory->allocator = options->device_allocator;
  device->memory->stream = device->own;
  struct tcc_memory source = {take, give, memory_gone, device->memory};
  device->heap = tcc_heap_create_foreign(&source);
  if (device->heap) {
    atomic_fetch_add(&device->model->references, 1);
    return true;
  }
  free(device->memory);
  device->memory = NULL;
  return false;
}

/* A failure to allocate as the user should read it. */
static tcc_status no_memory(struct tcc_device_context *device, const char *what, int64_t bytes,
                            tcc_error *error) {
  if (device->memory->status != TCC_OUT_OF_MEMORY)
    return tcc_set_error(error, device->memory->status, "%s", device->memory->error.message);
  return tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: no memory on %s for %s%" PRId64 " bytes",
                       device->model->info.name, what, bytes);
}

void *tcc_device_block(struct tcc_context *context, int64_t bytes) {
  struct tcc_device_context *device = context->device;
  device->memory->status = TCC_OUT_OF_MEMORY;
  void *block = tcc_heap_alloc(device->heap, bytes);
  if (!block && bytes < 0)
    tcc_leave_run(context, tcc_set_error(context->error, TCC_OUT_OF_MEMORY,
                                         "the size of a tensor overflows"));
  if (!block)
    tcc_leave_run(context, no_memory(device, "a tensor of ", bytes, context->error));
  return block;
}

static tcc_status fixed_memory(struct tcc_device_context *device, const char *what, uint64_t bytes,
                               char **block, tcc_error *error) {
  if (!bytes)
    return TCC_OK;
  *block = tcc_device_take(device->memory, bytes);
  return *block ? TCC_OK : no_memory(device, what, (int64_t)bytes, error);
}

static tcc_status fill_state(struct tcc_device_context *device, tcc_error *error) {
  const struct tcc_device_driver *driver = device->model->driver;
  TCC_TRY(driver->clear(device->model->device, device->own, tcc_address(device->state),
                        tcc_program.device_state_size, error));
  for (uint32_t i = 0; i < tcc_program.num_state_inits; ++i) {
    const struct tcc_state_init *init = &tcc_program.state_inits[i];
    TCC_TRY(driver->copy(device->model->device, device->own,
                         tcc_address(device->state) + init->state_offset,
                         device->model->weights + init->weights_offset, init->size, error));
  }
  return TCC_OK;
}

/* ---- life ---- */

static tcc_status prepare_profile(struct tcc_device_context *device, uint32_t profile,
                                  tcc_error *error) {
  const struct tcc_device_driver *driver = device->model->driver;
  if (profile & TCC_PROFILE_DEVICE) {
    TCC_TRY(driver->event_create(device->model->device, &device->begin, error));
    TCC_TRY(driver->event_create(device->model->device, &device->end, error));
  }
  if (profile & TCC_PROFILE_RANGES)
    TCC_TRY(tcc_ranges_open(&device->ranges, error));
  if (!(profile & TCC_PROFILE_KERNELS))
    return TCC_OK;
  device->kernels = calloc(tcc_program.num_device_kernels + 1, sizeof *device->kernels);
  return device->kernels ? TCC_OK
                         : tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for a context");
}

static tcc_status prepare(struct tcc_device_context *device, const tcc_context_options *options,
                          tcc_error *error) {
  const struct tcc_device_driver *driver = device->model->driver;
  TCC_TRY(driver->stream_create(device->model->device, &device->own, error));
  TCC_TRY(driver->event_create(device->model->device, &device->last, error));
  if (!make_heap(device, options))
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for a context");
  TCC_TRY(fixed_memory(device, "the model's arena, ", tcc_program.device_arena_size, &device->arena,
                       error));
  TCC_TRY(fixed_memory(device, "the model's state, ", tcc_program.device_state_size, &device->state,
                       error));
  if (device->state)
    TCC_TRY(fill_state(device, error));
  TCC_TRY(prepare_profile(device, options->profile, error));
  return driver->synchronize(device->model->device, device->own, error);
}

tcc_status tcc_device_open(struct tcc_context *context, const tcc_context_options *options,
                           tcc_error *error) {
  const struct tcc_device_driver *driver = tcc_program.device_driver;
  DLDevice where = options->device;
  if ((int)where.device_type && where.device_type != driver->dlpack)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "this model's code is for %s, not for devices of type %d", driver->kind,
                         (int)where.device_type);
  struct tcc_device_context *device = calloc(1, sizeof *device);
  if (!device)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for a context");
  tcc_status status = tcc_device_model_open(context->model, where.device_id, &device->model, error);
  if (status) {
    free(device);
    return status;
  }
  context->device = device; /* the rest is closed with the context */
  return prepare(device, options, error);
}

static void destroy_event(struct tcc_device_context *device, struct tcc_device_event *event) {
  if (event)
    device->model->driver->event_destroy(device->model->device, event);
}

tcc_status tcc_device_wait_for_last(struct tcc_device_context *device, tcc_error *error) {
  float unused;
  return device->model->driver->event_milliseconds(device->model->device, device->last,
                                                   device->last, &unused, error);
}

tcc_status tcc_device_synchronize(struct tcc_context *context, tcc_error *error) {
  if (context->device->unfinished)
    TCC_TRY(tcc_device_wait_for_last(context->device, error));
  return tcc_device_read_checks(context->device, true, error);
}

void tcc_device_close(struct tcc_context *context) {
  struct tcc_device_context *device = context->device;
  const struct tcc_device_driver *driver = device->model->driver;
  if (device->unfinished)
    (void)tcc_device_wait_for_last(device, NULL);
  tcc_device_end_checks(device);
  if (device->memory) {
    tcc_device_give(device->memory, device->arena, tcc_program.device_arena_size);
    tcc_device_give(device->memory, device->state, tcc_program.device_state_size);
    tcc_device_give(device->memory, device->scratch, device->scratch_size);
    for (struct tcc_outgrown_scratch *one = device->outgrown, *next; one; one = next) {
      next = one->next;
      tcc_device_give(device->memory, one->memory, one->size);
      free(one);
    }
    device->memory->stream = NULL;
  }
  tcc_heap_release(device->heap);
  for (uint32_t i = 0; i < device->most_times; ++i) {
    destroy_event(device, device->times[i].begin);
    destroy_event(device, device->times[i].end);
  }
  free(device->times);
  free(device->kernels);
  destroy_event(device, device->begin);
  destroy_event(device, device->end);
  destroy_event(device, device->last);
  if (device->own)
    driver->stream_destroy(device->model->device, device->own);
  tcc_device_model_release(device->model);
  free(device);
  context->device = NULL;
}

/* ---- scratch ---- */

/* Gives the scratch memory up, later if a graph may use it. */
static tcc_status outgrow(struct tcc_device_context *device, tcc_error *error) {
  if (!device->was_captured || !device->scratch) {
    tcc_device_give(device->memory, device->scratch, device->scratch_size);
    return TCC_OK;
  }
  struct tcc_outgrown_scratch *outgrown = malloc(sizeof *outgrown);
  if (!outgrown)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for a run");
  *outgrown =
      (struct tcc_outgrown_scratch){device->outgrown, device->scratch, device->scratch_size};
  device->outgrown = outgrown;
  return TCC_OK;
}

tcc_status tcc_device_grow_scratch(struct tcc_device_context *device, uint64_t bytes,
                                   tcc_error *error) {
  const struct tcc_device_model *model = device->model;
  TCC_TRY(outgrow(device, error));
  device->scratch = NULL;
  device->scratch_size = 0;
  device->scratch = tcc_device_take(device->memory, bytes);
  if (!device->scratch)
    return tcc_set_error(error, device->memory->status, "%s", device->memory->error.message);
  device->scratch_size = bytes;
  /* Of a graph, replays alone would clear the counters. */
  struct tcc_device_stream *stream = device->captured ? device->own : device->stream;
  TCC_TRY(model->driver->clear(model->device, stream, tcc_address(device->scratch),
                               TCC_SCRATCH_COUNTERS, error));
  return device->captured ? model->driver->synchronize(model->device, stream, error) : TCC_OK;
}

/* ---- times ---- */

tcc_status tcc_device_begin_time(struct tcc_device_context *device, uint32_t kernel,
                                 tcc_error *error) {
  const struct tcc_device_driver *driver = device->model->driver;
  if (device->num_times == device->most_times) {
    uint32_t most = device->most_times ? 2 * device->most_times : 64;
    struct tcc_device_time *more = realloc(device->times, most * sizeof *more);
    if (!more)
      return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for a profile");
    memset(more + device->most_times, 0, (most - device->most_times) * sizeof *more);
    device->times = more;
    device->most_times = most;
  }
  struct tcc_device_time *time = &device->times[device->num_times];
  if (!time->begin)
    TCC_TRY(driver->event_create(device->model->device, &time->begin, error));
  if (!time->end)
    TCC_TRY(driver->event_create(device->model->device, &time->end, error));
  time->kernel = kernel;
  return driver->event_record(device->model->device, device->stream, time->begin, error);
}

tcc_status tcc_device_end_time(struct tcc_device_context *device, tcc_error *error) {
  struct tcc_device_time *time = &device->times[device->num_times++];
  return device->model->driver->event_record(device->model->device, device->stream, time->end,
                                             error);
}

static tcc_status add_time(struct tcc_device_context *device, struct tcc_device_event *begin,
                           struct tcc_device_event *end, _Atomic uint64_t *sum, tcc_error *error) {
  float milliseconds;
  TCC_TRY(device->model->driver->event_milliseconds(device->model->device, begin, end,
                                                    &milliseconds, error));
  atomic_fetch_add(sum, (uint64_t)((double)milliseconds * 1e6));
  return TCC_OK;
}

tcc_status tcc_device_read_times(struct tcc_device_context *device, tcc_error *error) {
  _Atomic uint64_t all = 0;
  if (device->begin)
    TCC_TRY(add_time(device, device->begin, device->end, &all, error));
  device->nanoseconds = atomic_load(&all);
  for (uint32_t i = 0; i < device->num_times; ++i) {
    const struct tcc_device_time *time = &device->times[i];
    struct tcc_kernel_time *kernel = &device->kernels[time->kernel];
    TCC_TRY(add_time(device, time->begin, time->end, &kernel->nanoseconds, error));
    atomic_fetch_add(&kernel->calls, 1);
  }
  return TCC_OK;
}

/* ---- what is told ---- */

void tcc_device_get_stats(const struct tcc_context *context, tcc_context_stats *stats) {
  const struct tcc_device_context *device = context->device;
  uint64_t held, peak,
      fixed =
          tcc_program.device_arena_size + tcc_program.device_state_size + tcc_program.weights_size;
  tcc_heap_usage(device->heap, &held, &peak);
  stats->device = (DLDevice){device->model->driver->dlpack, device->model->ordinal};
  stats->device_static_bytes = fixed;
  stats->device_peak_bytes = fixed + device->scratch_size + peak;
  stats->device_held_bytes = fixed + device->scratch_size + held;
  stats->device_nanoseconds = device->nanoseconds;
}

bool tcc_device_kernel_info(const struct tcc_context *context, uint32_t index,
                            tcc_kernel_info *info) {
  const struct tcc_device_context *device = context->device;
  if (!device->kernels || index >= tcc_program.num_device_kernels)
    return false;
  const struct tcc_device_kernel_desc *desc = &tcc_program.device_kernels[index];
  tcc_kernel_info full = {.struct_size = info->struct_size,
                          .name = desc->name,
                          .calls = atomic_load(&device->kernels[index].calls),
                          .nanoseconds = atomic_load(&device->kernels[index].nanoseconds),
                          .sources = desc->sources};
  memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
  return true;
}
