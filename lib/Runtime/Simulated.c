/* A device that is this machine: tests run whole models on it, host program, runtime and kernels.
 *
 * Kernels are functions of the library whose thread numbers, barriers and lane exchanges are calls
 * of what stands here. Blocks run one after the other, for kernels keep a block's shared memory in
 * variables of the library; one launch at a time. Threads that never wait for each other are a
 * loop, others are fibers, run in an order that differs from launch to launch and repeats from
 * process to process. What is queued in a stream is done at once.
 *
 * Memory of the device can be touched in launches and copies alone, and ends where a page does that
 * nobody may touch: a host that reads an address of the device, and most kernels that leave their
 * tensor, meet a fault. New memory is full of a pattern that is no number.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "DeviceParts.h"
#include "Simulated.h"

enum { WARP = 32, MOST_THREADS = 1024, STACK = 256 << 10, ALIGNMENT = 256, FRESH = 0xff };

struct block {
  struct block *next;
  char *map, *bytes;
  size_t map_size, size;
};
struct tcc_device_event {
  struct timespec at;
};

/* Of launches, copies and the list of blocks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;

/* ---- threads of a block ---- */

enum waits { NOTHING, THE_WARP, THE_BLOCK };

struct fiber {
  ucontext_t start;
  jmp_buf at;
  char *stack;
  bool started, done;
  enum waits waits;
  uint32_t turn;     /* of the two slots below */
  uint64_t slots[2]; /* what it gives to the other lanes */
};

static struct {
  struct fiber *fibers; /* MOST_THREADS; made by the first launch that needs them */
  jmp_buf scheduler;
  uint32_t thread, threads, block, launches, devices;
  uint32_t order[MOST_THREADS];
  tcc_simulated_fn kernel;
  const uint64_t *words;
} machine;

uint32_t tcc_sim_thread(void) { return machine.thread; }
uint32_t tcc_sim_block(void) { return machine.block; }

static void leave_fiber(void) {
  struct fiber *fiber = &machine.fibers[machine.thread];
  if (!_setjmp(fiber->at))
    longjmp(machine.scheduler, 1);
}

static void wait_for(enum waits what) {
  machine.fibers[machine.thread].waits = what;
  leave_fiber();
}

void tcc_sim_barrier(void) { wait_for(THE_BLOCK); }
void tcc_sim_warp_barrier(void) { wait_for(THE_WARP); }

uint64_t *tcc_sim_share(uint64_t word, uint64_t lanes[32]) {
  struct fiber *fiber = &machine.fibers[machine.thread];
  uint32_t turn = fiber->turn++ % 2, first = machine.thread / WARP * WARP;
  fiber->slots[turn] = word;
  wait_for(THE_WARP);
  for (uint32_t i = 0; i < WARP; ++i)
    lanes[i] = machine.fibers[first + i].slots[turn];
  return lanes;
}

uint32_t tcc_sim_exchange(uint32_t word, uint32_t distance) {
  uint64_t lanes[WARP];
  return (uint32_t)tcc_sim_share(word, lanes)[(machine.thread % WARP) ^ distance];
}

uint32_t tcc_sim_ballot(uint32_t vote) {
  uint64_t lanes[WARP];
  tcc_sim_share(vote, lanes);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < WARP; ++i)
    bits |= (uint32_t)lanes[i] << i;
  return bits;
}

/* One block after the other. */
static void fiber_main(void) {
  for (;;) {
    machine.kernel(machine.words);
    machine.fibers[machine.thread].done = true;
    leave_fiber();
  }
}

static void enter_fiber(struct fiber *fiber) {
  if (_setjmp(machine.scheduler))
    return;
  if (fiber->started)
    longjmp(fiber->at, 1);
  fiber->started = true;
  getcontext(&fiber->start);
  fiber->start.uc_stack.ss_sp = fiber->stack;
  fiber->start.uc_stack.ss_size = STACK;
  makecontext(&fiber->start, fiber_main, 0);
  setcontext(&fiber->start);
}

static bool make_fibers(void) {
  if (machine.fibers)
    return true;
  char *stacks = mmap(NULL, (size_t)MOST_THREADS * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED)
    return false;
  machine.fibers = calloc(MOST_THREADS, sizeof *machine.fibers);
  if (!machine.fibers)
    munmap(stacks, (size_t)MOST_THREADS * STACK);
  for (uint32_t i = 0; machine.fibers && i < MOST_THREADS; ++i)
    machine.fibers[i].stack = stacks + (size_t)i * STACK;
  return machine.fibers != NULL;
}

