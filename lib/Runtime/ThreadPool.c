/* A pool for many short parallel loops.
 *
 * Kernels take from 10 us to some ms and follow each other closely, so a worker first spins for the
 * next job and sleeps on a futex only after SPIN_NS. The calling thread works too, and takes every
 * chunk that no worker has claimed: a job never waits for a thread that has not woken up, which
 * also makes a forked child, whose workers are gone, slow instead of stuck.
 *
 * Every thread has its own contiguous share of the job's chunks, so that it meets the same rows
 * again in the next kernel, and takes them from the front; a thread that is done takes from the
 * back of the others' shares. A share is one 64-bit word, the job's number and the bounds of what
 * is unclaimed, and a chunk is claimed by a compare-and-swap. Only then does the thread read the
 * job's fields, which stay as they are until that chunk is counted as done: a worker that was late
 * for job n can never run a chunk of job n with the fields of job n+1.
 *
 * A job started while another one runs (from inside a kernel) is run by its caller alone.
 *
 * A thread that wakes up where another of the pool works moves to another CPU: the system puts it
 * there at times, and leaves it there while jobs are short, so that two threads are one.
 */
#include "Internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPIN_NS = 100000, SPINS_PER_LOOK = 64 };

struct share {
  _Alignas(64) _Atomic uint64_t range; /* job number << 40 | end << 20 | begin */
  _Atomic int cpu;                     /* on which its thread was seen last */
};

struct member {
  struct tcc_pool *pool;
  uint32_t index; /* of its share; the caller has 0 */
  pthread_t thread;
};

