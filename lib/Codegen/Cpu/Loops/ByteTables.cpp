//===- ByteTables.cpp - Functions of a byte are read from tables ----------===//
//
// Quantised networks round what goes into an activation and what comes out of it:
//
//   %q = prim.cast %rounded : to ui8
//   %x = prim.mul (prim.sub (prim.cast %q), %zero), %scale
//   %y = prim.cast (prim.round (prim.div (prim.mul %x, (prim.logistic %x)), %s)) : to ui8
//
// %y is one of 256 numbers, and %q says which: it is computed for each of them when the kernel is
// compiled, by the reference interpreter, and read from there. What is known to depend on one byte
// alone is found backwards from what the kernel gives; the longest such function is one table, with
// whatever else was rounded on the way. Functions that take no longer than reading a table lane by
// lane (of a few additions, or a ReLU) stay what they are, and so do those of which a part that
// takes long is wanted for itself. Vectors of more than eight lanes compute more at once and read
// as slowly: they go on computing.
//
//===----------------------------------------------------------------------===//
#include "ByteTables.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Support/WeightTable.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

constexpr int64_t kBytes = 256;

/// `ops`, in the order of the block, compute the last one's result from `byte` alone.
struct ByteFunction {
  Value byte;
  SmallVector<Operation *> ops;
};

class ByteTables {
public:
  explicit ByteTables(KernelFrame &frame) : frame(frame) {}
  void run();

private:
  std::optional<ByteFunction> functionOf(Operation *root) const;
  bool pays(const ByteFunction &f) const;
  std::optional<reference::Tensor> valuesOf(const ByteFunction &f) const;
  void bind(Value result, Value byte, const reference::Tensor &values);

  KernelFrame &frame;
  unsigned tables = 0;
};

} // namespace

static bool isByte(Value v) { return tensorType(v).getElementType().isInteger(8); }

/// The number that all elements of `v` are.
static DenseElementsAttr numberOf(Value v) {
  if (auto broadcast = v.getDefiningOp<prim::BroadcastOp>())
    v = broadcast.getX();
  auto constant = v.getDefiningOp<prim::ConstantOp>();
  auto value = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return value && value.isSplat() ? value : DenseElementsAttr();
}

/// What `root` is computed by behind `byte`; false where something else goes into it.
static bool collect(Operation *root, Value byte, SetVector<Operation *> &ops) {
  ops.insert(root);
  for (size_t i = 0; i < ops.size(); ++i)
    for (Value operand : ops[i]->getOperands()) {
      if (operand == byte || numberOf(operand))
        continue;
      Operation *op = operand.getDefiningOp();
      if (!op || !prim::isElementwise(op) || !reference::isEvaluable(op->getName()))
        return false;
      ops.insert(op);
    }
  return true;
}

