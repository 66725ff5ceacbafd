//===- ClusterExchange.cpp - What blocks of a cluster tell each other -----===//
//
// st.async writes a number to the shared memory of another block and takes its bytes from those
// that a barrier there waits for. Whoever sees the phase of that barrier end sees all of them.
//
//===----------------------------------------------------------------------===//
#include "ClusterExchange.h"
#include "Products/WgmmaInstructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

ClusterExchange::ClusterExchange(KernelFrame &f, unsigned split) : f(f), b(f.b), split(split) {
  f.function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.getDenseI32ArrayAttr({static_cast<int32_t>(split)}));
  cluster = f.e.divIndex(f.block, f.e.index(split));
  rank = f.e.remIndex(f.block, f.e.index(split));
}

void ClusterExchange::assembly(StringRef text, StringRef constraints, ValueRange operands) {
  LLVM::InlineAsmOp::create(b, Type(), operands, text, constraints, /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                            LLVM::AsmDialectAttr(), ArrayAttr());
}

void ClusterExchange::makeBarriers(Value first, unsigned count) {
  f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0)), [&] {
    for (unsigned i = 0; i < count; ++i)
      NVVM::MBarrierInitOp::create(b, f.at(first, b.getI64Type(), f.e.index(i)), f.i32(1), Value());
    NVVM::FenceMbarrierInitOp::create(b);
  });
}

void ClusterExchange::meet() {
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

void ClusterExchange::expect(Value barrier, int64_t bytes) {
  f.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, f.thread, f.e.index(0)),
         [&] { expectBytes(b, barrier, bytes); });
}

Value ClusterExchange::ofBlock(Value place, unsigned number) {
  Type pointer = LLVM::LLVMPointerType::get(
      b.getContext(), static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  Value there = NVVM::MapaOp::create(b, pointer, place, f.i32(number));
  return LLVM::PtrToIntOp::create(b, b.getI64Type(), there);
}

void ClusterExchange::send(Value v, Value place, Value barrier) {
  for (unsigned number = 0; number < split; ++number)
    assembly("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [$0], $1, [$2];",
             "l,f,l,~{memory}", {ofBlock(place, number), v, ofBlock(barrier, number)});
}

void ClusterExchange::send(ArrayRef<Value> four, Value place, Value barrier) {
  for (unsigned number = 0; number < split; ++number)
    assembly(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [$0], "
        "{$1, $2, $3, $4}, [$5];",
        "l,f,f,f,f,l,~{memory}",
        {ofBlock(place, number), four[0], four[1], four[2], four[3], ofBlock(barrier, number)});
}

void ClusterExchange::await(Value barrier, Value parity) {
  awaitBarrier(b, barrier, arith::IndexCastOp::create(b, b.getI32Type(), parity));
}
