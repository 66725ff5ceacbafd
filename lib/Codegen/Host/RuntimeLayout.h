//===- RuntimeLayout.h - The runtime's structs in generated code -*- C++ -*-===//
//
// Where the fields lie that the host program reads, in bytes, as the runtime's own
// header has them. Every target has pointers of 8 bytes and aligns fields to their
// size, as the machine does that compiles this; the runtime is compiled for each.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "Runtime/Program.h"
#include <cstddef>

namespace tcc::codegen {

static_assert(sizeof(void *) == 8);

inline constexpr int64_t kFrameInputs = offsetof(tcc_frame, inputs);
inline constexpr int64_t kFrameWeights = offsetof(tcc_frame, weights);
inline constexpr int64_t kFrameArena = offsetof(tcc_frame, arena);
inline constexpr int64_t kFrameState = offsetof(tcc_frame, state);
inline constexpr int64_t kFrameDeviceWeights = offsetof(tcc_frame, device_weights);
inline constexpr int64_t kFrameDeviceArena = offsetof(tcc_frame, device_arena);
inline constexpr int64_t kFrameDeviceState = offsetof(tcc_frame, device_state);

inline constexpr int64_t kTensorSize = sizeof(tcc_rt_tensor);
inline constexpr int64_t kTensorData = offsetof(tcc_rt_tensor, data);
inline constexpr int64_t kTensorDims = offsetof(tcc_rt_tensor, dims);
inline constexpr int64_t kDimSize = sizeof(*tcc_rt_tensor::dims);

} // namespace tcc::codegen