/// The longest one; none where no byte decides about `root`.
std::optional<ByteFunction> ByteTables::functionOf(Operation *root) const {
  SetVector<Value> seen(root->operand_begin(), root->operand_end());
  std::optional<ByteFunction> found;
  for (size_t i = 0; i < seen.size(); ++i) {
    Value v = seen[i];
    Operation *op = v.getDefiningOp();
    SetVector<Operation *> ops;
    if (isa<RankedTensorType>(v.getType()) && isByte(v) && !numberOf(v) && collect(root, v, ops) &&
        (!found || ops.size() > found->ops.size())) {
      found = ByteFunction{v, ops.takeVector()};
      llvm::sort(found->ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    }
    if (op && prim::isElementwise(op))
      seen.insert(op->operand_begin(), op->operand_end());
  }
  return found;
}

/// Whether a vector of it takes longer than its lanes from a table: cycles of a Zen 3.
bool ByteTables::pays(const ByteFunction &f) const {
  constexpr double kRead = 10, kVeryCostly = 12, kCostly = 3.5, kOther = 0.5;
  double cycles = 0;
  for (Operation *op : f.ops) {
    bool costly = op->hasTrait<prim::Costly>();
    cycles += op->hasTrait<prim::VeryCostly>() ? kVeryCostly : costly ? kCostly : kOther;
    bool isRoot = op == f.ops.back();
    if (costly && !isRoot && !llvm::all_of(op->getUsers(), [&](Operation *user) {
          return llvm::is_contained(f.ops, user);
        }))
      return false;
  }
  return cycles > kRead;
}

/// Of all bytes, by their bits.
std::optional<reference::Tensor> ByteTables::valuesOf(const ByteFunction &f) const {
  Type byte = tensorType(f.byte).getElementType();
  auto bits = llvm::to_vector(llvm::seq<int64_t>(0, kBytes));
  if (!byte.isUnsignedInteger())
    for (int64_t &b : bits)
      b = static_cast<int8_t>(b);
  DenseMap<Value, reference::Tensor> known;
  known[f.byte] = reference::Tensor::ofIntegers(*prim::dtypeOf(byte), {kBytes}, bits);
  const WeightTable none;
  for (Operation *op : f.ops) {
    SmallVector<reference::Tensor> operands;
    for (Value operand : op->getOperands()) {
      if (DenseElementsAttr number = numberOf(operand)) {
        auto all = reference::tensorOf(number.resizeSplat(
            RankedTensorType::get({kBytes}, tensorType(operand).getElementType())));
        if (!all)
          return llvm::consumeError(all.takeError()), std::nullopt;
        known[operand] = *all;
      }
      operands.push_back(known.at(operand));
    }
    Operation *copy = op->clone();
    Type element = tensorType(op->getResult(0)).getElementType();
    copy->getResult(0).setType(RankedTensorType::get({kBytes}, element));
    auto results = reference::evaluateOp(copy, operands, none);
    copy->destroy();
    if (!results)
      return llvm::consumeError(results.takeError()), std::nullopt;
    known[op->getResult(0)] = results->front();
  }
  return known.at(f.ops.back()->getResult(0));
}

/// `result` is read from `values`, where `byte` says.
void ByteTables::bind(Value result, Value byte, const reference::Tensor &values) {
  Type element = storageType(tensorType(result).getElementType());
  auto module = frame.function->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  std::string symbol = (frame.function.getSymName() + "_bytes" + llvm::Twine(tables++)).str();
  auto data = DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get({kBytes}, element),
      ArrayRef(values.data(), static_cast<size_t>(values.bytes())));
  LLVM::GlobalOp::create(top, result.getLoc(), LLVM::LLVMArrayType::get(element, kBytes),
                         /*isConstant=*/true, LLVM::Linkage::Private, symbol, data,
                         /*alignment=*/64);
  frame.e.bindProvider(
      result, [this_ = &frame, byte, element, symbol](ArrayRef<Coord> at) -> Value {
        ImplicitLocOpBuilder &b = this_->b;
        Value bits = this_->e.eval(byte, at);
        if (!bits)
          return {};
        auto pointer = LLVM::LLVMPointerType::get(b.getContext());
        Value table = LLVM::AddressOfOp::create(b, pointer, symbol);
        auto vector = dyn_cast<VectorType>(bits.getType());
        if (!vector) {
          Value place = arith::ExtUIOp::create(b, b.getI64Type(), bits);
          Value address =
              LLVM::GEPOp::create(b, pointer, element, table, ArrayRef<LLVM::GEPArg>{place});
          return LLVM::LoadOp::create(b, element, address);
        }
        int64_t lanes = vector.getNumElements();
        Value places = arith::ExtUIOp::create(b, VectorType::get({lanes}, b.getI64Type()), bits);
        Value addresses = LLVM::GEPOp::create(b, VectorType::get({lanes}, pointer), element, table,
                                              ArrayRef<LLVM::GEPArg>{places});
        auto type = VectorType::get({lanes}, element);
        Value all = arith::ConstantOp::create(
            b, DenseElementsAttr::get(VectorType::get({lanes}, b.getI1Type()), true));
        Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
        return LLVM::masked_gather::create(
            b, type, addresses, all, zero,
            b.getI32IntegerAttr(element.getIntOrFloatBitWidth() / 8));
      });
}

void ByteTables::run() {
  DenseSet<Operation *> inTables;
  for (Operation &op : llvm::reverse(frame.launch.getBody().front().without_terminator())) {
    if (inTables.contains(&op) || op.getNumResults() != 1 || !prim::isElementwise(&op) ||
        !reference::isEvaluable(op.getName()))
      continue;
    Type element = tensorType(op.getResult(0)).getElementType();
    if (!element.isF32() && !element.isInteger(8) && !element.isInteger(16) &&
        !element.isInteger(32))
      continue;
    auto function = functionOf(&op);
    if (!function || !pays(*function))
      continue;
    auto values = valuesOf(*function);
    if (!values)
      continue;
    bind(op.getResult(0), function->byte, *values);
    inTables.insert(function->ops.begin(), function->ops.end());
  }
}

void tcc::codegen::readBytesFromTables(KernelFrame &frame) {
  constexpr int64_t kMostLanes = 8;
  if (frame.cpu.lanes(32) <= kMostLanes)
    ByteTables(frame).run();
}
