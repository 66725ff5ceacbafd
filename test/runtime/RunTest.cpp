// Right results: every layout, dynamic sizes, threads, allocators and pools of the caller.
#include "Fixture.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace rt;

static void checkOutputs(const Inputs &in, const Outputs &out) {
  int64_t n = in.xShape[0], m = in.xShape[1], k = in.kShape[0];
  bool good = true;
  for (int64_t i = 0; i < n * m; ++i)
    good &= out.data<float>(0)[i] == in.x[i] * 2.5f;
  for (int64_t i = 0; i < n; ++i)
    good &= out.data<float>(1)[i] == in.rowSum(i);
  for (int64_t i = 0; i < k; ++i) {
    int value = int(i % 16 ^ 8) - 8, half = out.data<uint8_t>(2)[i / 2] >> (i % 2 * 4) & 15;
    good &= (value / 2 & 15) == half;
  }
  CHECK(good);
}

TEST_CASE("a model describes itself") {
  Model model;
  REQUIRE(model.status == TCC_OK);
  CHECK(api().model_num_inputs(model.model) == 5);
  CHECK(api().model_num_outputs(model.model) == 4);
  size_t size = 0;
  CHECK(std::string(api().model_manifest(model.model, &size)) == "{\"tool\": \"test\"}");
  CHECK(size == 16);
  tcc_tensor_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(api().model_input(model.model, 1, &info) == TCC_OK);
  CHECK(std::string(info.name) == "y");
  CHECK(info.ndim == 2);
  CHECK(info.shape[0] == -1);
  CHECK(std::string(info.symbols[0]) == "N");
  CHECK(info.shape[1] == 3);
  CHECK(std::string(info.symbols[1]).empty());
  REQUIRE(api().model_input(model.model, 4, &info) == TCC_OK);
  CHECK(info.flags == TCC_TENSOR_MUTATED);
  REQUIRE(api().model_output(model.model, 2, &info) == TCC_OK);
  CHECK(std::string(info.symbols[0]) == "K");
  CHECK(api().model_input(model.model, 5, &info) == TCC_INVALID_ARGUMENT);
}

TEST_CASE("a caller that knows a shorter structure gets its part") {
  Model model;
  tcc_tensor_info info = {};
  info.struct_size = offsetof(tcc_tensor_info, dtype);
  info.ndim = 77;
  REQUIRE(api().model_input(model.model, 0, &info) == TCC_OK);
  CHECK(std::string(info.name) == "x");
  CHECK(info.ndim == 77);
}

TEST_CASE("sizes may change from run to run") {
  Model model;
  Context context(model, withThreads(GENERATE(1, 2, 4)));
  for (auto [n, m, k] : {std::array<int64_t, 3>{1, 1, 1},
                         {7, 5, 3},
                         {1000, 33, 100},
                         {2, 0, 0},
                         {64, 256, 17},
                         {1000, 1000, 1000}}) {
    Inputs in(n, m, k);
    Outputs out;
    REQUIRE(context.run(in, out) == TCC_OK);
    CHECK(out.tensors[0]->dl_tensor.shape[0] == n);
    CHECK(out.tensors[0]->dl_tensor.shape[1] == m);
    checkOutputs(in, out);
  }
}

TEST_CASE("strided, offset and misaligned inputs are made compact") {
  Model model;
  Context context(model);
  Inputs in(6, 4, 5);
  // x transposed in memory, y every second row of a larger array, reversed.
  std::vector<float> transposed(24), wide(12 * 3 + 1);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 4; ++j)
      transposed[j * 6 + i] = in.x[i * 4 + j];
  std::vector<char> bytes(wide.size() * 4 + 1);
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 3; ++j)
      std::memcpy(&bytes[1 + ((5 - i) * 2 * 3 + j) * 4], &in.y[i * 3 + j], 4);
  int64_t xStrides[] = {1, 6}, yStrides[] = {-6, 1};
  in.tensors[0].data = transposed.data();
  in.tensors[0].strides = xStrides;
  in.tensors[1].data = bytes.data();
  in.tensors[1].byte_offset = 1 + 5 * 6 * 4;
  in.tensors[1].strides = yStrides;
  Outputs out;
  REQUIRE(context.run(in, out) == TCC_OK);
  checkOutputs(in, out);
}

TEST_CASE("a written input changes in place, through strides too") {
  Model model;
  Context context(model);
  Inputs in(2, 3, 0);
  std::vector<float> acc(6, 1.f);
  int64_t stride = 2;
  in.tensors[4].data = acc.data();
  in.tensors[4].strides = &stride;
  Outputs out;
  REQUIRE(context.run(in, out) == TCC_OK);
  CHECK(acc == std::vector<float>{6, 1, 8, 1, 10, 1});
}

