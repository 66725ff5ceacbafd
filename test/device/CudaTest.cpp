// lib/Runtime/Cuda.c on a driver that has no GPU and fails where it is told to (FakeCuda.c), and
// on a machine without a driver.
#include <catch2/catch.hpp>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <vector>
extern "C" {
#include "Device.h"
}

namespace {

/// The fake's own functions; null where the loader finds no libcuda.so.1.
struct Fake {
  void (*reset)(int at, int code) = nullptr;
  void (*state)(int *open, int *pushed, int *called, int *launched) = nullptr;
  int (*early)() = nullptr;
  Fake() {
    if (void *library = dlopen("libcuda.so.1", RTLD_NOW)) {
      reset = reinterpret_cast<decltype(reset)>(dlsym(library, "fake_cuda_reset"));
      state = reinterpret_cast<decltype(state)>(dlsym(library, "fake_cuda_state"));
      early = reinterpret_cast<decltype(early)>(dlsym(library, "fake_cuda_early"));
    }
  }
};

/// Everything once: the first status that is not TCC_OK, with all that was opened closed again.
/// `done` is called before that: what fails later cannot be told to anybody.
tcc_status scenario(
    tcc_error *error, std::string *result = nullptr, const std::function<void()> &done = [] {}) {
  tcc_device *device;
  tcc_device_info info;
  tcc_status status = tcc_cuda.open(0, &device, &info, error);
  if (status)
    return status;
  tcc_device_stream *stream = nullptr;
  tcc_device_code *code = nullptr;
  tcc_device_kernel *kernel = nullptr;
  tcc_device_event *events[2] = {};
  tcc_device_address memory = 0, other = 0;
  char bytes[] = "G@K", back[4] = {};
  auto run = [&]() -> tcc_status {
#define TRY(call)                                                                                  \
  if (tcc_status s = (call))                                                                       \
  return s
    TRY(tcc_cuda.stream_create(device, &stream, error));
    TRY(tcc_cuda.load(device, "cubin", &code, error));
    tcc_device_image image = {};
    image.shared_bytes = 200 << 10;
    bool narrow = true;
    TRY(tcc_cuda.kernel(device, code, "k", &image, &kernel, &narrow, error));
    CHECK(!narrow);
    // Of clusters of 16 blocks it has none; of 8 it has.
    image.narrow_shared_bytes = 100 << 10;
    for (unsigned cluster : {16, 8}) {
      image.cluster = cluster;
      TRY(tcc_cuda.kernel(device, code, "k", &image, &kernel, &narrow, error));
      CHECK(narrow == (cluster == 16));
    }
    TRY(tcc_cuda.alloc(device, 4, &memory, error));
    TRY(tcc_cuda.alloc(device, 0, &other, error));
    TRY(tcc_cuda.event_create(device, &events[0], error));
    TRY(tcc_cuda.event_create(device, &events[1], error));
    TRY(tcc_cuda.copy_in(device, stream, memory, bytes, 4, error));
    TRY(tcc_cuda.event_record(device, stream, events[0], error));
    uint64_t words[] = {memory, 3, 1};
    tcc_encoded_tensor_map encoded;
    tcc_tensor_map map = {memory, 2, 2, 128, {64, 128}, {64, 64}, {1, 1}, {}};
    TRY(tcc_cuda.tensor_map(device, &map, &encoded, error));
    tcc_tensor_map picture = {
        memory, 4, 2, 128, {2, 9, 10, 64}, {1, 1, 1, 64}, {1, 1, 2, 1}, {128, {-2, -1}, {-3, 0}}};
    TRY(tcc_cuda.tensor_map(device, &picture, &encoded, error));
    tcc_device_launch launch = {kernel, 1, 32, 0, words, 3, 0, nullptr, false};
    TRY(tcc_cuda.launch(device, stream, &launch, error));
    launch.num_tensor_maps = 1;
    launch.tensor_maps = &encoded;
    launch.waits = true;
    TRY(tcc_cuda.launch(device, stream, &launch, error));
    launch.num_words = 1000;
    if (tcc_cuda.launch(device, stream, &launch, nullptr) != TCC_INTERNAL)
      return TCC_BUSY;
    launch.blocks = 0; // nothing to do
    TRY(tcc_cuda.launch(device, stream, &launch, error));
    TRY(tcc_cuda.event_record(device, stream, events[1], error));
    TRY(tcc_cuda.event_wait(device, stream, events[1], error));
    TRY(tcc_cuda.clear(device, stream, other, 1, error));
    TRY(tcc_cuda.check_memory(device, memory, 4, error));
    TRY(tcc_cuda.copy(device, stream, memory, memory, 4, error));
    TRY(tcc_cuda.copy_out(device, stream, back, memory, 4, error));
    TRY(tcc_cuda.synchronize(device, stream, error));
    float milliseconds;
    TRY(tcc_cuda.event_milliseconds(device, events[0], events[1], &milliseconds, error));
    if (result)
      *result = std::string(back) + " " + info.name + " " + std::to_string(info.capability) + " " +
                std::to_string(milliseconds);
    return TCC_OK;
#undef TRY
  };
  status = run();
  done();
  for (tcc_device_event *event : events)
    if (event)
      tcc_cuda.event_destroy(device, event);
  tcc_cuda.free(device, memory);
  tcc_cuda.free(device, other);
  if (code)
    tcc_cuda.unload(device, code);
  if (stream)
    tcc_cuda.stream_destroy(device, stream);
  tcc_cuda.close(device);
  return status;
}

} // namespace

