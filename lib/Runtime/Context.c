/* One run's memory and threads.
 *
 * Made once and used by many runs: opening a context allocates, a run does not, as far as sizes
 * are known. Every context has its own state and arena, so that two of one model never meet.
 */
#include "Internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare_kernels(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)((const struct tcc_kernel_time *)a)->fn;
  uintptr_t y = (uintptr_t)((const struct tcc_kernel_time *)b)->fn;
  return x < y ? -1 : x > y;
}

static bool prepare_profile(struct tcc_context *context) {
  context->kernels = calloc(tcc_program.num_kernels + 1, sizeof *context->kernels);
  if (!context->kernels)
    return false;
  for (uint32_t i = 0; i < tcc_program.num_kernels; ++i) {
    context->kernels[i].fn = tcc_program.kernels[i].fn;
    context->kernels[i].index = i;
  }
  qsort(context->kernels, tcc_program.num_kernels, sizeof *context->kernels, compare_kernels);
  return true;
}

static bool prepare_tables(struct tcc_context *context) {
  context->inputs = calloc(tcc_program.num_inputs + 1, sizeof *context->inputs);
  context->outputs = calloc(tcc_program.num_outputs + 1, sizeof *context->outputs);
  context->ranks = calloc(tcc_program.num_inputs + 1, sizeof *context->ranks);
  context->symbols = calloc(tcc_program.num_symbols + 1, sizeof *context->symbols);
  context->symbol_inputs = calloc(tcc_program.num_symbols + 1, sizeof *context->symbol_inputs);
  return context->inputs && context->outputs && context->ranks && context->symbols &&
         context->symbol_inputs;
}

static bool prepare_memory(struct tcc_context *context) {
  const tcc_allocator *allocator = &context->allocator;
  context->heap = tcc_heap_create(allocator);
  if (!context->heap)
    return false;
  if (tcc_program.arena_size) {
    context->arena = tcc_memory_alloc(allocator, tcc_program.arena_size);
    if (!context->arena)
      return false;
  }
  if (!tcc_program.state_size)
    return true; /* or it lies on the device */
  context->state = tcc_memory_alloc(allocator, tcc_program.state_size);
  if (!context->state)
    return false;
  memset(context->state, 0, tcc_program.state_size);
  for (uint32_t i = 0; i < tcc_program.num_state_inits; ++i) {
    const struct tcc_state_init *init = &tcc_program.state_inits[i];
    memcpy(context->state + init->state_offset, context->model->weights + init->weights_offset,
           init->size);
  }
  return true;
}

static bool prepare_threads(struct tcc_context *context, uint32_t threads) {
  if (context->foreign.parallel)
    return true;
  context->pool = tcc_pool_create(threads ? threads : tcc_usable_cores());
  return context->pool != NULL;
}

static tcc_status check_options(const tcc_context_options *options, tcc_error *error) {
  if (!options->allocator.alloc != !options->allocator.free)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "an allocator needs both its alloc and its free function");
  if (options->thread_pool.parallel && !options->thread_pool.concurrency)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "a thread pool needs a concurrency above 0");
  if (!options->device_allocator.alloc != !options->device_allocator.free)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "an allocator of the device needs both its alloc and its free function");
  if (options->threads > 4096)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT, "%u threads are more than the 4096 allowed",
                         options->threads);
  if (!tcc_program.device_runtime && (int)options->device.device_type &&
      options->device.device_type != kDLCPU)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "this model has no code for GPUs: compile it with --arch");
  return TCC_OK;
}

tcc_status tcc_context_create(tcc_model *model, const tcc_context_options *options,
                              tcc_context **result, tcc_error *error) {
  if (!model || !result)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "tcc_context_create: model or context is NULL");
  *result = NULL;
  tcc_context_options known = {0};
  if (options) {
    size_t size = options->struct_size < sizeof known ? options->struct_size : sizeof known;
    memcpy(&known, options, size);
  }
  tcc_status status = check_options(&known, error);
  if (status)
    return status;
  struct tcc_context *context = calloc(1, sizeof *context);
  if (!context)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "no memory for a context");
  atomic_fetch_add(&model->references, 1);
  context->model = model;
  context->allocator = known.allocator;
  context->foreign = known.thread_pool;
  if (!prepare_tables(context) || !prepare_memory(context) ||
      !tcc_random_create(&context->random) || !prepare_threads(context, known.threads) ||
      (known.profile & TCC_PROFILE_KERNELS && !prepare_profile(context))) {
    tcc_context_destroy(context);
    return tcc_set_error(error, TCC_OUT_OF_MEMORY,
                         "no memory for a context: the model's arena and state take %" PRIu64
                         " bytes",
                         tcc_program.arena_size + tcc_program.state_size);
  }
  if (tcc_program.device_runtime)
    status = tcc_program.device_runtime->open(context, &known, error);
  if (status) {
    tcc_context_destroy(context);
    return status;
  }
  *result = context;
  return TCC_OK;
}

void tcc_context_destroy(tcc_context *context) {
  if (!context)
    return;
  if (context->device)
    tcc_program.device_runtime->close(context);
  tcc_pool_destroy(context->pool);
  tcc_heap_release(context->heap);
  tcc_memory_free(&context->allocator, context->arena, tcc_program.arena_size);
  tcc_memory_free(&context->allocator, context->state, tcc_program.state_size);
  tcc_random_destroy(&context->random);
  free(context->inputs);
  free(context->outputs);
  free(context->ranks);
  free(context->symbols);
  free(context->symbol_inputs);
  free(context->kernels);
  tcc_model_release(context->model);
  free(context);
}

