//===- PastCaches.cpp - Stores of results that outgrow the caches ---------===//
#include "PastCaches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tcc/Analysis/InPlace.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

bool tcc::codegen::pointsOutgrowCaches(kernel::LaunchOp launch, const CpuTarget &cpu) {
  if (!llvm::Triple(cpu.triple).isX86())
    return false;
  int64_t bytes = 0;
  for (Type result : launch.getResultTypes()) {
    auto type = cast<RankedTensorType>(result);
    if (!type.hasStaticShape() || type.getRank() == 0 || type.getShape().back() % cpu.lanes(8) != 0)
      return false;
    bytes += tensorBytes(type);
  }
  return bytes >= cpu.lastBytes;
}

bool tcc::codegen::rowsOutgrowCaches(kernel::LaunchOp launch, int64_t kept, const CpuTarget &cpu) {
  if (!pointsOutgrowCaches(launch, cpu))
    return false;
  int64_t length = 1;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  for (int64_t extent : type.getShape().drop_front(*launch.getRows()))
    length *= extent;
  bool costly = llvm::any_of(launch.getBody().front(),
                             [](Operation &op) { return op.hasTrait<prim::VeryCostly>(); });
  // Exponentials of rows of narrow elements take longer than memory does, which has half as much to
  // move: nothing is gained there.
  bool narrow = llvm::any_of(launch.getResultTypes(), [](Type result) {
    return elementBytes(cast<RankedTensorType>(result).getElementType()) < 4;
  });
  return !costly || (length <= kept && !narrow);
}

/// Whether all results begin with a line, and none lies where an input does.
static Value resultsLieApart(KernelFrame &f) {
  auto address = [&](const Memory &memory) -> Value {
    return LLVM::PtrToIntOp::create(f.b, f.b.getI64Type(), memory.pointer);
  };
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(n));
  };
  Value bits = number(0);
  for (const Memory &result : f.results)
    bits = arith::OrIOp::create(f.b, bits, address(result));
  bits = arith::AndIOp::create(f.b, bits, number(f.cpu.lineBytes - 1));
  Value apart = arith::CmpIOp::create(f.b, arith::CmpIPredicate::eq, bits, number(0));
  for (unsigned input : overwritableInputs(f.launch))
    if (const Memory *memory = f.e.memoryOf(f.launch.getBody().getArgument(input)))
      apart = arith::AndIOp::create(f.b, apart,
                                    arith::CmpIOp::create(f.b, arith::CmpIPredicate::ne,
                                                          address(*memory),
                                                          address(f.results.front())));
  return apart;
}

/// Marks the vectors that `block` stores to results where they are known to be aligned.
static void storePastCaches(KernelFrame &f, Block *block) {
  block->walk([&](LLVM::StoreOp store) {
    auto vector = dyn_cast<VectorType>(store.getValue().getType());
    auto place = store.getAddr().getDefiningOp<LLVM::GEPOp>();
    if (!vector || !place || llvm::none_of(f.results, [&](const Memory &memory) {
          return memory.pointer == place.getBase();
        }))
      return;
    int64_t bytes = vector.getNumElements() * elementBytes(vector.getElementType());
    int64_t line = f.cpu.lineBytes;
    if (int64_t(store.getAlignment().value_or(1)) >= std::min(bytes, line))
      store.setNontemporal(true);
  });
}

void tcc::codegen::emitPastCaches(KernelFrame &f, function_ref<void(bool)> emit) {
  Value apart = resultsLieApart(f);
  auto branch = scf::IfOp::create(f.b, apart, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.b);
  f.b.setInsertionPointToStart(branch.thenBlock());
  for (Memory &result : f.results)
    result.alignment = f.cpu.lineBytes;
  f.e.nested([&] { emit(/*pastCaches=*/true); });
  storePastCaches(f, branch.thenBlock());
  // Other threads that see that the tasks are done see what they have stored.
  f.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  LLVM::CallIntrinsicOp::create(f.b, f.b.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
  for (Memory &result : f.results)
    result.alignment = 0;
  f.b.setInsertionPointToStart(branch.elseBlock());
  f.e.nested([&] { emit(/*pastCaches=*/false); });
}

void tcc::codegen::copyBytes(KernelFrame &f, Value to, Value from, Value bytes) {
  auto type = cast<RankedTensorType>(f.launch.getResultTypes()[0]);
  auto copy = [&](Value to, Value from, Value bytes) {
    LLVM::MemcpyOp::create(f.b, to, from, bytes, /*isVolatile=*/false);
  };
  bool outgrows = llvm::Triple(f.cpu.triple).isX86() && type.hasStaticShape() &&
                  tensorBytes(type) >= f.cpu.lastBytes;
  if (!outgrows)
    return copy(to, from, bytes);
  constexpr int64_t kTogether = 4; // vectors
  Type i8 = f.b.getI8Type(), i64 = f.b.getI64Type();
  int64_t width = f.cpu.vectorBits / 8, step = kTogether * width;
  auto vector = VectorType::get({width}, i8);
  auto number = [&](int64_t n) -> Value {
    return arith::ConstantOp::create(f.b, f.b.getI64IntegerAttr(n));
  };
  auto address = [&](Value pointer, Value offset) -> Value {
    return LLVM::GEPOp::create(f.b, pointer.getType(), i8, pointer, ArrayRef<LLVM::GEPArg>{offset});
  };
  // What comes before the first line, and what is left behind the last vectors.
  Value place = LLVM::PtrToIntOp::create(f.b, i64, to);
  Value head = arith::AndIOp::create(f.b, arith::SubIOp::create(f.b, number(0), place),
                                     number(f.cpu.lineBytes - 1));
  head = arith::MinUIOp::create(f.b, head, bytes);
  copy(to, from, head);
  Value rest = arith::SubIOp::create(f.b, bytes, head);
  Value whole = arith::AndIOp::create(f.b, rest, number(-step));
  Value first = address(to, head), source = address(from, head);
  Value end = arith::IndexCastOp::create(f.b, f.b.getIndexType(), whole);
  f.loop(f.e.index(0), end, step, [&](Value i) {
    Value at = arith::IndexCastOp::create(f.b, i64, i);
    SmallVector<Value> loaded;
    for (int64_t n = 0; n < kTogether; ++n) {
      Value offset = arith::AddIOp::create(f.b, at, number(n * width));
      loaded.push_back(LLVM::LoadOp::create(f.b, vector, address(source, offset), /*alignment=*/1));
    }
    for (auto [n, v] : llvm::enumerate(loaded)) {
      Value offset = arith::AddIOp::create(f.b, at, number(int64_t(n) * width));
      LLVM::StoreOp::create(f.b, v, address(first, offset), width, /*isVolatile=*/false,
                            /*isNonTemporal=*/true);
    }
  });
  copy(address(first, whole), address(source, whole), arith::SubIOp::create(f.b, rest, whole));
  LLVM::CallIntrinsicOp::create(f.b, f.b.getStringAttr("llvm.x86.sse.sfence"), ValueRange());
}