TEST_CASE("CUDA: without a driver there is one sentence") {
  if (dlopen("libcuda.so.1", RTLD_NOW))
    return; // the fake, or a machine with a GPU
  tcc_error error;
  tcc_device *device;
  CHECK(tcc_cuda.open(0, &device, nullptr, &error) == TCC_INCOMPATIBLE);
  CHECK(std::string(error.message).find("GPU: NVIDIA's driver is not installed") == 0);
}

TEST_CASE("CUDA: every call that fails is reported, and nothing stays open") {
  Fake fake;
  if (!fake.reset)
    return;
  tcc_error error;
  int open, pushed, total, launched;
  std::string result;
  fake.reset(0, 0);
  REQUIRE(scenario(&error, &result, [&] { fake.state(&open, &pushed, &total, &launched); }) ==
          TCC_OK);
  CHECK(result == "IBM Fake 0 90 1.500000");
  CHECK(launched == 2);
  CHECK(fake.early() == 1);
  int after;
  fake.state(&open, &pushed, &after, &launched);
  CHECK(open == 0);
  CHECK(pushed == 0);
  for (int code : {2, 209, 700, 999})
    for (int at = 1; at <= total; ++at) {
      INFO("call " << at << " of " << total << " fails with " << code);
      fake.reset(at, code);
      error.message[0] = 0;
      tcc_status status = scenario(&error);
      tcc_status expected = code == 2     ? TCC_OUT_OF_MEMORY
                            : code == 209 ? TCC_INCOMPATIBLE
                                          : TCC_INTERNAL;
      fake.state(&open, &pushed, &launched, &launched);
      CHECK(open == 0);
      CHECK(pushed == 0);
      CHECK(status == expected);
      CHECK(error.code == expected);
      CHECK(std::string(error.message).find("GPU: ") == 0);
      CHECK(std::string(error.message).find("(CUDA error " + std::to_string(code) + ")") !=
            std::string::npos);
    }
}

TEST_CASE("CUDA: wrong device, wrong code, no such kernel, too much memory") {
  Fake fake;
  if (!fake.reset)
    return;
  fake.reset(0, 0);
  tcc_error error;
  tcc_device *device;
  CHECK(tcc_cuda.open(3, &device, nullptr, &error) == TCC_INVALID_ARGUMENT);
  CHECK(std::string(error.message) == "GPU: there is no device 3; 1 is visible");
  CHECK(tcc_cuda.open(-1, &device, nullptr, nullptr) == TCC_INVALID_ARGUMENT);
  REQUIRE(tcc_cuda.open(0, &device, nullptr, &error) == TCC_OK);
  tcc_device_code *code;
  tcc_device_kernel *kernel;
  tcc_device_address memory;
  CHECK(tcc_cuda.load(device, "garbage", &code, &error) == TCC_INCOMPATIBLE);
  REQUIRE(tcc_cuda.load(device, "cubin", &code, &error) == TCC_OK);
  tcc_device_image image = {};
  bool narrow;
  CHECK(tcc_cuda.kernel(device, code, "other", &image, &kernel, &narrow, &error) == TCC_INTERNAL);
  image.shared_bytes = 1 << 20;
  CHECK(tcc_cuda.kernel(device, code, "k", &image, &kernel, &narrow, &error) == TCC_INTERNAL);
  CHECK(tcc_cuda.check_memory(device, 4096, 4, &error) == TCC_INVALID_ARGUMENT);
  CHECK(std::string(error.message) == "GPU: 0x1000 is no memory of device 0");
  CHECK(tcc_cuda.alloc(device, size_t(2) << 30, &memory, &error) == TCC_OUT_OF_MEMORY);
  CHECK(std::string(error.message) == "GPU: allocating memory: out of memory (CUDA error 2)");
  tcc_cuda.unload(device, code);
  tcc_cuda.close(device);
}