tcc_status tcc_context_get_stats(const tcc_context *context, tcc_context_stats *stats) {
  if (!context || !stats)
    return TCC_INVALID_ARGUMENT;
  uint64_t held, peak, fixed = tcc_program.arena_size + tcc_program.state_size;
  tcc_heap_usage(context->heap, &held, &peak);
  tcc_context_stats full = {.struct_size = stats->struct_size,
                            .device = {kDLCPU, 0},
                            .runs = atomic_load(&context->runs),
                            .static_bytes = fixed,
                            .peak_bytes = fixed + peak,
                            .held_bytes = fixed + held,
                            .threads = context->pool ? tcc_pool_threads(context->pool)
                                                     : context->foreign.concurrency};
  if (context->device)
    tcc_program.device_runtime->get_stats(context, &full);
  memcpy(stats, &full, stats->struct_size < sizeof full ? stats->struct_size : sizeof full);
  return TCC_OK;
}

tcc_status tcc_context_kernel(const tcc_context *context, uint32_t index, tcc_kernel_info *info) {
  if (!context || !info || !context->kernels)
    return TCC_INVALID_ARGUMENT;
  if (index >= tcc_program.num_kernels) {
    index -= tcc_program.num_kernels;
    bool known = context->device && tcc_program.device_runtime->kernel(context, index, info);
    return known ? TCC_OK : TCC_INVALID_ARGUMENT;
  }
  for (uint32_t i = 0; i < tcc_program.num_kernels; ++i) {
    const struct tcc_kernel_time *time = &context->kernels[i];
    if (time->index != index)
      continue;
    tcc_kernel_info full = {.struct_size = info->struct_size,
                            .name = tcc_program.kernels[index].name,
                            .calls = atomic_load(&time->calls),
                            .nanoseconds = atomic_load(&time->nanoseconds),
                            .sources = tcc_program.kernels[index].sources};
    memcpy(info, &full, info->struct_size < sizeof full ? info->struct_size : sizeof full);
  }
  return TCC_OK;
}

/* ---- kernels ---- */

static struct tcc_kernel_time *find_kernel(struct tcc_context *context, tcc_kernel_fn fn) {
  struct tcc_kernel_time key = {.fn = fn};
  return bsearch(&key, context->kernels, tcc_program.num_kernels, sizeof key, compare_kernels);
}

/* Eight chunks a thread even out what other processes take away, at little cost; as many for each
 * thread where there are enough. tasks > grain. */
static struct tcc_job cut(tcc_kernel_fn kernel, int64_t *args, int64_t tasks, int64_t grain,
                          uint32_t threads) {
  int64_t chunks = (int64_t)threads * 8, most = grain > 1 ? tasks / grain : tasks;
  if (chunks > most)
    chunks = most > threads ? most - most % threads : most;
  return (struct tcc_job){kernel, args, tasks, (uint32_t)chunks};
}

static void run_job(struct tcc_context *context, tcc_kernel_fn kernel, int64_t *args, int64_t tasks,
                    int64_t grain) {
  uint32_t threads = context->pool ? tcc_pool_threads(context->pool) : context->foreign.concurrency;
  if (threads <= 1 || tasks <= grain) {
    kernel(args, 0, tasks);
    return;
  }
  struct tcc_job job = cut(kernel, args, tasks, grain, threads);
  if (context->pool)
    tcc_pool_run(context->pool, &job);
  else
    tcc_pool_run_foreign(&context->foreign, &job);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t tcc_profile_begin(const struct tcc_context *context) {
  return context->kernels ? now() : 0;
}

void tcc_profile_end(struct tcc_context *context, tcc_kernel_fn fn, uint64_t begin) {
  struct tcc_kernel_time *time = context->kernels ? find_kernel(context, fn) : NULL;
  if (!time)
    return;
  atomic_fetch_add(&time->calls, 1);
  atomic_fetch_add(&time->nanoseconds, now() - begin);
}

void tcc_rt_parallel(struct tcc_frame *frame, tcc_kernel_fn kernel, int64_t *args, int64_t tasks,
                     int64_t grain) {
  struct tcc_context *context = frame->ctx;
  if (tasks <= 0)
    return;
  uint64_t begin = tcc_profile_begin(context);
  run_job(context, kernel, args, tasks, grain);
  tcc_profile_end(context, kernel, begin);
}

/* ---- copies ---- */

#define COPY_BYTES (1 << 18) /* that one thread copies in one go */

static void copy_task(int64_t *args, int64_t begin, int64_t end) {
  int64_t bytes = args[2], from = begin * COPY_BYTES, to = end * COPY_BYTES;
  if (to > bytes)
    to = bytes;
  memcpy((char *)(intptr_t)args[0] + from, (const char *)(intptr_t)args[1] + from,
         (size_t)(to - from));
}

void tcc_rt_copy_host(struct tcc_frame *frame, void *to, const void *from, int64_t bytes) {
  if (bytes < 4 * COPY_BYTES) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  int64_t args[] = {(int64_t)(intptr_t)to, (int64_t)(intptr_t)from, bytes};
  run_job(frame->ctx, copy_task, args, (bytes + COPY_BYTES - 1) / COPY_BYTES, 1);
}
