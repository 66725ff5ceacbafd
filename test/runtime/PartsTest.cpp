// The thread pool, the heap and the builtins by themselves, under load.
#include "Fixture.h"
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern "C" { // lib/Runtime/Internal.h is C
struct tcc_job {
  void (*kernel)(int64_t *args, int64_t begin, int64_t end);
  int64_t *args;
  int64_t tasks;
  uint32_t chunks;
};
struct tcc_pool;
struct tcc_heap;
tcc_pool *tcc_pool_create(uint32_t threads);
void tcc_pool_destroy(tcc_pool *pool);
void tcc_pool_run(tcc_pool *pool, const tcc_job *job);
void tcc_pool_run_foreign(const tcc_thread_pool *pool, const tcc_job *job);
tcc_heap *tcc_heap_create(const tcc_allocator *allocator);
void tcc_heap_release(tcc_heap *heap);
void *tcc_heap_alloc(tcc_heap *heap, int64_t bytes);
void tcc_heap_free(tcc_heap *heap, void *bytes);
struct tcc_block;
tcc_block *tcc_heap_hand_out(tcc_heap *heap, void *bytes);
void tcc_heap_return(tcc_block *block);
void tcc_heap_end_run(tcc_heap *heap);
void tcc_heap_usage(tcc_heap *heap, uint64_t *held, uint64_t *peak);
bool tcc_cpu_has(const char *features, char *missing, size_t size);
uint32_t tcc_usable_cores(void);
}

static tcc_job job(void (*kernel)(int64_t *, int64_t, int64_t), void *args, int64_t tasks,
                   uint32_t chunks) {
  return {kernel, static_cast<int64_t *>(args), tasks, chunks};
}

TEST_CASE("every task runs exactly once") {
  std::mt19937 random(1);
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    tcc_pool *pool = tcc_pool_create(threads);
    for (int round = 0; round < 400; ++round) {
      int64_t tasks = 1 + random() % 500, chunks = 1 + random() % std::min<int64_t>(tasks, 40);
      std::vector<int64_t> counts(tasks);
      auto count = [](int64_t *counts, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          ++counts[i];
      };
      tcc_job work = job(count, counts.data(), tasks, chunks);
      tcc_pool_run(pool, &work);
      REQUIRE(std::all_of(counts.begin(), counts.end(), [](int64_t c) { return c == 1; }));
      if (round % 100 == 0)
        usleep(1000); // the workers fall asleep
    }
    tcc_pool_destroy(pool);
  }
}

TEST_CASE("chunks are of equal length but for one task, and so are the shares of threads") {
  struct Length {
    int64_t least, most;
  };
  for (int64_t tasks : {1, 7, 35, 42, 49, 784})
    for (uint32_t chunks : {1u, 2u, 6u, 8u}) {
      if (chunks > tasks)
        continue;
      Length length = {tasks, 0};
      auto measure = [](int64_t *args, int64_t begin, int64_t end) {
        auto *length = reinterpret_cast<Length *>(args);
        length->least = std::min(length->least, end - begin);
        length->most = std::max(length->most, end - begin);
      };
      tcc_job work = job(measure, &length, tasks, chunks);
      tcc_thread_pool caller = {};
      caller.concurrency = 1;
      caller.parallel = [](void *, void (*task)(void *, size_t), void *argument, size_t count) {
        for (size_t i = 0; i < count; ++i)
          task(argument, i);
      };
      tcc_pool_run_foreign(&caller, &work);
      CHECK(length.least == tasks / chunks);
      CHECK(length.most == (tasks + chunks - 1) / chunks);
    }
}

static tcc_pool *nestedPool;

TEST_CASE("a job inside a job and jobs of two threads are safe") {
  nestedPool = tcc_pool_create(4);
  static std::atomic<int64_t> total;
  total = 0;
  auto outer = [](int64_t *, int64_t begin, int64_t end) {
    auto inner = [](int64_t *, int64_t begin, int64_t end) { total += end - begin; };
    for (int64_t i = begin; i < end; ++i) {
      tcc_job work = job(inner, nullptr, 10, 10);
      tcc_pool_run(nestedPool, &work);
    }
  };
  auto drive = [&] {
    for (int round = 0; round < 50; ++round) {
      tcc_job work = job(outer, nullptr, 16, 16);
      tcc_pool_run(nestedPool, &work);
    }
  };
  std::thread other(drive);
  drive();
  other.join();
  CHECK(total == 2 * 50 * 16 * 10);
  tcc_pool_destroy(nestedPool);
}

