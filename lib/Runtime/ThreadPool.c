/* A pool for many short parallel loops.
 *
 * Kernels take from 10 us to some ms and follow each other closely, so a worker first spins for the
 * next job and sleeps on a futex only after SPIN_NS. The calling thread works too, and takes every
 * chunk that no worker has claimed: a job never waits for a thread that has not woken up, which
 * also makes a forked child, whose workers are gone, slow instead of stuck.
 *
 * One 64-bit word, `ticket`, holds the job's number and how many chunks are unclaimed. A thread
 * claims one by a compare-and-swap that takes one off; only then does it read the job's fields,
 * which stay as they are until that chunk is counted as done. A worker that was late for job n can
 * therefore never run a chunk of job n with the fields of job n+1.
 *
 * A job started while another one runs (from inside a kernel) is run by its caller alone.
 */
#include "Internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NS = 100000, SPINS_PER_LOOK = 64, STACK_BYTES = 4 << 20 };

struct tcc_pool {
  _Alignas(64) _Atomic uint64_t ticket;  /* job number << 32 | unclaimed chunks */
  _Alignas(64) _Atomic uint32_t pending; /* chunks not done; futex of the caller */
  _Atomic uint32_t caller_sleeps;
  _Alignas(64) _Atomic uint32_t signal; /* counts jobs; futex of the workers */
  _Atomic uint32_t sleepers;
  atomic_bool stop;
  _Alignas(64) struct tcc_job job;
  atomic_bool busy;
  uint32_t wanted, started; /* workers, without the caller */
  bool tried;               /* to start them */
  pid_t process;
  pthread_t workers[];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void run_chunk(const struct tcc_job *job, uint32_t index) {
  int64_t begin = (int64_t)index * job->chunk;
  int64_t left = job->tasks - begin;
  job->kernel(job->args, begin, begin + (left < job->chunk ? left : job->chunk));
}

/* Runs chunks until none is unclaimed. */
static void work(struct tcc_pool *pool) {
  uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
  while ((uint32_t)ticket != 0) {
    if (!atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket - 1,
                                               memory_order_acq_rel, memory_order_acquire))
      continue;
    run_chunk(&pool->job, pool->job.chunks - (uint32_t)ticket);
    if (atomic_fetch_sub(&pool->pending, 1) == 1 && atomic_load(&pool->caller_sleeps))
      futex_wake(&pool->pending, 1);
    ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
  }
}

/* True when `*word` left `value` within the spinning time. */
static bool spin_while(_Atomic uint32_t *word, uint32_t value) {
  int64_t end = 0;
  for (;;) {
    for (int i = 0; i < SPINS_PER_LOOK; ++i) {
      if (atomic_load_explicit(word, memory_order_acquire) != value)
        return true;
      relax();
    }
    int64_t now = now_ns();
    if (!end)
      end = now + SPIN_NS;
    else if (now > end)
      return false;
  }
}

static void *worker(void *argument) {
  struct tcc_pool *pool = argument;
  tcc_fp_enter();
  uint32_t seen = 0;
  while (!atomic_load(&pool->stop)) {
    if (!spin_while(&pool->signal, seen)) {
      atomic_fetch_add(&pool->sleepers, 1);
      futex_wait(&pool->signal, seen);
      atomic_fetch_sub(&pool->sleepers, 1);
    }
    seen = atomic_load(&pool->signal);
    work(pool);
  }
  return NULL;
}

/* Fewer threads than wanted are a slower run, not an error. */
static void start_workers(struct tcc_pool *pool) {
  pool->tried = true;
  pool->process = getpid();
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes))
    return;
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool->started < pool->wanted) {
    if (pthread_create(&pool->workers[pool->started], &attributes, worker, pool))
      break;
    ++pool->started;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

static void wait_done(struct tcc_pool *pool) {
  uint32_t left;
  while ((left = atomic_load_explicit(&pool->pending, memory_order_acquire)) != 0) {
    if (spin_while(&pool->pending, left))
      continue;
    atomic_store(&pool->caller_sleeps, 1);
    left = atomic_load(&pool->pending);
    if (left)
      futex_wait(&pool->pending, left);
    atomic_store(&pool->caller_sleeps, 0);
  }
}

static void publish(struct tcc_pool *pool, const struct tcc_job *job) {
  pool->job = *job;
  atomic_store_explicit(&pool->pending, job->chunks, memory_order_relaxed);
  uint64_t number = (atomic_load_explicit(&pool->ticket, memory_order_relaxed) >> 32) + 1;
  atomic_store_explicit(&pool->ticket, number << 32 | job->chunks, memory_order_release);
  atomic_fetch_add(&pool->signal, 1);
  uint32_t sleepers = atomic_load(&pool->sleepers);
  if (sleepers)
    futex_wake(&pool->signal, (int)(sleepers < job->chunks ? sleepers : job->chunks));
}

void tcc_pool_run(struct tcc_pool *pool, const struct tcc_job *job) {
  if (job->chunks <= 1 || !pool->wanted || atomic_exchange(&pool->busy, true)) {
    job->kernel(job->args, 0, job->tasks);
    return;
  }
  if (!pool->tried)
    start_workers(pool);
  publish(pool, job);
  work(pool);
  wait_done(pool);
  atomic_store(&pool->busy, false);
}

struct tcc_pool *tcc_pool_create(uint32_t threads) {
  uint32_t wanted = threads ? threads - 1 : 0;
  size_t size = sizeof(struct tcc_pool) + wanted * sizeof(pthread_t);
  void *memory;
  if (posix_memalign(&memory, 64, size))
    return NULL;
  struct tcc_pool *pool = memory;
  *pool = (struct tcc_pool){.wanted = wanted};
  return pool;
}

void tcc_pool_destroy(struct tcc_pool *pool) {
  if (!pool)
    return;
  atomic_store(&pool->stop, true);
  atomic_fetch_add(&pool->signal, 1);
  futex_wake(&pool->signal, (int)pool->wanted);
  if (pool->process == getpid())
    for (uint32_t i = 0; i < pool->started; ++i)
      pthread_join(pool->workers[i], NULL);
  free(pool);
}

uint32_t tcc_pool_threads(const struct tcc_pool *pool) { return pool->wanted + 1; }

/* ---- the caller's threads ---- */

struct shared_job {
  const struct tcc_job *job;
  _Atomic uint32_t next;
};

static void foreign_task(void *argument, size_t index) {
  (void)index;
  struct shared_job *shared = argument;
  uint64_t saved = tcc_fp_enter();
  uint32_t chunk;
  while ((chunk = atomic_fetch_add(&shared->next, 1)) < shared->job->chunks)
    run_chunk(shared->job, chunk);
  tcc_fp_leave(saved);
}

void tcc_pool_run_foreign(const tcc_thread_pool *pool, const struct tcc_job *job) {
  struct shared_job shared = {job, 0};
  if (job->chunks <= 1)
    run_chunk(job, 0);
  else
    pool->parallel(pool->user, foreign_task, &shared,
                   pool->concurrency < job->chunks ? pool->concurrency : job->chunks);
}