static void free_fibers(void) {
  if (!machine.fibers)
    return;
  munmap(machine.fibers[0].stack, (size_t)MOST_THREADS * STACK);
  free(machine.fibers);
  machine.fibers = NULL;
}

/* Lets go whoever has all the others of its warp or block waiting with it. */
static bool release(uint32_t first, uint32_t count, enum waits what) {
  bool any = false;
  for (uint32_t i = first; i < first + count; ++i) {
    const struct fiber *fiber = &machine.fibers[i];
    if (!fiber->done && fiber->waits != what)
      return false;
    any |= !fiber->done;
  }
  for (uint32_t i = first; i < first + count; ++i)
    machine.fibers[i].waits = NOTHING;
  return any;
}

static bool run_fibers(void) {
  bool ran = false;
  for (uint32_t i = 0; i < machine.threads; ++i) {
    struct fiber *fiber = &machine.fibers[machine.order[i]];
    if (fiber->done || fiber->waits != NOTHING)
      continue;
    machine.thread = machine.order[i];
    enter_fiber(fiber);
    ran = true;
  }
  for (uint32_t first = 0; first < machine.threads; first += WARP)
    ran |=
        release(first, machine.threads - first < WARP ? machine.threads - first : WARP, THE_WARP);
  return release(0, machine.threads, THE_BLOCK) || ran;
}

/* False when threads wait that will never meet. */
static bool run_block(void) {
  tcc_sim_begin_block(machine.block + machine.launches);
  for (uint32_t i = 0; i < machine.threads; ++i) {
    machine.fibers[i].done = false;
    machine.fibers[i].turn = 0;
    machine.fibers[i].waits = NOTHING;
  }
  while (run_fibers()) {
  }
  for (uint32_t i = 0; i < machine.threads; ++i)
    if (!machine.fibers[i].done)
      return false;
  return true;
}

/* Another order of the threads for each launch, the same in each process. */
static void shuffle(void) {
  uint32_t random = ++machine.launches * 2654435761u | 1;
  for (uint32_t i = 0; i < machine.threads; ++i) {
    random = random * 1664525u + 1013904223u;
    uint32_t at = (random >> 8) % (i + 1);
    machine.order[i] = machine.order[at];
    machine.order[at] = i;
  }
}

static bool run_blocks(const struct tcc_device_launch *launch, bool meets) {
  for (machine.block = 0; machine.block < launch->blocks; ++machine.block) {
    if (meets && !run_block())
      return false;
    for (uint32_t i = 0; !meets && i < machine.threads; ++i) {
      machine.thread = machine.order[i];
      machine.kernel(machine.words);
    }
  }
  return true;
}

