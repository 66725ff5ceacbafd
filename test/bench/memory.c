// What the memory of this machine gives, by one thread or by two that spin for each other: bytes
// read and written with stores that fetch their lines or go past the caches, and the few loops of
// operators that are no streams. Compiled by memory.py.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef float vector __attribute__((vector_size(WIDTH)));
typedef float loose __attribute__((vector_size(WIDTH), aligned(4), may_alias));
enum { several = 256, block = 4096 }; // bytes

static void store_past(vector value, vector *to) {
#if defined(__AVX512F__)
  _mm512_stream_ps((float *)to, value);
#elif defined(__AVX__)
  _mm256_stream_ps((float *)to, value);
#elif defined(__x86_64__)
  _mm_stream_ps((float *)to, value);
#else
  *to = value;
#endif
}

enum way { NOTHING, CACHED, PAST, SCATTER };
struct job {
  enum way way;
  char *from, *to;
  const int64_t *places;
  long reads, writes, rows, columns; // bytes, and extents of SCATTER
};

static struct job now;
static atomic_long given, taken;
static atomic_int leave;
static int parts = 1;
static pthread_t second;
static volatile float kept;

// Bytes [reads) and [writes) of a thread, a block of the longer at a time and as much of the other.
static void move(const char *from, long reads, char *to, long writes, int past) {
  const long longest = reads > writes ? reads : writes;
  const long blocks = (longest + block - 1) / block;
  vector sums[several / WIDTH] = {{0}};
  for (long b = 0; b < blocks; ++b) {
    const long first = reads * b / blocks & -several, last = reads * (b + 1) / blocks & -several;
    for (long i = first; i < last; i += several)
#pragma GCC unroll 16
      for (int v = 0; v < several / WIDTH; ++v)
        sums[v] += *(const loose *)(from + i + v * WIDTH);
    const long begin = writes * b / blocks & -several, end = writes * (b + 1) / blocks & -several;
    for (long i = begin; i < end; i += several)
#pragma GCC unroll 16
      for (int v = 0; v < several / WIDTH; ++v) {
        vector *to_vector = (vector *)(to + i + v * WIDTH);
        if (past)
          store_past(sums[v], to_vector);
        else
          *to_vector = sums[v];
      }
    __asm__ volatile("" ::: "memory");
  }
  vector total = sums[0];
  for (int v = 1; v < several / WIDTH; ++v)
    total += sums[v];
  kept = total[0];
}

// `rows` by columns [first, last) of f32 are added to the rows of `to` that an index of each of
// them names.
static void scatter(const float *from, const int64_t *places, float *to, long rows, long columns,
                    long first, long last) {
  for (long r = 0; r < rows; ++r)
    for (long c = first; c < last; ++c)
      to[places[r * columns + c] * columns + c] += from[r * columns + c];
}

static void part(int thread) {
  const struct job *j = &now;
  const long from = j->reads / parts * thread & -several,
             to = j->writes / parts * thread & -several;
  if (j->way == CACHED || j->way == PAST)
    move(j->from + from, j->reads / parts, j->to + to, j->writes / parts, j->way == PAST);
  else if (j->way == SCATTER)
    scatter((const float *)j->from, j->places, (float *)j->to, j->rows, j->columns,
            j->columns * thread / parts, j->columns * (thread + 1) / parts);
}

static void *serve(void *unused) {
  for (long done = 0; !leave;) {
    if (given == done)
      continue;
    part(1);
    taken = ++done;
  }
  return unused;
}

// A second thread spins until `end`; nothing starts where `threads` is 1.
void begin(int threads) {
  parts = threads;
  leave = 0;
  given = 0;
  taken = 0;
  if (threads == 2)
    pthread_create(&second, 0, serve, 0);
}

void end(void) {
  leave = 1;
  if (parts == 2)
    pthread_join(second, 0);
}

// Microseconds of the fastest of `turns`, of which each does it `repeats` times.
double least(int way, void *from, const int64_t *places, void *to, long reads, long writes,
             long rows, long columns, long turns, long repeats) {
  double best = 1e30;
  now = (struct job){way, from, to, places, reads, writes, rows, columns};
  for (long t = 0; t < turns; ++t) {
    struct timespec start, stop;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < repeats; ++i) {
      long number = given + 1;
      if (parts == 2)
        given = number;
      part(0);
      while (parts == 2 && taken != number)
        ;
    }
    clock_gettime(CLOCK_MONOTONIC, &stop);
    double us =
        ((stop.tv_sec - start.tv_sec) * 1e9 + (stop.tv_nsec - start.tv_nsec)) / 1e3 / repeats;
    best = us < best ? us : best;
  }
  return best;
}
