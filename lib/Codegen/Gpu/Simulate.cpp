//===- Simulate.cpp - GPU kernels as code for a CPU -----------------------===//
//
//   %t = nvvm.read.ptx.sreg.tid.x : i32
//   nvvm.barrier0
// becomes
//   %t = llvm.call @tcc_sim_thread() : () -> i32
//   llvm.call @tcc_sim_barrier() : () -> ()
//
// Memory of a block stays what it is, a variable of the module: the simulated device runs
// one block after the other.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Gpu/Simulate.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

class Simulator {
public:
  explicit Simulator(ModuleOp module) : module(module) {}

  /// Fails at an operation that is not simulated.
  LogicalResult replace(Operation *op);
  /// Makes the kernel take its words from memory.
  void wrap(LLVM::LLVMFuncOp kernel);

  bool meets = false; ///< threads wait for each other

private:
  Value call(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands);
  Value meet(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands) {
    meets = true;
    return call(b, name, result, operands);
  }

  ModuleOp module;
};

} // namespace

Value Simulator::call(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands) {
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    Type type = result ? result : LLVM::LLVMVoidType::get(b.getContext());
    function = LLVM::LLVMFuncOp::create(
        top, b.getLoc(), name,
        LLVM::LLVMFunctionType::get(type, llvm::to_vector(operands.getTypes())));
  }
  auto made = LLVM::CallOp::create(b, function, operands);
  return result ? made.getResult() : Value();
}

LogicalResult Simulator::replace(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Type i32 = b.getI32Type();
  Value result;
  if (isa<NVVM::ThreadIdXOp>(op)) {
    result = call(b, "tcc_sim_thread", i32, {});
  } else if (isa<NVVM::BlockIdXOp>(op)) {
    result = call(b, "tcc_sim_block", i32, {});
  } else if (auto shuffle = dyn_cast<NVVM::ShflOp>(op);
             shuffle && shuffle.getKind() == NVVM::ShflKind::bfly) {
    Value word = shuffle.getVal();
    bool isFloat = word.getType().isF32();
    if (isFloat)
      word = LLVM::BitcastOp::create(b, i32, word);
    result = meet(b, "tcc_sim_exchange", i32, {word, shuffle.getOffset()});
    if (isFloat)
      result = LLVM::BitcastOp::create(b, b.getF32Type(), result);
  } else if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op);
             vote && vote.getKind() == NVVM::VoteSyncKind::ballot) {
    result = meet(b, "tcc_sim_ballot", i32, {LLVM::ZExtOp::create(b, i32, vote.getPred())});
  } else if (isa<NVVM::SyncWarpOp>(op)) {
    meet(b, "tcc_sim_warp_barrier", {}, {});
  } else if (isa<NVVM::Barrier0Op, NVVM::BarrierOp>(op)) {
    meet(b, "tcc_sim_barrier", {}, {});
  } else {
    return op->emitError("'") << op->getName() << "' is not simulated";
  }
  if (result)
    op->getResult(0).replaceAllUsesWith(result);
  op->erase();
  return success();
}

void Simulator::wrap(LLVM::LLVMFuncOp kernel) {
  for (NamedAttribute attribute : llvm::to_vector(kernel->getDialectAttrs()))
    kernel->removeAttr(attribute.getName());
  std::string name = kernel.getName().str();
  kernel.setName(name + "_thread");
  kernel.setLinkage(LLVM::Linkage::Internal);
  auto b = ImplicitLocOpBuilder::atBlockEnd(kernel.getLoc(), module.getBody());
  auto pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type nothing = LLVM::LLVMVoidType::get(b.getContext());
  auto wrapper = LLVM::LLVMFuncOp::create(b, name, LLVM::LLVMFunctionType::get(nothing, {pointer}));
  Block *body = wrapper.addEntryBlock(b);
  b.setInsertionPointToStart(body);
  SmallVector<Value> words;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    Value at = LLVM::GEPOp::create(b, pointer, b.getI64Type(), body->getArgument(0),
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    words.push_back(LLVM::LoadOp::create(b, type, at, 8));
  }
  LLVM::CallOp::create(b, kernel, words);
  LLVM::ReturnOp::create(b, ValueRange());
}

FailureOr<bool> device::simulateKernel(ModuleOp module, StringRef name) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (isa<NVVM::NVVMDialect>(op->getDialect()))
      ops.push_back(op);
  });
  Simulator simulator(module);
  for (Operation *op : ops)
    if (failed(simulator.replace(op)))
      return failure();
  simulator.wrap(module.lookupSymbol<LLVM::LLVMFuncOp>(name));
  return simulator.meets;
}
