// Checks of data that no run waits for, on a driver that puts the kernels off that make them
// (FakeCuda.c).
#include "DeviceSession.h"
#include <dlfcn.h>

using namespace tcc::test;

namespace {

template <typename... Arguments> void fake(const char *name, Arguments... arguments) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library);
  reinterpret_cast<void (*)(Arguments...)>(dlsym(library, name))(arguments...);
}

struct Count {
  int open = 0, pushed = 0, called = 0, launched = 0;
  Count() { fake("fake_cuda_state", &open, &pushed, &called, &launched); }
};

/// Runs in a stream of the caller, with all tensors on the device.
struct Queue {
  Session session;
  Inputs in{40, 0};
  Remote x{in.x}, acc{in.acc};
  explicit Queue(bool holds = false) {
    fake("fake_cuda_reset", 0, 0);
    fake("fake_cuda_hold", int(holds));
    in.tensors[0] = x.tensor;
    in.tensors[2] = acc.tensor;
  }
  ~Queue() { fake("fake_cuda_hold", 0); }
  tcc_status run(int64_t step, void *stream) {
    Outputs out;
    in.step = step;
    return session.run(in, out, TCC_RUN_ON_STREAM | TCC_RUN_OUTPUTS_ON_DEVICE, stream);
  }
  tcc_status run(int64_t step) { return run(step, this); }
  tcc_status synchronize() { return tcc_context_synchronize(session.context, &session.error); }
  std::string text() const { return session.error.message; }
};

} // namespace

TEST_CASE("a run that is refused is reported by the next call, which does nothing else") {
  {
    Queue queue;
    CHECK(queue.run(1) == TCC_OK);
    CHECK(queue.run(42) == TCC_OK);
    int before = Count().launched;
    CHECK(queue.run(1) == TCC_MODEL_ERROR);
    CHECK(queue.text() == "node 'steps': the step is 42");
    CHECK(Count().launched == before);
    CHECK(queue.run(1) == TCC_OK);
    CHECK(queue.synchronize() == TCC_OK);
    // Inputs that are placed are calls as well.
    CHECK(queue.run(42) == TCC_OK);
    DLManagedTensor *placed = nullptr;
    Inputs host(4);
    CHECK(tcc_context_place(queue.session.context, host.pointers[0], &placed, nullptr) ==
          TCC_MODEL_ERROR);
    CHECK(tcc_context_place(queue.session.context, host.pointers[0], &placed, nullptr) == TCC_OK);
    placed->deleter(placed);
  }
  CHECK(Count().open == 0);
}

TEST_CASE("a run that waits for the device says itself that it was refused") {
  Session session;
  Inputs in(40, 5, 42);
  Outputs out;
  CHECK(session.run(in, out) == TCC_MODEL_ERROR);
  CHECK(std::string(session.error.message) == "node 'steps': the step is 42");
  CHECK(out.tensors[0] == nullptr);
  in.step = 2;
  REQUIRE(session.run(in, out) == TCC_OK);
  CHECK(right(in, out, 2));
}

TEST_CASE("while the device has not got there, runs go on; who waits is told") {
  {
    Queue queue(true);
    CHECK(queue.run(42) == TCC_OK);
    CHECK(queue.run(1) == TCC_OK);
    CHECK(queue.run(42) == TCC_OK);
    CHECK(queue.synchronize() == TCC_MODEL_ERROR);
    CHECK(queue.text() == "node 'steps': the step is 42");
    CHECK(queue.synchronize() == TCC_OK); // of both
    CHECK(queue.run(1) == TCC_OK);
    fake("fake_cuda_hold", 1);
    CHECK(queue.run(42) == TCC_OK);
  } // closed with a failure that nobody was told
  CHECK(Count().open == 0);
}