#if !defined(__SANITIZE_THREAD__) && !(defined(__has_feature) && __has_feature(thread_sanitizer))
TEST_CASE("a forked child runs without the parent's threads") {
  tcc_pool *pool = tcc_pool_create(3);
  std::vector<int64_t> counts(100);
  auto count = [](int64_t *counts, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++counts[i];
  };
  tcc_job work = job(count, counts.data(), 100, 100);
  tcc_pool_run(pool, &work);
  pid_t child = fork();
  if (!child) {
    for (int round = 0; round < 3; ++round)
      tcc_pool_run(pool, &work);
    tcc_pool_destroy(pool);
    _exit(std::all_of(counts.begin(), counts.end(), [](int64_t c) { return c == 4; }) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  tcc_pool_destroy(pool);
}
#endif

struct AffinitySeen {
  const cpu_set_t *usable;
  std::atomic<int> tasks, others;
};

// Where its threads move to for a moment is no business of the program's.
TEST_CASE("threads may run where they could before, on one CPU too") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(0, sizeof all, &all) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
  for (const cpu_set_t &usable : {one, all}) {
    REQUIRE(sched_setaffinity(0, sizeof usable, &usable) == 0);
    tcc_pool *pool = tcc_pool_create(3);
    AffinitySeen seen{&usable, 0, 0};
    tcc_job work = job(
        [](int64_t *args, int64_t begin, int64_t end) {
          auto &seen = *reinterpret_cast<AffinitySeen *>(args);
          cpu_set_t now;
          seen.others +=
              sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, seen.usable);
          seen.tasks += static_cast<int>(end - begin);
        },
        &seen, 12, 12);
    for (int round = 0; round < 20; ++round) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the workers sleep
      tcc_pool_run(pool, &work);
    }
    tcc_pool_destroy(pool);
    CHECK(seen.tasks == 240);
    CHECK(seen.others == 0);
  }
  REQUIRE(sched_setaffinity(0, sizeof all, &all) == 0);
}

TEST_CASE("blocks do not overlap and come back") {
  tcc_allocator own = {};
  tcc_heap *heap = tcc_heap_create(&own);
  std::mt19937 random(2);
  struct Block {
    char *bytes;
    int64_t size;
    char mark;
    tcc_block *block = nullptr;
  };
  std::vector<Block> live, handedOut;
  auto verify = [](const Block &b) {
    return std::all_of(b.bytes, b.bytes + b.size, [&](char c) { return c == b.mark; });
  };
  for (int run = 0; run < 60; ++run) {
    for (int step = 0; step < 60; ++step) {
      int64_t size = random() % 2 ? random() % 3000 : random() % 100000;
      auto *bytes = static_cast<char *>(tcc_heap_alloc(heap, size));
      REQUIRE(bytes);
      REQUIRE(reinterpret_cast<uintptr_t>(bytes) % 64 == 0);
      live.push_back({bytes, size, char(random())});
      std::memset(bytes, live.back().mark, size);
      if (random() % 2) {
        size_t i = random() % live.size();
        REQUIRE(verify(live[i]));
        if (random() % 4)
          tcc_heap_free(heap, live[i].bytes);
        else {
          live[i].block = tcc_heap_hand_out(heap, live[i].bytes);
          handedOut.push_back(live[i]);
        }
        live.erase(live.begin() + i);
      }
    }
    for (const Block &b : live)
      REQUIRE(verify(b));
    live.clear(); // reclaimed by the end of the run
    tcc_heap_end_run(heap);
    while (handedOut.size() > 5) {
      REQUIRE(verify(handedOut.back()));
      tcc_heap_return(handedOut.back().block);
      handedOut.pop_back();
    }
  }
  uint64_t held, peak;
  tcc_heap_usage(heap, &held, &peak);
  CHECK(held <= peak);
  CHECK(tcc_heap_alloc(heap, -1) == nullptr);
  CHECK(tcc_heap_alloc(heap, INT64_MAX) == nullptr);
  tcc_heap_release(heap);
  for (const Block &b : handedOut) {
    REQUIRE(verify(b));
    tcc_heap_return(b.block);
  }
}