struct tcc_pool {
  _Alignas(64) _Atomic uint32_t pending; /* chunks not done; futex of the caller */
  _Atomic uint32_t caller_sleeps;
  _Alignas(64) _Atomic uint32_t signal; /* counts jobs; futex of the workers */
  _Atomic uint32_t sleepers;
  atomic_bool stop;
  _Alignas(64) struct tcc_job job;
  atomic_bool busy;
  uint32_t wanted, started; /* workers, without the caller */
  bool tried;               /* to start them */
  uint64_t number;          /* of the current job */
  pid_t process;
  struct share *shares;   /* one a thread, the caller's first */
  struct member *workers; /* wanted */
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

/* The first task of a chunk. The longer chunks lie between the shorter ones, so that equal shares
 * of chunks are equal shares of tasks. */
static int64_t chunk_begin(const struct tcc_job *job, uint32_t index) {
  return job->tasks / job->chunks * index + job->tasks % job->chunks * index / job->chunks;
}

static void run_chunk(const struct tcc_job *job, uint32_t index) {
  job->kernel(job->args, chunk_begin(job, index), chunk_begin(job, index + 1));
}

enum { FIELD = 20 };
static const uint64_t field_mask = (1u << FIELD) - 1;

/* Claims the first or the last chunk of a share. */
static bool claim(struct share *share, bool first, uint32_t *chunk) {
  uint64_t range = atomic_load_explicit(&share->range, memory_order_acquire);
  for (;;) {
    uint64_t begin = range & field_mask, end = range >> FIELD & field_mask;
    if (begin == end)
      return false;
    uint64_t rest = first ? range + 1 : range - (1u << FIELD);
    *chunk = (uint32_t)(first ? begin : end - 1);
    if (atomic_compare_exchange_weak_explicit(&share->range, &range, rest, memory_order_acq_rel,
                                              memory_order_acquire))
      return true;
  }
}

static void run_claimed(struct tcc_pool *pool, uint32_t chunk) {
  run_chunk(&pool->job, chunk);
  if (atomic_fetch_sub(&pool->pending, 1) == 1 && atomic_load(&pool->caller_sleeps))
    futex_wake(&pool->pending, 1);
}

/* Runs the thread's own chunks, then what the others have left. */
static void work(struct tcc_pool *pool, uint32_t self) {
  uint32_t chunk, threads = pool->wanted + 1;
  while (claim(&pool->shares[self], true, &chunk))
    run_claimed(pool, chunk);
  for (uint32_t i = 1; i < threads; ++i) {
    uint32_t other = self + i < threads ? self + i : self + i - threads;
    while (claim(&pool->shares[other], false, &chunk))
      run_claimed(pool, chunk);
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

/* Leaves the CPU of a thread before this one, if the thread may run on one that none of them has.
 */
static void move_apart(struct tcc_pool *pool, uint32_t self) {
  cpu_set_t usable, apart;
  int cpu = sched_getcpu();
  bool shared = false;
  atomic_store_explicit(&pool->shares[self].cpu, cpu, memory_order_relaxed);
  for (uint32_t i = 0; i < self; ++i)
    shared |= atomic_load_explicit(&pool->shares[i].cpu, memory_order_relaxed) == cpu;
  if (!shared || cpu < 0 || sched_getaffinity(0, sizeof usable, &usable))
    return;
  apart = usable;
  for (uint32_t i = 0; i < self; ++i) {
    int other = atomic_load_explicit(&pool->shares[i].cpu, memory_order_relaxed);
    if (other >= 0)
      CPU_CLR((size_t)other, &apart);
  }
  if (!CPU_COUNT(&apart) || sched_setaffinity(0, sizeof apart, &apart))
    return;
  atomic_store_explicit(&pool->shares[self].cpu, sched_getcpu(), memory_order_relaxed);
  sched_setaffinity(0, sizeof usable, &usable);
}

static void *worker(void *argument) {
  const struct member *member = argument;
  struct tcc_pool *pool = member->pool;
  tcc_fp_enter();
  move_apart(pool, member->index);
  uint32_t seen = 0;
  while (!atomic_load(&pool->stop)) {
    if (!spin_while(&pool->signal, seen)) {
      atomic_fetch_add(&pool->sleepers, 1);
      futex_wait(&pool->signal, seen);
      atomic_fetch_sub(&pool->sleepers, 1);
      move_apart(pool, member->index);
    }
    seen = atomic_load(&pool->signal);
    work(pool, member->index);
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
  pthread_attr_setstacksize(&attributes, TCC_STACK_BYTES);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool->started < pool->wanted) {
    struct member *member = &pool->workers[pool->started];
    *member = (struct member){.pool = pool, .index = pool->started + 1};
    if (pthread_create(&member->thread, &attributes, worker, member))
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
  uint64_t threads = pool->wanted + 1, begin = 0;
  pool->job = *job;
  ++pool->number;
  atomic_store_explicit(&pool->shares[0].cpu, sched_getcpu(), memory_order_relaxed);
  atomic_store_explicit(&pool->pending, job->chunks, memory_order_relaxed);
  for (uint64_t t = 0; t < threads; ++t) {
    uint64_t end = ((t + 1) * job->chunks + threads - 1) / threads;
    atomic_store_explicit(&pool->shares[t].range, pool->number << 2 * FIELD | end << FIELD | begin,
                          memory_order_release);
    begin = end;
  }
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
  work(pool, 0);
  wait_done(pool);
  atomic_store(&pool->busy, false);
}

struct tcc_pool *tcc_pool_create(uint32_t threads) {
  uint32_t wanted = threads ? threads - 1 : 0;
  size_t shares = sizeof(struct tcc_pool), workers = shares + (wanted + 1) * sizeof(struct share);
  size_t size = workers + wanted * sizeof(struct member);
  void *memory;
  if (posix_memalign(&memory, 64, size))
    return NULL;
  memset(memory, 0, size);
  struct tcc_pool *pool = memory;
  pool->wanted = wanted;
  pool->shares = (struct share *)(void *)((char *)memory + shares);
  pool->workers = (struct member *)(void *)((char *)memory + workers);
  for (uint32_t i = 0; i <= wanted; ++i)
    pool->shares[i].cpu = -1;
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
      pthread_join(pool->workers[i].thread, NULL);
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
