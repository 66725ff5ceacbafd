//===- Model.h - A model.so in this process ---------------------*- C++ -*-===//
#pragma once
#include "Array.h"
#include "tcc/Runtime/tcc.h"
#include <memory>
#include <optional>

namespace tcc::run {

/// The model or the runtime refused or failed: exit code 2 or 1 by `status`.
struct ModelError : std::runtime_error {
  tcc_status status;
  ModelError(tcc_status status, const std::string &text)
      : std::runtime_error(text), status(status) {}
};

struct TensorInfo {
  std::string name;
  DLDataType dtype;
  std::optional<std::vector<int64_t>> shape; ///< -1: changes; absent: any rank
  std::vector<std::string> symbols;
  bool written;

  std::string text() const; ///< "float32[N, 3]"
};

struct Options {
  std::string weights; ///< empty: the model's own
  uint32_t threads = 0;
  std::optional<uint64_t> seed; ///< of the model's random numbers; absent: one that nobody knows
  bool profile = false;
  std::string device;      ///< "cuda:0"; empty: where the model's code is for
  bool timeDevice = false; ///< what each run takes there
  bool ranges = false;     ///< of NVTX
};

/// The outputs of one run, freed with it.
class Outputs {
public:
  explicit Outputs(size_t count) : tensors(count) {}
  Outputs(Outputs &&) = default;
  ~Outputs();
  size_t size() const { return tensors.size(); }
  const DLTensor &operator[](size_t i) const { return tensors[i]->dl_tensor; }
  DLManagedTensor **data() { return tensors.data(); }

private:
  std::vector<DLManagedTensor *> tensors;
};

/// An opened model with one context.
class Model {
public:
  Model(const std::string &path, const Options &options);
  ~Model();
  Model(const Model &) = delete;

  /// `there`: its outputs stay in the memory of the model's device.
  Outputs run(const std::vector<DLTensor> &inputs, bool there = false);
  bool onDevice() const { return stats().device.device_type != kDLCPU; }
  /// The tensors as they lie in the device's memory, where the copies live as long as `owners`.
  std::vector<DLTensor> place(const std::vector<DLTensor> &tensors, Outputs &owners);
  std::string manifest() const;
  tcc_context_stats stats() const;
  std::vector<tcc_kernel_info> kernels() const;

  std::vector<TensorInfo> inputs, outputs;
  double openMs; ///< from dlopen to a context that is ready to run

private:
  void open(const std::string &path, const Options &options);
  void close();

  void *handle = nullptr;
  const tcc_api *api = nullptr;
  tcc_model *model = nullptr;
  tcc_context *context = nullptr;
};

} // namespace tcc::run