TEST_CASE("runs that are queued one after the other wait for the oldest before it is forgotten") {
  Queue queue(true);
  CHECK(queue.run(42) == TCC_OK);
  for (int run = 1; run < 63; ++run)
    CHECK(queue.run(1) == TCC_OK);
  CHECK(queue.run(1) == TCC_MODEL_ERROR);
  for (int run = 0; run < 200; ++run)
    CHECK(queue.run(1) == TCC_OK);
  CHECK(queue.synchronize() == TCC_OK);
}

TEST_CASE("a run that fails otherwise leaves no check behind") {
  Queue queue;
  CHECK(queue.run(1) == TCC_OK);
  CHECK(queue.run(100) == TCC_OUT_OF_MEMORY);
  CHECK(queue.run(1) == TCC_OK);
  CHECK(queue.synchronize() == TCC_OK);
}

TEST_CASE("each context is told of its own runs") {
  Queue one;
  Session two;
  CHECK(one.run(42) == TCC_OK);
  Inputs in(40);
  Outputs out;
  CHECK(two.run(in, out) == TCC_OK);
  CHECK(tcc_context_synchronize(two.context, nullptr) == TCC_OK);
  CHECK(one.synchronize() == TCC_MODEL_ERROR);
  CHECK(tcc_context_synchronize(nullptr, nullptr) == TCC_INVALID_ARGUMENT);
}

TEST_CASE("runs that are captured in a graph leave nothing for others to wait for or to be told") {
  int other;
  {
    Queue queue;
    Inputs large(100000);
    Outputs out;
    CHECK(queue.session.run(large, out) == TCC_OK); // takes blocks that no later run needs
    CHECK(queue.run(1) == TCC_OK);
    fake("fake_cuda_capture", 1);
    for (int run = 0; run < 200; ++run)
      CHECK(queue.run(43, &other) == TCC_OK);
    fake("fake_cuda_capture", 0);
    CHECK(queue.run(1) == TCC_OK);
    CHECK(queue.run(1, &other) == TCC_OK);
    CHECK(queue.synchronize() == TCC_OK);
    CHECK(queue.run(42, &other) == TCC_OK);
    CHECK(queue.synchronize() == TCC_MODEL_ERROR);
  }
  CHECK(Count().open == 0);
}

TEST_CASE("a run is captured in a graph if nobody waits in it, or it says so") {
  Queue queue;
  CHECK(queue.run(1) == TCC_OK);
  fake("fake_cuda_capture", 1);
  CHECK(queue.run(1) == TCC_INVALID_ARGUMENT);
  fake("fake_cuda_capture", 0);
  CHECK(queue.text().find("cannot be captured in a graph: the host reads") != std::string::npos);
  CHECK(queue.run(1) == TCC_OK);
}

TEST_CASE("a run that is captured in a graph takes the memory that no run before it took") {
  {
    Queue queue;
    fake("fake_cuda_capture", 1);
    fake("fake_cuda_fail_alloc", -1);
    CHECK(queue.run(43) == TCC_OUT_OF_MEMORY);
    CHECK(queue.text().find("GPU: no memory on") == 0);
    fake("fake_cuda_fail_alloc", 0);
    CHECK(queue.run(43) == TCC_OK); // the graph is not spoiled
    fake("fake_cuda_capture", 0);
  }
  CHECK(Count().open == 0);
}

TEST_CASE("a context with a profile is not captured in a graph") {
  fake("fake_cuda_reset", 0, 0);
  Inputs in(40);
  Outputs out;
  tcc_context_options options = {};
  options.profile = TCC_PROFILE_DEVICE;
  Session session(options);
  fake("fake_cuda_capture", 1);
  CHECK(session.run(in, out, TCC_RUN_ON_STREAM, &session) == TCC_INVALID_ARGUMENT);
  fake("fake_cuda_capture", 0);
  CHECK(std::string(session.error.message) ==
        "a context with a profile cannot be captured in a graph");
  CHECK(session.run(in, out) == TCC_OK);
}
