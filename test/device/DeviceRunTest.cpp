// The device's half of the runtime on a driver that fails where it is told to (FakeCuda.c).
#include "DeviceSession.h"
#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <thread>
#include <utility>

using namespace tcc::test;

extern "C" tcc_device_arch tcc_test_archs[2];
extern "C" tcc_device_image tcc_test_images[2];

namespace {

template <typename Fn> Fn *fake(const char *name) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library);
  return reinterpret_cast<Fn *>(dlsym(library, name));
}

struct State {
  int open, pushed, called, launched;
};
State state() {
  State s;
  fake<void(int *, int *, int *, int *)>("fake_cuda_state")(&s.open, &s.pushed, &s.called,
                                                            &s.launched);
  return s;
}
void reset(int at = 0, int code = 0) { fake<void(int, int)>("fake_cuda_reset")(at, code); }

} // namespace

TEST_CASE("inputs and outputs of the host, run after run") {
  reset();
  {
    Session session;
    INFO(session.error.message);
    REQUIRE(session.status == TCC_OK);
    for (int run = 1; run <= 20; ++run) {
      Inputs in(run % 5 * 40, run % 4, run);
      Outputs out;
      REQUIRE(session.run(in, out) == TCC_OK);
      CHECK(right(in, out, run));
      for (uint8_t a : in.acc)
        CHECK(a == uint8_t(100 + run));
    }
    tcc_context_stats stats = session.stats();
    CHECK(stats.runs == 20);
    CHECK(stats.device_static_bytes == 1024 + 64 + 64);
    CHECK(stats.device_held_bytes <= stats.device_peak_bytes);
    CHECK(stats.device_peak_bytes < 4000);
  }
  CHECK(state().open == 0);
  CHECK(state().pushed == 0);
}

TEST_CASE("tensors on the device are used where they lie, and nobody waits") {
  reset();
  {
    Session session;
    Inputs in(50);
    Remote x(in.x), acc(in.acc), y(std::vector<uint8_t>(50)), runs(std::vector<uint8_t>(4)),
        nibbles(in.nibbles);
    in.tensors[0] = x.tensor;
    in.tensors[2] = acc.tensor;
    Outputs out;
    // Own outputs there; a type below 8 bits is the host's affair.
    REQUIRE(session.run(in, out, TCC_RUN_OUTPUTS_ON_DEVICE) == TCC_OK);
    CHECK(out.tensors[0]->dl_tensor.device.device_type == kDLCUDA);
    CHECK(right(in, out, 1)); // the fake's memory can be read
    CHECK(acc.bytes(1)[0] == 102);
    Inputs small(50, 0);
    small.tensors[0] = x.tensor;
    small.tensors[2] = acc.tensor;
    DLManagedTensor given[] = {{y.tensor, nullptr, nullptr}, {runs.tensor, nullptr, nullptr}};
    Outputs theirs;
    theirs.tensors[0] = &given[0];
    theirs.tensors[1] = &given[1];
    int before = fake<int()>("fake_cuda_waits")();
    REQUIRE(session.run(small, theirs, TCC_RUN_OUTPUTS_ON_DEVICE | TCC_RUN_ON_STREAM, &given) ==
            TCC_OK);
    // One for the byte that the program reads.
    CHECK(fake<int()>("fake_cuda_waits")() == before + 1);
    CHECK(y.bytes(50)[7] == 8 + 12);
    CHECK(runs.bytes(4)[0] == 5);
    // Another stream comes after the first.
    Outputs other;
    REQUIRE(session.run(small, other) == TCC_OK);
    CHECK(other.bytes(1)[0] == 6);
  }
  CHECK(state().open == 0);
}

TEST_CASE("outputs outlive their context and model; contexts share the weights") {
  reset();
  Outputs out;
  {
    Session session;
    int first = fake<int()>("fake_cuda_allocations")();
    CHECK(first == 3); // weights, arena, state
    tcc_context *second = nullptr;
    tcc_context_options options = {};
    REQUIRE(tcc_context_create(session.model, &options, &second, nullptr) == TCC_OK);
    CHECK(fake<int()>("fake_cuda_allocations")() == 5);
    tcc_context_destroy(second);
    Inputs in(30);
    REQUIRE(session.run(in, out, TCC_RUN_OUTPUTS_ON_DEVICE) == TCC_OK);
  }
  CHECK(state().open > 0);
  CHECK(out.bytes(0)[3] == 4 + 12);
  for (DLManagedTensor *&t : out.tensors) {
    t->deleter(t);
    t = nullptr;
  }
  CHECK(state().open == 0);
}

