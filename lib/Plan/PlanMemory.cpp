//===- PlanMemory.cpp - From values to memory -----------------------------===//
//
// Before this pass the model is values; after it, memory. Where each result lies is
// decided once (StoragePlan.cpp), and the program that says so is all that code
// generation, the reports and the runtime go by (HostProgram.cpp):
//
//   %0 = kernel.launch loop "exp" ins(%x : tensor<8xf32>) sizes() { ... } -> tensor<8xf32>
//   %1 = kernel.launch row[0] "sum" ins(%0 : tensor<8xf32>) sizes() { ... } -> tensor<f32>
//   return %1 : tensor<f32>
//
// becomes
//
//   %arena = host.arena 64 : !host.arena
//   %0 = host.slice %arena[0] sizes() : !host.arena -> memref<8xf32>
//   host.launch @k0_exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
//   %1 = host.output 0 sizes() : memref<f32>
//   host.launch @k1_sum ins(%0 : memref<8xf32>) outs(%1 : memref<f32>)
//   return %1 : memref<f32>
//
// Where kernels run on a device, all that they read and write lies in the device's memory. What
// only the host reads of the arguments, weights and constants stays in the host's, so that no copy
// is waited for, and checks of data come last (SinkChecks.cpp). A check of one truth value is not
// read at all: its kernel leaves it where the host finds it later (CheckFlags.cpp),
//
//   %2 = host.flag true, "an index is out of range" : memref<i1, #host.space<pinned>>
//   host.launch @k2_any ins(%bad : ...) outs(%2 : memref<i1, #host.space<pinned>>)
//
// It follows fusion, since what runs as one kernel needs no memory in between, and the
// schedules, since launches with different ones are different kernels.
//
//===----------------------------------------------------------------------===//
#include "Plan/HostProgram.h"
#include "Plan/SinkChecks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Plan/Plan.h"

namespace tcc {
#define GEN_PASS_DECL_PLANMEMORYPASS
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "tcc/Plan/Passes.h.inc"
} // namespace tcc

using namespace mlir;
using namespace tcc;

namespace {

class PlanMemoryPass : public tcc::impl::PlanMemoryPassBase<PlanMemoryPass> {
public:
  PlanMemoryPass(bool inPlace, host::MemorySpace space) {
    this->inPlace = inPlace;
    onDevice = space == host::MemorySpace::device;
  }
  void runOnOperation() override {
    plan::KernelTable kernels(getOperation());
    auto space = onDevice ? host::MemorySpace::device : host::MemorySpace::host;
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (onDevice)
        plan::sinkChecks(function);
      auto flags = onDevice ? plan::findCheckFlags(function) : plan::CheckFlags();
      if (failed(plan::makeHostProgram(
              function, plan::planStorage(function, inPlace, std::move(flags)), kernels, space)))
        return signalPassFailure();
    }
  }
};

} // namespace

std::unique_ptr<Pass> tcc::createPlanMemoryPass(bool inPlace, host::MemorySpace space) {
  return std::make_unique<PlanMemoryPass>(inPlace, space);
}
