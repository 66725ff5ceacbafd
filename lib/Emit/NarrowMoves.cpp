//===- NarrowMoves.cpp - Narrow floats that are moved, as integers --------===//
#include "NarrowMoves.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;
namespace {

class NarrowMoves {
public:
  NarrowMoves(Function &function, bool hasHalf) : function(function), hasHalf(hasHalf) {}
  void run();

private:
  /// The integers that numbers of this type are moved as, or null: vectors of f16 are registers.
  Type *integers(Type *type) const;
  bool isMoved(const Instruction &op) const;
  Value *asInteger(Value *value);
  void replaceUses(Instruction *op);

  Function &function;
  bool hasHalf;
  MapVector<Value *, Value *> moved;
};

Type *NarrowMoves::integers(Type *type) const {
  if (!type->getScalarType()->isBFloatTy() && (hasHalf || !type->isHalfTy()))
    return nullptr;
  Type *element = Type::getInt16Ty(type->getContext());
  if (auto *vector = dyn_cast<FixedVectorType>(type))
    return FixedVectorType::get(element, vector->getNumElements());
  return type->isVectorTy() ? nullptr : element;
}

bool NarrowMoves::isMoved(const Instruction &op) const {
  if (!integers(op.getType()) || op.isTerminator())
    return false;
  if (isa<PHINode, SelectInst>(op))
    return true;
  return any_of(op.users(), [&](const User *user) {
    return isa<PHINode>(user) || cast<Instruction>(user)->getParent() != op.getParent();
  });
}

/// Whether integers take the place of `op`, instead of being made of it.
static bool isReplaced(const Instruction &op) {
  auto *load = dyn_cast<LoadInst>(&op);
  return isa<PHINode, SelectInst>(op) || (load && load->isSimple());
}

Value *NarrowMoves::asInteger(Value *value) {
  if (auto *found = moved.find(value); found != moved.end())
    return found->second;
  Type *type = integers(value->getType());
  auto *op = dyn_cast<Instruction>(value);
  if (auto *select = dyn_cast<SelectInst>(value)) {
    Value *yes = asInteger(select->getTrueValue()), *no = asInteger(select->getFalseValue());
    return moved[value] = IRBuilder<>(op).CreateSelect(select->getCondition(), yes, no);
  }
  IRBuilder<> b(op ? op->getParent() : &function.getEntryBlock(),
                op ? *op->getInsertionPointAfterDef()
                   : function.getEntryBlock().getFirstInsertionPt());
  Value *integer = b.CreateBitCast(value, type);
  return op ? moved[value] = integer : integer;
}

void NarrowMoves::replaceUses(Instruction *op) {
  Value *integer = moved[op];
  for (Use &use : make_early_inc_range(op->uses())) {
    auto *user = cast<Instruction>(use.getUser());
    if (user == integer || isa<PHINode, SelectInst>(user) ||
        (!isReplaced(*op) && user->getParent() == op->getParent()))
      continue;
    auto *store = dyn_cast<StoreInst>(user);
    if (store && store->isSimple())
      store->setOperand(0, integer);
    else
      use.set(IRBuilder<>(user).CreateBitCast(integer, op->getType()));
  }
}

void NarrowMoves::run() {
  SmallVector<Instruction *> found;
  for (BasicBlock &block : function)
    for (Instruction &op : block)
      if (isMoved(op))
        found.push_back(&op);
  for (Instruction *op : found) {
    Type *type = integers(op->getType());
    if (auto *phi = dyn_cast<PHINode>(op)) {
      moved[op] = IRBuilder<>(op).CreatePHI(type, phi->getNumIncomingValues());
    } else if (auto *load = dyn_cast<LoadInst>(op); load && load->isSimple()) {
      auto *integer =
          IRBuilder<>(op).CreateAlignedLoad(type, load->getPointerOperand(), load->getAlign());
      integer->copyMetadata(*load);
      moved[op] = integer;
    }
  }
  for (Instruction *op : found)
    (void)asInteger(op);
  for (Instruction *op : found)
    if (auto *phi = dyn_cast<PHINode>(op))
      for (auto [value, block] : zip_equal(phi->incoming_values(), phi->blocks()))
        cast<PHINode>(moved[op])->addIncoming(asInteger(value), block);
  for (Instruction *op : found)
    replaceUses(op);
  // What is left of them is used by each other.
  for (Instruction *op : found)
    if (isReplaced(*op)) {
      op->replaceAllUsesWith(PoisonValue::get(op->getType()));
      op->eraseFromParent();
    }
}

} // namespace

void tcc::emit::moveNarrowFloats(Module &module, const TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return;
  bool hasHalf = machine.getMCSubtargetInfo()->checkFeatures("+avx512fp16");
  for (Function &function : module)
    if (!function.isDeclaration())
      NarrowMoves(function, hasHalf).run();
}