TEST_CASE("ranges around launches, where a context asks for them") {
  auto ranges = [](int *left) {
    void *library = dlopen("libnvToolsExt.so.1", RTLD_NOW);
    REQUIRE(library);
    int begun;
    const char *text = reinterpret_cast<const char *(*)(int *, int *)>(
        dlsym(library, "fake_nvtx_state"))(&begun, left);
    return std::pair(begun, std::string(text));
  };
  int left, before = ranges(&left).first;
  for (uint32_t profile : {0u, uint32_t(TCC_PROFILE_RANGES)}) {
    reset();
    int launched = state().launched;
    tcc_context_options options = {};
    options.profile = profile;
    Session session(options);
    Inputs in(30);
    Outputs out;
    REQUIRE(session.run(in, out) == TCC_OK);
    auto [begun, text] = ranges(&left);
    CHECK(begun - before == (profile ? state().launched - launched : 0));
    CHECK(left == 0);
    if (profile)
      CHECK(text == "k: add_1, add_2");
  }
}

/// Opens, runs twice and closes: the first failure.
static tcc_status whole(tcc_error *error, bool *opened = nullptr) {
  tcc_context_options options = {};
  options.profile = TCC_PROFILE_KERNELS | TCC_PROFILE_DEVICE;
  Session session(options);
  *error = session.error;
  if (session.status)
    return session.status;
  if (opened)
    *opened = true;
  for (int run = 0; run < 2; ++run) {
    Inputs in(40);
    Outputs out;
    tcc_status status = session.run(in, out);
    *error = session.error;
    if (status) {
      for (DLManagedTensor *t : out.tensors)
        CHECK(t == nullptr);
      return status;
    }
  }
  return TCC_OK;
}

TEST_CASE("whatever the driver fails at is a code and a sentence, and nothing stays open") {
  reset();
  tcc_error error;
  REQUIRE(whole(&error) == TCC_OK);
  int total = state().called, unharmed = 0;
  CHECK(total > 100);
  for (bool stays : {false, true})
    for (int code : {2, 209, 700})
      for (int at = 1; at <= total; ++at) {
        INFO("call " << at << " of " << total << " fails with " << code << (stays ? " on" : ""));
        reset(at, code);
        if (stays)
          fake<void()>("fake_cuda_stays")();
        error = {};
        tcc_status status = whole(&error);
        // An allocation is tried again, and the last calls close.
        if (status == TCC_OK) {
          ++unharmed;
        } else {
          CHECK(status == (code == 2     ? TCC_OUT_OF_MEMORY
                           : code == 209 ? TCC_INCOMPATIBLE
                                         : TCC_INTERNAL));
          CHECK(error.code == status);
          CHECK(std::string(error.message).find("GPU: ") != std::string::npos);
        }
        CHECK(state().open == 0);
        CHECK(state().pushed == 0);
      }
  CHECK(unharmed < total);
}

TEST_CASE("too little memory at every allocation in turn") {
  reset();
  tcc_error error;
  REQUIRE(whole(&error) == TCC_OK);
  int total = fake<int()>("fake_cuda_allocations")();
  REQUIRE(total >= 8);
  int found = 0; // of the memory that checks of data share with the host
  for (int at = 1; at <= total; ++at) {
    reset();
    fake<void(int)>("fake_cuda_fail_alloc")(at);
    tcc_status status = whole(&error);
    INFO(at << ": " << error.message);
    // The run's heap gives up what it keeps and asks once more, and then finds it.
    bool flags = status && std::string(error.message) == "GPU: allocating memory of the host: out "
                                                         "of memory (CUDA error 2)";
    found += flags;
    CHECK((status == TCC_OUT_OF_MEMORY) == (at <= 3 || flags));
    if (status && !flags)
      CHECK(std::string(error.message).find("GPU: no memory on Fake 0 for the model's ") == 0);
    CHECK(state().open == 0);
  }
  CHECK(found == 1);
  reset();
  Session session;
  Inputs in(40, 5, 100);
  Outputs out;
  CHECK(session.run(in, out) == TCC_OUT_OF_MEMORY);
  CHECK(std::string(session.error.message) ==
        "GPU: no memory on Fake 0 for a tensor of 4398046511104 bytes");
  in.step = 1;
  CHECK(session.run(in, out) == TCC_OK);
}

TEST_CASE("the architecture is chosen, or an error says what there is") {
  reset();
  tcc_error error;
  CHECK(whole(&error) == TCC_OK);
  struct Row {
    int capability;
    tcc_status status;
  };
  for (Row row : {Row{90, TCC_OK},
                  {70, TCC_OK},
                  {75, TCC_OK},
                  {80, TCC_OK},
                  {100, TCC_OK},
                  {60, TCC_INCOMPATIBLE}}) {
    INFO(row.capability);
    reset();
    fake<void(int)>("fake_cuda_set_capability")(row.capability);
    CHECK(whole(&error) == row.status);
    CHECK(state().open == 0);
  }
  CHECK(
      std::string(error.message) ==
      "GPU: Fake 0 has compute capability 6.0, this model has code for sm_70+ptx, sm_90a: compile "
      "it with an --arch that suits");
}