static int64_t drawn(Context &context) {
  Inputs in(1, 1, 1);
  in.command = Draw;
  Outputs out;
  REQUIRE(context.run(in, out) == TCC_OK);
  return *out.data<int64_t>(3);
}

TEST_CASE("a seed starts all generators anew, and runs that succeed count draws") {
  Model model;
  Context context(model);
  for (uint64_t seed : {7, 8, 7}) {
    REQUIRE(api().context_set_seed(context.context, seed) == TCC_OK);
    CHECK(drawn(context) == int64_t(seed));
    CHECK(drawn(context) == int64_t(seed + 10100));
    Inputs in(1, 1, 1);
    in.command = FailAfterDraw;
    Outputs out;
    CHECK(context.run(in, out) == TCC_MODEL_ERROR);
    CHECK(drawn(context) == int64_t(seed + 20200));
  }
  CHECK(api().context_set_seed(nullptr, 1) == TCC_INVALID_ARGUMENT);
}

TEST_CASE("contexts start with seeds of their own") {
  Model model;
  Context a(model), b(model);
  CHECK(drawn(a) != drawn(b));
}

TEST_CASE("state lives in the context") {
  Model model;
  Context a(model), b(model);
  Inputs in(1, 1, 1);
  for (int64_t run = 1; run <= 3; ++run) {
    Outputs out;
    REQUIRE(a.run(in, out) == TCC_OK);
    CHECK(*out.data<int64_t>(3) == run);
  }
  Outputs out;
  REQUIRE(b.run(in, out) == TCC_OK);
  CHECK(*out.data<int64_t>(3) == 1);
}

TEST_CASE("outputs of the caller are written in place") {
  Model model;
  Context context(model);
  Inputs in(3, 2, 3);
  std::vector<float> scaled(12, -1.f), rows(3);
  uint8_t halves[2] = {0xff, 0xff};
  int64_t strides[] = {4, 2};
  DLManagedTensor own[3] = {};
  own[0].dl_tensor = tensor(scaled.data(), {kDLFloat, 32, 1}, in.xShape, strides);
  std::vector<int64_t> rowShape = {3};
  own[1].dl_tensor = tensor(rows.data(), {kDLFloat, 32, 1}, rowShape);
  own[2].dl_tensor = tensor(halves, {kDLInt, 4, 1}, in.kShape);
  Outputs out;
  for (int i = 0; i < 3; ++i)
    out.tensors[i] = &own[i];
  REQUIRE(context.run(in, out) == TCC_OK);
  CHECK(scaled == std::vector<float>{2.5f, -1, 5, -1, 7.5f, -1, 10, -1, 12.5f, -1, 15, -1});
  CHECK(rows[2] == in.rowSum(2));
  CHECK(halves[0] == 0x00);
  CHECK(halves[1] == 0xf1); // the unused nibble stays
  CHECK(*out.data<int64_t>(3) == 1);
}

TEST_CASE("outputs outlive their context") {
  Outputs out;
  Inputs in(5, 5, 5);
  {
    Model model;
    Context context(model, withThreads(2));
    REQUIRE(context.run(in, out) == TCC_OK);
  }
  checkOutputs(in, out);
}

TEST_CASE("freed outputs are used again") {
  Model model;
  Context context(model, withThreads(1));
  Inputs in(10, 10, 10);
  uint64_t held = 0;
  for (int run = 0; run < 50; ++run) {
    Outputs out;
    REQUIRE(context.run(in, out) == TCC_OK);
    if (run == 1)
      held = context.stats().held_bytes;
  }
  CHECK(context.stats().held_bytes == held);
  CHECK(context.stats().runs == 50);
  CHECK(context.stats().peak_bytes >= 4096 + 64 + 400);
}

TEST_CASE("blocks that runs no longer need are given up") {
  Model model;
  Context context(model, withThreads(1));
  {
    Inputs large(1000, 1000, 10);
    Outputs out;
    REQUIRE(context.run(large, out) == TCC_OK);
  }
  CHECK(context.stats().held_bytes > 4000000);
  Inputs small(1, 1, 1);
  for (int run = 0; run < 64; ++run) {
    Outputs out;
    REQUIRE(context.run(small, out) == TCC_OK);
  }
  CHECK(context.stats().held_bytes < 100000);
  CHECK(context.stats().peak_bytes > 4000000);
}

