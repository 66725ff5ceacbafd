//===- LanePicker.cpp - Lanes of registers by numbers of a register -------===//
//
// x86's permutations: AVX-512's take two vectors, AVX2's one; of more it is chosen.
//
//===----------------------------------------------------------------------===//
#include "LanePicker.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static bool mayUse(const CpuTarget &cpu, StringRef instructions) {
  return llvm::is_contained(llvm::split(cpu.required, ','), instructions);
}

static Value permuted(ImplicitLocOpBuilder &b, StringRef name, Type type, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name), operands).getResult(0);
}

void tcc::codegen::setPickerFor(const CpuTarget &cpu, LaneAccess &access) {
  ImplicitLocOpBuilder &b = access.builder();
  unsigned lanes = cpu.lanes(32);
  bool wide = lanes == 16 && mayUse(cpu, "avx512f");
  if (!wide && !(lanes == 8 && mayUse(cpu, "avx2")))
    return;
  access.setPicker(lanes, [&b, lanes, wide](ArrayRef<Value> vectors, Value from) -> Value {
    auto type = VectorType::get({lanes}, b.getF32Type());
    auto part = [&](size_t v) -> Value {
      Value x = vectors[std::min(v, vectors.size() - 1)];
      return x.getType() == type ? x : Value(arith::BitcastOp::create(b, type, x));
    };
    // Of a number beyond its vectors an instruction looks at the last bits.
    Value picked;
    size_t step = wide && vectors.size() > 1 ? 2 : 1;
    for (size_t v = 0; v < vectors.size(); v += step) {
      Value here = step == 2 ? permuted(b, "llvm.x86.avx512.vpermi2var.ps.512", type,
                                        {part(v), from, part(v + 1)})
                   : wide    ? permuted(b, "llvm.x86.avx512.permvar.sf.512", type, {part(v), from})
                             : permuted(b, "llvm.x86.avx2.permps", type, {part(v), from});
      if (picked) {
        Value begin =
            arith::ConstantOp::create(b, DenseElementsAttr::get(cast<VectorType>(from.getType()),
                                                                llvm::APInt(32, v * lanes)));
        Value before = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, from, begin);
        here = arith::SelectOp::create(b, before, picked, here);
      }
      picked = here;
    }
    Type wanted = vectors[0].getType();
    return wanted == type ? picked : Value(arith::BitcastOp::create(b, wanted, picked));
  });
}
