/* The state of a context's random numbers: which seed, and how many draws so far. The numbers come
 * from kernels (prim.random_bits), so that nothing here depends on threads or on the size of a
 * tensor: a draw takes one offset, whatever it is for.
 */
#include "Internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static size_t counts_size(void) { return (tcc_program.num_generators + 1) * sizeof(int64_t); }

/* Two contexts differ even where the system has no entropy to give. */
static uint64_t unknown_seed(const void *unique) {
  uint64_t seed;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == sizeof seed)
    return seed;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * 0x9e3779b97f4a7c15u ^
         (uint64_t)(uintptr_t)unique;
}

bool tcc_random_create(struct tcc_random *random) {
  random->counts = calloc(1, counts_size());
  random->of_run = calloc(1, counts_size());
  if (!random->counts || !random->of_run)
    return false;
  random->seed = unknown_seed(random);
  return true;
}

void tcc_random_destroy(struct tcc_random *random) {
  free(random->counts);
  free(random->of_run);
}

void tcc_random_begin_run(struct tcc_random *random) {
  memcpy(random->of_run, random->counts, counts_size());
}

void tcc_random_keep_run(struct tcc_random *random) {
  memcpy(random->counts, random->of_run, counts_size());
}

tcc_status tcc_context_set_seed(tcc_context *context, uint64_t seed) {
  if (!context)
    return TCC_INVALID_ARGUMENT;
  if (atomic_exchange(&context->busy, true))
    return TCC_BUSY;
  context->random.seed = seed;
  memset(context->random.counts, 0, counts_size());
  atomic_store(&context->busy, false);
  return TCC_OK;
}

int64_t tcc_rt_random_seed(struct tcc_frame *frame) { return (int64_t)frame->ctx->random.seed; }

int64_t tcc_rt_random_draw(struct tcc_frame *frame, int64_t generator) {
  return frame->ctx->random.of_run[generator]++;
}