TEST_CASE("many contexts of one model run at once") {
  Model model;
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Context context(model, withThreads(t % 3 + 1));
      for (int run = 0; run < 50; ++run) {
        Inputs in(1 + run % 7 * 40, 30 + t, run);
        Outputs out;
        if (context.run(in, out) != TCC_OK || out.data<float>(1)[0] != in.rowSum(0))
          ++failures;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == 0);
}

TEST_CASE("outputs may be freed by other threads") {
  Model model;
  Context context(model, withThreads(2));
  Inputs in(40, 40, 4);
  std::thread deleter;
  for (int run = 0; run < 100; ++run) {
    Outputs out;
    REQUIRE(context.run(in, out) == TCC_OK);
    std::array<DLManagedTensor *, 4> taken = out.tensors;
    out.tensors = {};
    if (deleter.joinable())
      deleter.join();
    deleter = std::thread([taken] {
      for (DLManagedTensor *t : taken)
        t->deleter(t);
    });
  }
  deleter.join();
}

TEST_CASE("the caller's thread pool does the work") {
  Model model;
  static std::atomic<int> calls;
  calls = 0;
  tcc_context_options options = {};
  options.thread_pool.concurrency = 3;
  options.thread_pool.parallel = [](void *, void (*task)(void *, size_t), void *argument,
                                    size_t count) {
    calls += int(count);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i)
      threads.emplace_back([=] { task(argument, i); });
    for (std::thread &thread : threads)
      thread.join();
  };
  Context context(model, options);
  CHECK(context.stats().threads == 3);
  Inputs in(300, 20, 40);
  Outputs out;
  REQUIRE(context.run(in, out) == TCC_OK);
  checkOutputs(in, out);
  CHECK(calls == 9);
}

TEST_CASE("kernels are timed on request") {
  Model model;
  tcc_context_options options = withThreads(2);
  options.profile = 1;
  Context context(model, options);
  Inputs in(50, 50, 5);
  for (int run = 0; run < 3; ++run) {
    Outputs out;
    REQUIRE(context.run(in, out) == TCC_OK);
  }
  tcc_kernel_info info = {};
  info.struct_size = sizeof info;
  REQUIRE(api().context_kernel(context.context, 1, &info) == TCC_OK);
  CHECK(std::string(info.name) == "sum_rows");
  CHECK(std::string(info.sources) == "sum");
  CHECK(info.calls == 3);
  CHECK(info.nanoseconds > 0);
  REQUIRE(api().context_kernel(context.context, 3, &info) == TCC_OK);
  CHECK(info.calls == 0);
  CHECK(api().context_kernel(context.context, 4, &info) == TCC_INVALID_ARGUMENT);
}

TEST_CASE("statistics may be read while a run goes on") {
  Model model;
  tcc_context_options options = withThreads(2);
  options.profile = 1;
  Context context(model, options);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    uint64_t calls = 0;
    while (!done) {
      tcc_kernel_info info = {};
      info.struct_size = sizeof info;
      if (api().context_kernel(context.context, 1, &info) != TCC_OK || info.calls < calls)
        std::abort();
      calls = info.calls;
      (void)context.stats();
    }
  });
  Inputs in(50, 50, 5);
  for (int run = 0; run < 50; ++run) {
    Outputs out;
    CHECK(context.run(in, out) == TCC_OK);
  }
  done = true;
  reader.join();
}

TEST_CASE("contexts share the caller's pool, and one may end while another runs") {
  Model model;
  tcc_context_options options = {};
  options.thread_pool.concurrency = 2;
  options.thread_pool.parallel = [](void *, void (*task)(void *, size_t), void *argument,
                                    size_t count) {
    std::thread other([=] { task(argument, 0); });
    for (size_t i = 1; i < count; ++i)
      task(argument, i);
    other.join();
  };
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int life = 0; life < 5; ++life) {
        Context context(model, options);
        for (int run = 0; run < 4; ++run) {
          Inputs in(100 + run * 40, 30 + t, run);
          Outputs out;
          if (context.run(in, out) != TCC_OK || out.data<float>(1)[0] != in.rowSum(0))
            ++failures;
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == 0);
}

#if defined(__x86_64__)
TEST_CASE("subnormals count, whatever mode the caller is in") {
  Model model;
  Context context(model, withThreads(2));
  Inputs in(64, 2, 1);
  for (float &value : in.x)
    value = 1e-40f;
  unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | 0x8040); // flush to zero, subnormals are zero
  Outputs out;
  tcc_status status = context.run(in, out);
  unsigned after = _mm_getcsr();
  _mm_setcsr(mode);
  REQUIRE(status == TCC_OK);
  CHECK((after & 0xffc0) == ((mode | 0x8040) & 0xffc0));
  CHECK(out.data<float>(0)[100] > 0);
}
#endif
