//===- CheckFlags.cpp - Checks of data that nobody waits for --------------===//
#include "Plan/CheckFlags.h"
#include "Runtime/Program.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Dialect/Kernel/Kernel.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::plan;

namespace {

/// The readers of one truth value, if all of them are checks of the model's top block.
class Readers {
public:
  explicit Readers(Block &top) : top(top) {}
  /// `bad`: what `value` is where a check fails.
  bool collect(Value value, bool bad);

  std::optional<CheckFlag> flag;
  SmallVector<Operation *> all;

private:
  bool collectUser(Operation *user, bool bad);
  Block &top;
};

} // namespace

bool Readers::collectUser(Operation *user, bool bad) {
  if (user->getBlock() != &top)
    return false;
  all.push_back(user);
  if (auto check = dyn_cast<prim::AssertOp>(user)) {
    if (flag && flag->bad != bad)
      return false;
    flag = flag ? flag : CheckFlag{check, bad};
    return true;
  }
  if (isa<prim::ReshapeOp, prim::ExtractOp>(user))
    return collect(user->getResult(0), bad);
  return isa<arith::XOrIOp>(user) && matchPattern(user->getOperand(1), m_One()) &&
         collect(user->getResult(0), !bad);
}

bool Readers::collect(Value value, bool bad) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) { return collectUser(user, bad); });
}

/// Whether `launch` leaves one truth value as its result `value`.
static bool isTruth(Value value) {
  RankedTensorType type = tensorType(value);
  return type.hasStaticShape() && type.getNumElements() == 1 &&
         type.getElementType().isInteger(1) && !type.getEncoding();
}

CheckFlags plan::findCheckFlags(func::FuncOp function) {
  Block &top = function.getBody().front();
  CheckFlags flags;
  for (auto launch : top.getOps<kernel::LaunchOp>())
    for (Value result : launch.getResults()) {
      Readers readers(top);
      if (launch.getOnHostAttr() || !isTruth(result) || flags.of.size() == TCC_RUN_FLAGS ||
          !readers.collect(result, /*bad=*/false) || !readers.flag)
        continue;
      flags.of.insert({result, *readers.flag});
      flags.readers.insert(readers.all.begin(), readers.all.end());
    }
  return flags;
}
