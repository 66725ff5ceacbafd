//===- ExpandedZeros.cpp - Shuffles that LLVM would expand ----------------===//
#include "ExpandedZeros.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

/// Whether the lanes that are not of operand `zero` are the other's first ones in their order, and
/// not all where they were.
static bool expands(ArrayRef<int> mask, unsigned zero, unsigned lanes) {
  int next = 0;
  bool moves = false;
  for (auto [lane, from] : enumerate(mask)) {
    if (from < 0 || unsigned(from) / lanes == zero)
      continue;
    if (int(unsigned(from) % lanes) != next)
      return false;
    moves |= next != int(lane);
    ++next;
  }
  return moves;
}

/// Whether what is taken of operand `i`, the other lanes of which may be anything, is zeros.
static bool takesZeros(const ShuffleVectorInst &shuffle, unsigned i, unsigned lanes) {
  auto *constant = dyn_cast<Constant>(shuffle.getOperand(i));
  return constant && all_of(shuffle.getShuffleMask(), [&](int from) {
           if (from < 0 || unsigned(from) / lanes != i)
             return true;
           Constant *element = constant->getAggregateElement(unsigned(from) % lanes);
           return element && element->isNullValue();
         });
}

/// The operand of `shuffle` that is a zero to hide.
static std::optional<unsigned> expandedZero(const ShuffleVectorInst &shuffle) {
  auto *type = dyn_cast<FixedVectorType>(shuffle.getOperand(0)->getType());
  if (!type || shuffle.getType() != type)
    return std::nullopt;
  // Elements that it is for, in one register.
  unsigned bits = type->getScalarSizeInBits(), all = bits * type->getNumElements();
  if (type->getElementType()->isPointerTy() || (bits != 32 && bits != 64) ||
      (all != 128 && all != 256 && all != 512))
    return std::nullopt;
  unsigned lanes = type->getNumElements();
  for (unsigned i : {0U, 1U})
    if (takesZeros(shuffle, i, lanes) && expands(shuffle.getShuffleMask(), i, lanes))
      return i;
  return std::nullopt;
}

void tcc::emit::hideExpandedZeros(Module &module, const TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86() ||
      !machine.getMCSubtargetInfo()->checkFeatures("+avx512f"))
    return;
  for (Function &function : module) {
    DenseMap<Type *, Value *> hidden;
    for (BasicBlock &block : function)
      for (Instruction &op : block) {
        auto *shuffle = dyn_cast<ShuffleVectorInst>(&op);
        auto zero = shuffle ? expandedZero(*shuffle) : std::nullopt;
        if (!zero)
          continue;
        Value *&value = hidden[shuffle->getType()];
        if (!value) {
          IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
          Type *type = shuffle->getType();
          auto *text = InlineAsm::get(FunctionType::get(type, {type}, false), "", "=v,0",
                                      /*hasSideEffects=*/false);
          value = b.CreateCall(text, {Constant::getNullValue(type)});
        }
        shuffle->setOperand(*zero, value);
      }
  }
}