TEST_CASE("the machine is known") {
  char missing[32] = "";
  CHECK(tcc_usable_cores() >= 1);
  CHECK(tcc_usable_cores() <= std::thread::hardware_concurrency());
  CHECK(tcc_cpu_has("", missing, sizeof missing));
  CHECK(tcc_cpu_has(nullptr, missing, sizeof missing));
  CHECK(tcc_cpu_has("some-tuning-flag,prefer-256-bit", missing, sizeof missing));
#if defined(__x86_64__)
  CHECK(tcc_cpu_has("sse3", missing, sizeof missing) == bool(__builtin_cpu_supports("sse3")));
  CHECK(tcc_cpu_has("avx2", missing, sizeof missing) == bool(__builtin_cpu_supports("avx2")));
  CHECK(tcc_cpu_has("fma,f16c,bmi2", missing, sizeof missing) ==
        (__builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
         __builtin_cpu_supports("bmi2")));
  CHECK(tcc_cpu_has("avx512f,avx512vl", missing, sizeof missing) ==
        (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")));
  CHECK(tcc_cpu_has("avx512bf16", missing, sizeof missing) ==
        bool(__builtin_cpu_supports("avx512bf16")));
#endif
}

// ---- builtins ----

#if defined(__x86_64__)
extern "C" {
float __extendhfsf2(_Float16 value);
_Float16 __truncsfhf2(float value);
_Float16 __truncdfhf2(double value);
__bf16 __truncsfbf2(float value);
}

template <typename To, typename From> static To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// The value of an f16 by its definition.
static double halfValue(unsigned bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31)
    return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24));
}

TEST_CASE("f16 conversions are exact and round to even") {
  bool good = true;
  auto narrow = [](double v) { return bitCast<uint16_t>(__truncsfhf2(float(v))); };
  auto narrowDouble = [](double v) { return bitCast<uint16_t>(__truncdfhf2(v)); };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    double value = halfValue(bits);
    float wide = __extendhfsf2(bitCast<_Float16>(uint16_t(bits)));
    if (std::isnan(value)) {
      good &= std::isnan(wide) && std::isnan(halfValue(narrow(wide)));
      continue;
    }
    good &= wide == value && std::signbit(wide) == std::signbit(value) && narrow(value) == bits &&
            narrowDouble(value) == bits;
  }
  CHECK(good);
  for (unsigned bits = 0; bits < 0x7bff; ++bits) {
    double low = halfValue(bits), high = halfValue(bits + 1), middle = (low + high) / 2;
    unsigned even = bits & 1 ? bits + 1 : bits;
    good &= narrow(middle) == even && narrowDouble(middle) == even;
    good &= narrow(std::nextafterf(float(middle), 0)) == bits;
    good &= narrow(std::nextafterf(float(middle), 1e9f)) == bits + 1;
    good &= narrowDouble(std::nextafter(middle, 0)) == bits;
    good &= narrowDouble(std::nextafter(-middle, -1e9)) == (0x8000 | (bits + 1));
  }
  CHECK(good);
  CHECK(narrow(65519.99f) == 0x7bff);
  CHECK(narrow(65520.f) == 0x7c00);
  CHECK(narrow(1e30) == 0x7c00);
  CHECK(narrowDouble(5e-324) == 0);
  CHECK(narrowDouble(-1e300) == 0xfc00);
}

TEST_CASE("bf16 rounds to even") {
  auto narrow = [](uint32_t bits) { return bitCast<uint16_t>(__truncsfbf2(bitCast<float>(bits))); };
  bool good = true;
  std::mt19937 random(3);
  for (int i = 0; i < 1000000; ++i) {
    uint32_t bits = uint32_t(random());
    if (i % 4 == 0)
      bits = (bits & 0xffff0000) | 0x8000; // ties
    bool nan = (bits & 0x7fffffff) > 0x7f800000;
    uint16_t expected = uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    good &= nan ? (narrow(bits) & 0x7fff) > 0x7f80 : narrow(bits) == expected;
  }
  CHECK(good);
}
#endif

TEST_CASE("128-bit division") {
  std::mt19937_64 random(4);
  bool good = true;
  for (int i = 0; i < 20000; ++i) {
    auto wide = [&] {
      unsigned __int128 v = (unsigned __int128)random() << 64 | random();
      return __int128(v >> random() % 128);
    };
    __int128 a = wide(), b = wide();
    if (i % 2)
      a = -a;
    if (i % 3 == 0)
      b = -b;
    if (!b)
      continue;
    __int128 q = a / b, r = a % b;
    auto magnitude = [](__int128 v) {
      return v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    };
    good &= q * b + r == a && magnitude(r) < magnitude(b) && (r == 0 || (r < 0) == (a < 0));
    unsigned __int128 ua = a, ub = b;
    good &= ua / ub * ub + ua % ub == ua && ua % ub < ub;
  }
  CHECK(good);
}
