// Runs test/runtime/Program.c through the C interface. Built twice: the program linked in, for the
// sanitizers, and as a model.so that is opened like a user would.
#pragma once
#include "tcc/Runtime/tcc.h"
#include <array>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

namespace rt {

const tcc_api &api();

enum Command {
  Normal,
  FailInHost,
  FailByCode,
  FailAlloc,
  FailOverflow,
  ForgetOutput,
  FailAfterAllocs,
  Slow,
  FailShape,
  Draw,
  FailAfterDraw
};

inline DLTensor tensor(void *data, DLDataType dtype, std::vector<int64_t> &shape,
                       int64_t *strides = nullptr) {
  return {data, {kDLCPU, 0}, int32_t(shape.size()), dtype, shape.data(), strides, 0};
}

/// The program's five inputs with sizes N, M and K.
struct Inputs {
  std::vector<int64_t> xShape, yShape, kShape, scalar, mShape;
  std::vector<float> x, y, acc;
  std::vector<uint8_t> nibbles;
  int32_t command = Normal;
  std::array<DLTensor, 5> tensors;
  std::array<const DLTensor *, 5> pointers;

  Inputs(int64_t n, int64_t m, int64_t k)
      : xShape{n, m}, yShape{n, 3}, kShape{k}, mShape{m}, x(n * m), y(n * 3), acc(m),
        nibbles((k + 1) / 2) {
    std::iota(x.begin(), x.end(), 1.f);
    std::iota(y.begin(), y.end(), 0.5f);
    for (int64_t i = 0; i < k; ++i)
      nibbles[i / 2] |= (i % 16) << (i % 2 * 4);
    tensors = {
        tensor(x.data(), {kDLFloat, 32, 1}, xShape), tensor(y.data(), {kDLFloat, 32, 1}, yShape),
        tensor(nibbles.data(), {kDLInt, 4, 1}, kShape), tensor(&command, {kDLInt, 32, 1}, scalar),
        tensor(acc.data(), {kDLFloat, 32, 1}, mShape)};
    for (size_t i = 0; i < 5; ++i)
      pointers[i] = &tensors[i];
  }
  Inputs(const Inputs &) = delete;

  float rowSum(int64_t row) const {
    float sum = 0;
    for (int64_t j = 0; j < xShape[1]; ++j)
      sum += x[row * xShape[1] + j];
    for (int64_t j = 0; j < 3; ++j)
      sum += y[row * 3 + j];
    return sum;
  }
};

struct Outputs {
  std::array<DLManagedTensor *, 4> tensors{};
  ~Outputs() { release(); }
  void release() {
    for (DLManagedTensor *&t : tensors) {
      if (t && t->deleter)
        t->deleter(t);
      t = nullptr;
    }
  }
  template <typename T> T *data(size_t i) const {
    return reinterpret_cast<T *>(static_cast<char *>(tensors[i]->dl_tensor.data) +
                                 tensors[i]->dl_tensor.byte_offset);
  }
};

struct Model {
  tcc_model *model = nullptr;
  tcc_error error{};
  tcc_status status;
  explicit Model(const char *weights = nullptr) {
    tcc_model_options options = {sizeof options, weights};
    status = api().model_open(&options, &model, &error);
  }
  ~Model() { api().model_close(model); }
};

struct Context {
  tcc_context *context = nullptr;
  tcc_error error{};
  tcc_status status;
  explicit Context(const Model &model, tcc_context_options options = {}) {
    options.struct_size = sizeof options;
    status = api().context_create(model.model, &options, &context, &error);
  }
  ~Context() { api().context_destroy(context); }

  tcc_status run(const Inputs &in, Outputs &out) {
    return api().run(context, in.pointers.data(), 5, out.tensors.data(), 4, &error);
  }
  tcc_context_stats stats() const {
    tcc_context_stats stats = {};
    stats.struct_size = sizeof stats;
    api().context_get_stats(context, &stats);
    return stats;
  }
};

inline tcc_context_options withThreads(uint32_t threads) {
  tcc_context_options options = {};
  options.threads = threads;
  return options;
}

} // namespace rt