TEST_CASE("a damaged image") {
  reset();
  const void *good = std::exchange(tcc_test_images[1].code, "garbage");
  tcc_error error;
  CHECK(whole(&error) == TCC_INCOMPATIBLE);
  CHECK(std::string(error.message).find("GPU: loading kernels: ") == 0);
  tcc_test_images[1].code = good;
  CHECK(state().open == 0);
}

TEST_CASE("wrong devices, pointers, shapes and flags") {
  reset();
  tcc_context_options options = {};
  options.device = {kDLCUDA, 7};
  {
    Session session(options);
    CHECK(session.status == TCC_INVALID_ARGUMENT);
    CHECK(std::string(session.error.message) == "GPU: there is no device 7; 1 is visible");
  }
  options.device = {kDLCPU, 0};
  {
    Session session(options);
    CHECK(session.status == TCC_INVALID_ARGUMENT);
    CHECK(std::string(session.error.message) ==
          "this model's code is for cuda, not for devices of type 1");
  }
  Session session;
  Inputs in(40);
  Outputs out;
  auto refused = [&](tcc_status status) {
    CHECK(session.run(in, out) == status);
    return std::string(session.error.message);
  };
  in.tensors[0].device = {kDLCUDA, 1};
  CHECK(refused(TCC_INVALID_ARGUMENT) == "input 'x' lies on device 1 of type 2, not where this "
                                         "context runs: copy it there or to the CPU first");
  in.tensors[0].device = {kDLCUDA, 0};
  CHECK(refused(TCC_INVALID_ARGUMENT).find("input 'x': GPU: 0x") == 0);
  in.tensors[0].device = {kDLCPU, 0};
  std::vector<int64_t> shape = {39};
  in.tensors[2].shape = shape.data();
  CHECK(refused(TCC_INVALID_ARGUMENT) ==
        "input 'acc': dimension 0 (N) is 39, but N is 40 in input 'x'");
  in.tensors[2].shape = in.n.data();
  in.step = -1;
  CHECK(refused(TCC_MODEL_ERROR) == "the step is negative");
  in.step = 1;
  CHECK(session.run(in, out, 8) == TCC_INVALID_ARGUMENT);
  REQUIRE(session.run(in, out) == TCC_OK);
  CHECK(right(in, out, 1));
}

TEST_CASE("an error in the stream ends the run, and other models go on") {
  reset();
  Session other, session;
  Inputs in(40);
  Outputs out, next;
  REQUIRE(session.run(in, out) == TCC_OK);
  reset(20, 700);
  fake<void()>("fake_cuda_stays")();
  Outputs failed;
  CHECK(session.run(in, failed) == TCC_INTERNAL);
  CHECK(session.run(in, failed) == TCC_INTERNAL);
  CHECK(std::string(session.error.message).find("an illegal memory access (CUDA error 700)") !=
        std::string::npos);
  reset();
  REQUIRE(other.run(in, next) == TCC_OK);
}

TEST_CASE("several contexts, models and threads on one device") {
  reset();
  {
    Session shared;
    std::vector<std::thread> threads;
    std::atomic<int> good = 0;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        Session own;
        tcc_context *context = own.context;
        tcc_context_options options = {};
        if (t % 2 && tcc_context_create(shared.model, &options, &context, nullptr))
          return;
        for (int run = 1; run <= 30; ++run) {
          Inputs in(t * 20 + run, run, t);
          Outputs out;
          tcc_run_options how = {sizeof how, 0, nullptr};
          good += tcc_run_on(context, &how, in.pointers, 4, out.tensors, 3, nullptr) == TCC_OK &&
                  right(in, out, run);
        }
        if (context != own.context)
          tcc_context_destroy(context);
      });
    for (std::thread &thread : threads)
      thread.join();
    CHECK(good == 6 * 30);
  }
  CHECK(state().open == 0);
}

TEST_CASE("the caller's own memory") {
  reset();
  struct Own {
    int live = 0;
    static void *alloc(void *user, size_t size, void *) {
      ++static_cast<Own *>(user)->live;
      uint64_t memory = 0;
      fake<int(uint64_t *, size_t)>("cuMemAlloc_v2")(&memory, size);
      return reinterpret_cast<void *>(memory);
    }
    static void free(void *user, void *memory, size_t, void *) {
      --static_cast<Own *>(user)->live;
      fake<int(uint64_t)>("cuMemFree_v2")(reinterpret_cast<uint64_t>(memory));
    }
  } own;
  {
    tcc_context_options options = {};
    options.device_allocator = {Own::alloc, Own::free, &own};
    Session session(options);
    Inputs in(40);
    Outputs out;
    REQUIRE(session.run(in, out, TCC_RUN_OUTPUTS_ON_DEVICE) == TCC_OK);
    CHECK(own.live > 4);
  }
  CHECK(own.live == 0);
  CHECK(state().open == 0);
}
