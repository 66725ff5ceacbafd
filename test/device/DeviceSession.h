//===- DeviceSession.h - A model on a device, for tests ----------*- C++ -*-===//
//
// The hand-written program of DeviceProgram.c, its inputs and outputs, and a tensor that lies on
// the device. TCC_TEST_SIMULATED chooses the simulated device, whose memory the host cannot touch;
// else it is a driver that fails where it is told to.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Runtime/tcc.h"
#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <vector>
extern "C" {
#include "Device.h"
}

namespace tcc::test {

#ifdef TCC_TEST_SIMULATED
inline const tcc_device_driver &driver = tcc_simulated;
#else
inline const tcc_device_driver &driver = tcc_cuda;
#endif

inline DLTensor onHost(void *data, DLDataType type, std::vector<int64_t> &shape,
                       int64_t *strides = nullptr) {
  return {data, {kDLCPU, 0}, int32_t(shape.size()), type, shape.data(), strides, 0};
}

struct Inputs {
  std::vector<int64_t> n, k, scalar;
  std::vector<uint8_t> x, acc, nibbles;
  int64_t step;
  DLTensor tensors[4];
  const DLTensor *pointers[4];

  explicit Inputs(int64_t n, int64_t k = 5, int64_t step = 2)
      : n{n}, k{k}, x(n), acc(n, 100), nibbles((k + 1) / 2, 0x21), step(step) {
    std::iota(x.begin(), x.end(), 1);
    tensors[0] = onHost(x.data(), {kDLUInt, 8, 1}, this->n);
    tensors[1] = onHost(&this->step, {kDLInt, 64, 1}, scalar);
    tensors[2] = onHost(acc.data(), {kDLUInt, 8, 1}, this->n);
    tensors[3] = onHost(nibbles.data(), {kDLInt, 4, 1}, this->k);
    for (int i = 0; i < 4; ++i)
      pointers[i] = &tensors[i];
  }
  Inputs(const Inputs &) = delete;
};

struct Outputs {
  DLManagedTensor *tensors[3] = {};
  ~Outputs() {
    for (DLManagedTensor *t : tensors)
      if (t && t->deleter)
        t->deleter(t);
  }
  uint8_t *bytes(int i) const { return static_cast<uint8_t *>(tensors[i]->dl_tensor.data); }
};

struct Session {
  tcc_model *model = nullptr;
  tcc_context *context = nullptr;
  tcc_error error = {};
  tcc_status status;
  explicit Session(tcc_context_options options = {}) {
    options.struct_size = sizeof options;
    options.threads = 1;
    status = tcc_model_open(nullptr, &model, &error);
    if (!status)
      status = tcc_context_create(model, &options, &context, &error);
  }
  ~Session() {
    tcc_context_destroy(context);
    tcc_model_close(model);
  }
  Session(const Session &) = delete;
  tcc_status run(const Inputs &in, Outputs &out, uint32_t flags = 0, void *stream = nullptr) {
    tcc_run_options options = {sizeof options, flags, stream};
    return tcc_run_on(context, &options, in.pointers, 4, out.tensors, 3, &error);
  }
  tcc_context_stats stats() const {
    tcc_context_stats stats = {};
    stats.struct_size = sizeof stats;
    tcc_context_get_stats(context, &stats);
    return stats;
  }
};

inline bool right(const Inputs &in, const Outputs &out, int runs) {
  bool good = out.bytes(1)[0] == 3 + runs && out.bytes(1)[1] == 0 &&
              (in.k[0] < 2 || out.bytes(2)[0] == 0x32);
  for (int64_t i = 0; i < in.n[0]; ++i)
    good &= out.bytes(0)[i] == uint8_t(i + 1 + in.step + 10);
  return good;
}

/// A tensor in the device's memory, of a device of the test's own.
struct Remote {
  tcc_device *device;
  tcc_device_address memory = 0;
  tcc_device_stream *stream = nullptr;
  std::vector<int64_t> shape;
  DLTensor tensor;
  explicit Remote(const std::vector<uint8_t> &bytes, size_t offset = 0)
      : shape{int64_t(bytes.size() - offset)} {
    tcc_device_info info;
    REQUIRE(driver.open(0, &device, &info, nullptr) == TCC_OK);
    REQUIRE(driver.stream_create(device, &stream, nullptr) == TCC_OK);
    REQUIRE(driver.alloc(device, bytes.size(), &memory, nullptr) == TCC_OK);
    REQUIRE(driver.copy_in(device, stream, memory, bytes.data(), bytes.size(), nullptr) == TCC_OK);
    tensor = {reinterpret_cast<void *>(memory),
              {driver.dlpack, 0},
              1,
              {kDLUInt, 8, 1},
              shape.data(),
              nullptr,
              offset};
  }
  std::vector<uint8_t> bytes(size_t count) const {
    std::vector<uint8_t> back(count);
    REQUIRE(driver.copy_out(device, stream, back.data(), memory, count, nullptr) == TCC_OK);
    REQUIRE(driver.synchronize(device, stream, nullptr) == TCC_OK);
    return back;
  }
  ~Remote() {
    driver.free(device, memory);
    driver.stream_destroy(device, stream);
    driver.close(device);
  }
};

} // namespace tcc::test
