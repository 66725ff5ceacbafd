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
#include "llvm/ADT/StringSwitch.h"

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

  /// Operands and results of matrix instructions, a word at a time.
  void give(ImplicitLocOpBuilder &b, ValueRange words);
  Value take(ImplicitLocOpBuilder &b, Type result);

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

static Value number(ImplicitLocOpBuilder &b, int64_t v) {
  return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(int32_t(v)));
}

static Value address(ImplicitLocOpBuilder &b, Value pointer) {
  return LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer);
}

/// `v` with its bits as `type`.
static Value as(ImplicitLocOpBuilder &b, Type type, Value v) {
  return v.getType() == type ? v : Value(LLVM::BitcastOp::create(b, type, v));
}

void Simulator::give(ImplicitLocOpBuilder &b, ValueRange values) {
  SmallVector<Value> words;
  for (Value v : values) {
    if (!v.getType().isF64()) {
      words.push_back(as(b, b.getI32Type(), v));
      continue;
    }
    Value bits = as(b, b.getI64Type(), v);
    Value half = LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(32));
    for (Value word : {bits, Value(LLVM::LShrOp::create(b, bits, half))})
      words.push_back(LLVM::TruncOp::create(b, b.getI32Type(), word));
  }
  for (auto [i, word] : llvm::enumerate(words))
    call(b, "tcc_sim_give", {}, {number(b, i), word});
}

Value Simulator::take(ImplicitLocOpBuilder &b, Type result) {
  auto word = [&](unsigned i, Type type) {
    return as(b, type, call(b, "tcc_sim_take", b.getI32Type(), {number(b, i)}));
  };
  auto structure = dyn_cast<LLVM::LLVMStructType>(result);
  if (!structure)
    return word(0, result);
  Value all = LLVM::UndefOp::create(b, structure);
  for (auto [i, type] : llvm::enumerate(structure.getBody())) {
    Value v;
    if (type.isF64()) {
      auto wide = [&](unsigned number) -> Value {
        return LLVM::ZExtOp::create(b, b.getI64Type(), word(number, b.getI32Type()));
      };
      Value half = LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(32));
      Value high = LLVM::ShlOp::create(b, wide(2 * i + 1), half);
      v = as(b, type, LLVM::OrOp::create(b, high, wide(2 * i)));
    } else {
      v = word(i, type);
    }
    all = LLVM::InsertValueOp::create(b, all, v, int64_t(i));
  }
  return all;
}

/// What lib/Runtime/Simulated.h calls the operands' types; null for a product that it lacks.
static std::optional<std::pair<int, int>> kindsOf(NVVM::MmaOp op) {
  auto kindOf = [](std::optional<NVVM::MMATypes> type) {
    return llvm::StringSwitch<int>(type ? NVVM::stringifyMMATypes(*type) : "")
        .Case("bf16", 0)
        .Case("f16", 1)
        .Case("s8", 2)
        .Case("u8", 3)
        .Case("tf32", 4)
        .Case("f64", 5)
        .Default(-1);
  };
  int left = kindOf(op.getMultiplicandAPtxType()), right = kindOf(op.getMultiplicandBPtxType());
  constexpr int depths[] = {16, 16, 32, 32, 8, 4};
  NVVM::MMAShapeAttr shape = op.getShape();
  bool isDouble = left == 5;
  bool known = shape.getM() == (isDouble ? 8 : 16) && shape.getN() == 8 &&
               shape.getK() == depths[std::max(left, 0)] &&
               op->getNumOperands() == (isDouble ? 4 : 10);
  if (left < 0 || right < 0 || !known)
    return std::nullopt;
  return std::pair(left, right);
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
  } else if (auto copy = dyn_cast<NVVM::CpAsyncOp>(op)) {
    Value bytes = number(b, copy.getSize());
    Value inside = copy.getCpSize() ? copy.getCpSize() : bytes;
    call(b, "tcc_sim_copy_async", {},
         {address(b, copy.getDst()), address(b, copy.getSrc()), bytes, inside});
  } else if (auto round = dyn_cast<NVVM::ConvertFloatToTF32Op>(op)) {
    result = call(b, "tcc_sim_round_tf32", i32, {as(b, i32, round.getSrc())});
  } else if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op);
             intrinsic && intrinsic.getIntrin() == "llvm.nvvm.ex2.approx.ftz.f32") {
    Value bits = call(b, "tcc_sim_exp2", i32, {as(b, i32, intrinsic.getArgs()[0])});
    result = as(b, b.getF32Type(), bits);
  } else if (isa<NVVM::CpAsyncCommitGroupOp>(op)) {
    call(b, "tcc_sim_commit_copies", {}, {});
  } else if (auto wait = dyn_cast<NVVM::CpAsyncWaitGroupOp>(op)) {
    call(b, "tcc_sim_await_copies", {}, {number(b, wait.getN())});
  } else if (auto load = dyn_cast<NVVM::LdMatrixOp>(op)) {
    meet(b, "tcc_sim_load_matrices", {},
         {address(b, load.getPtr()), number(b, load.getNum()),
          number(b, load.getLayout() == NVVM::MMALayout::col)});
    result = take(b, load.getType());
  } else if (auto product = dyn_cast<NVVM::MmaOp>(op); product && kindsOf(product)) {
    give(b, product->getOperands());
    auto [left, right] = *kindsOf(product);
    meet(b, "tcc_sim_multiply", {}, {number(b, left), number(b, right)});
    result = take(b, product.getType());
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

/// Dynamic shared memory becomes a variable like the other.
static void defineShared(ModuleOp module, unsigned bytes) {
  for (auto global : module.getOps<LLVM::GlobalOp>())
    if (global.getLinkage() == LLVM::Linkage::External) {
      Type byte = IntegerType::get(module.getContext(), 8);
      global.setGlobalType(LLVM::LLVMArrayType::get(byte, bytes));
      global.setLinkage(LLVM::Linkage::Internal);
    }
}

FailureOr<bool> device::simulateKernel(ModuleOp module, StringRef name, unsigned sharedBytes) {
  defineShared(module, sharedBytes);
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op);
    if (isa<NVVM::NVVMDialect>(op->getDialect()) ||
        (intrinsic && intrinsic.getIntrin().starts_with("llvm.nvvm.")))
      ops.push_back(op);
  });
  Simulator simulator(module);
  for (Operation *op : ops)
    if (failed(simulator.replace(op)))
      return failure();
  simulator.wrap(module.lookupSymbol<LLVM::LLVMFuncOp>(name));
  return simulator.meets;
}