/* ---- memory ---- */

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* While `open`, the memory of the device may be touched. */
static void set_access(bool open) {
  for (struct block *block = blocks; block; block = block->next)
    mprotect(block->map, block->map_size - page_size(), open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static tcc_status sim_alloc(struct tcc_device *device, size_t bytes, tcc_device_address *memory,
                            tcc_error *error) {
  (void)device;
  size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
         data = (size + page_size() - 1) / page_size() * page_size();
  struct block *block = size < bytes || data < size ? NULL : calloc(1, sizeof *block);
  char *map = !block ? MAP_FAILED
                     : mmap(NULL, data + page_size(), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) {
    free(block);
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: no memory for %zu bytes", bytes);
  }
  *block = (struct block){NULL, map, map + data - size, data + page_size(), size};
  memset(map, FRESH, data);
  mprotect(map, block->map_size, PROT_NONE);
  pthread_mutex_lock(&lock);
  block->next = blocks;
  blocks = block;
  pthread_mutex_unlock(&lock);
  *memory = tcc_address(block->bytes);
  return TCC_OK;
}

static void sim_free(struct tcc_device *device, tcc_device_address memory) {
  (void)device;
  pthread_mutex_lock(&lock);
  struct block **link = &blocks;
  while (*link && tcc_address((*link)->bytes) != memory)
    link = &(*link)->next;
  struct block *block = *link;
  if (block)
    *link = block->next;
  pthread_mutex_unlock(&lock);
  if (!block)
    return;
  munmap(block->map, block->map_size);
  free(block);
}

static tcc_status sim_share(struct tcc_device *device, size_t bytes, void **host,
                            tcc_device_address *memory, tcc_error *error) {
  (void)device;
  *host = malloc(bytes);
  *memory = tcc_address(*host);
  return *host ? TCC_OK : tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: out of memory");
}

static void sim_unshare(struct tcc_device *device, void *host) {
  (void)device;
  free(host);
}

static tcc_status sim_check_memory(struct tcc_device *device, tcc_device_address memory,
                                   size_t bytes, tcc_error *error) {
  (void)device;
  pthread_mutex_lock(&lock);
  struct block *block = blocks;
  while (block && (memory < tcc_address(block->bytes) ||
                   memory + bytes > tcc_address(block->bytes) + block->size))
    block = block->next;
  pthread_mutex_unlock(&lock);
  return block ? TCC_OK
               : tcc_set_error(error, TCC_INVALID_ARGUMENT,
                               "GPU: 0x%llx is no memory of the simulated device",
                               (unsigned long long)memory);
}

static tcc_status move(void *to, const void *from, size_t bytes) {
  pthread_mutex_lock(&lock);
  set_access(true);
  memmove(to, from, bytes);
  set_access(false);
  pthread_mutex_unlock(&lock);
  return TCC_OK;
}

static tcc_status sim_copy_in(struct tcc_device *device, struct tcc_device_stream *stream,
                              tcc_device_address to, const void *from, size_t bytes,
                              tcc_error *error) {
  (void)device, (void)stream, (void)error;
  return move((void *)(uintptr_t)to, from, bytes);
}

static tcc_status sim_copy_out(struct tcc_device *device, struct tcc_device_stream *stream,
                               void *to, tcc_device_address from, size_t bytes, tcc_error *error) {
  (void)device, (void)stream, (void)error;
  return move(to, (const void *)(uintptr_t)from, bytes);
}

static tcc_status sim_copy(struct tcc_device *device, struct tcc_device_stream *stream,
                           tcc_device_address to, tcc_device_address from, size_t bytes,
                           tcc_error *error) {
  (void)device, (void)stream, (void)error;
  return move((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
}

static tcc_status sim_clear(struct tcc_device *device, struct tcc_device_stream *stream,
                            tcc_device_address memory, size_t bytes, tcc_error *error) {
  (void)device, (void)stream, (void)error;
  pthread_mutex_lock(&lock);
  set_access(true);
  memset((void *)(uintptr_t)memory, 0, bytes);
  set_access(false);
  pthread_mutex_unlock(&lock);
  return TCC_OK;
}

/* ---- the device ---- */

static tcc_status sim_open(int32_t ordinal, struct tcc_device **opened,
                           struct tcc_device_info *info, tcc_error *error) {
  if (ordinal != 0)
    return tcc_set_error(error, TCC_INVALID_ARGUMENT,
                         "GPU: there is no device %d; 1 simulated one is visible", ordinal);
  struct tcc_device *device = malloc(1);
  if (!device)
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: out of memory");
  pthread_mutex_lock(&lock);
  ++machine.devices;
  pthread_mutex_unlock(&lock);
  *opened = device;
  *info = (struct tcc_device_info){.name = "the simulated device", .multiprocessors = 1};
  return TCC_OK;
}

static void sim_close(struct tcc_device *device) {
  pthread_mutex_lock(&lock);
  if (--machine.devices == 0)
    free_fibers();
  pthread_mutex_unlock(&lock);
  free(device);
}

/* Code is the kernel's function. */
static tcc_status sim_load(struct tcc_device *device, const void *image,
                           struct tcc_device_code **code, tcc_error *error) {
  (void)device, (void)error;
  *code = (struct tcc_device_code *)(uintptr_t)image;
  return TCC_OK;
}

static void sim_unload(struct tcc_device *device, struct tcc_device_code *code) {
  (void)device, (void)code;
}

static tcc_status sim_kernel(struct tcc_device *device, struct tcc_device_code *code,
                             const char *name, const struct tcc_device_image *image,
                             struct tcc_device_kernel **kernel, bool *narrow, tcc_error *error) {
  (void)device, (void)code, (void)narrow;
  if (image->threads > MOST_THREADS || image->num_maps)
    return tcc_set_error(error, TCC_INTERNAL, "GPU: kernel '%s' cannot be simulated", name);
  *kernel = (struct tcc_device_kernel *)(uintptr_t)image;
  return TCC_OK;
}

static tcc_status run_launch(const struct tcc_device_launch *launch, tcc_error *error) {
  const struct tcc_device_image *image = (const void *)launch->kernel;
  bool meets = image->flags & TCC_IMAGE_MEETS;
  if (meets && !make_fibers())
    return tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: no memory for threads");
  machine.kernel = (tcc_simulated_fn)(uintptr_t)image->code;
  machine.words = launch->words;
  machine.threads = launch->threads;
  shuffle();
  set_access(true);
  bool met = run_blocks(launch, meets);
  set_access(false);
  if (met)
    return TCC_OK;
  free_fibers(); /* those in the middle of the kernel cannot go on */
  return tcc_set_error(error, TCC_INTERNAL,
                       "GPU: a barrier of the kernel is not reached by all threads");
}

static tcc_status sim_launch(struct tcc_device *device, struct tcc_device_stream *stream,
                             const struct tcc_device_launch *launch, tcc_error *error) {
  (void)device, (void)stream;
  pthread_mutex_lock(&lock);
  tcc_status status = run_launch(launch, error);
  pthread_mutex_unlock(&lock);
  return status;
}

static tcc_status sim_tensor_map(struct tcc_device *device, const struct tcc_tensor_map *map,
                                 struct tcc_encoded_tensor_map *encoded, tcc_error *error) {
  (void)device, (void)map, (void)encoded;
  return tcc_set_error(error, TCC_INTERNAL, "GPU: tensor maps are not simulated");
}

/* ---- streams and events ---- */

static tcc_status sim_stream_create(struct tcc_device *device, struct tcc_device_stream **stream,
                                    tcc_error *error) {
  (void)device;
  *stream = malloc(1);
  return *stream ? TCC_OK : tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: out of memory");
}

static void sim_stream_destroy(struct tcc_device *device, struct tcc_device_stream *stream) {
  (void)device;
  free(stream);
}

static tcc_status sim_synchronize(struct tcc_device *device, struct tcc_device_stream *stream,
                                  tcc_error *error) {
  (void)device, (void)stream, (void)error;
  return TCC_OK;
}

static tcc_status sim_event_create(struct tcc_device *device, struct tcc_device_event **event,
                                   tcc_error *error) {
  (void)device;
  *event = calloc(1, sizeof **event);
  return *event ? TCC_OK : tcc_set_error(error, TCC_OUT_OF_MEMORY, "GPU: out of memory");
}

static void sim_event_destroy(struct tcc_device *device, struct tcc_device_event *event) {
  (void)device;
  free(event);
}

static tcc_status sim_event_record(struct tcc_device *device, struct tcc_device_stream *stream,
                                   struct tcc_device_event *event, tcc_error *error) {
  (void)device, (void)stream, (void)error;
  clock_gettime(CLOCK_MONOTONIC, &event->at);
  return TCC_OK;
}

static tcc_status sim_event_wait(struct tcc_device *device, struct tcc_device_stream *stream,
                                 struct tcc_device_event *event, tcc_error *error) {
  (void)device, (void)stream, (void)event, (void)error;
  return TCC_OK;
}

static tcc_status sim_event_milliseconds(struct tcc_device *device, struct tcc_device_event *from,
                                         struct tcc_device_event *to, float *milliseconds,
                                         tcc_error *error) {
  (void)device, (void)error;
  *milliseconds = (float)(to->at.tv_sec - from->at.tv_sec) * 1e3f +
                  (float)(to->at.tv_nsec - from->at.tv_nsec) * 1e-6f;
  return TCC_OK;
}

const struct tcc_device_driver tcc_simulated = {
    .kind = "the simulated device",
    .dlpack = kDLExtDev,
    .arch_flags = TCC_ARCH_SIMULATED,
    .open = sim_open,
    .close = sim_close,
    .load = sim_load,
    .unload = sim_unload,
    .kernel = sim_kernel,
    .alloc = sim_alloc,
    .free = sim_free,
    .share = sim_share,
    .unshare = sim_unshare,
    .check_memory = sim_check_memory,
    .copy_in = sim_copy_in,
    .copy_out = sim_copy_out,
    .copy = sim_copy,
    .clear = sim_clear,
    .stream_create = sim_stream_create,
    .stream_destroy = sim_stream_destroy,
    .launch = sim_launch,
    .tensor_map = sim_tensor_map,
    .synchronize = sim_synchronize,
    .event_create = sim_event_create,
    .event_destroy = sim_event_destroy,
    .event_record = sim_event_record,
    .event_wait = sim_event_wait,
    .event_milliseconds = sim_event_milliseconds,
};
