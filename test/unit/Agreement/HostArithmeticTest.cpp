// What decompose computes on host scalars, constants and values known at run time alike,
// against the primitives that stand for it.
#include "Decompose/HostScalars.h"
#include "EdgeValues.h"
#include "ElementwiseCases.h"
#include "PrimProgram.h"
#include "tcc/Reference/Interpreter.h"
#include <catch2/catch.hpp>

using namespace tcc;
using namespace tcc::test;
using reference::Tensor;

namespace {

mlir::Type typeOf(DType type) { return prim::elementType(&primContext(), type); }

/// The host's form of an element: index for integers.
mlir::Type hostTypeOf(DType type) {
  bool integer = type == DType::I32 || type == DType::I64;
  return integer ? mlir::IndexType::get(&primContext()) : typeOf(type);
}

Dim constantOf(PrimBuilder &pb, const Tensor &x, int64_t position) {
  if (isFloat(x.dtype()))
    return pb.builder().getFloatAttr(typeOf(x.dtype()), x.real(position));
  if (x.dtype() == DType::Bool)
    return pb.builder().getBoolAttr(x.integer(position) != 0);
  return pb.dim(x.integer(position));
}

/// The host's computation of a case, or null where it leaves it to kernels.
Dim onHost(PrimBuilder &pb, const ElementwiseCase &c, llvm::ArrayRef<Dim> x) {
  llvm::StringRef op = c.op.getStringRef();
  mlir::Type type = typeOf(c.operands.back()), result = typeOf(c.result);
  if (op == prim::CompareOp::getOperationName()) {
    auto predicate = llvm::cast<prim::ComparePredicateAttr>(c.attributes.get("predicate"));
    return hostCompare(pb, predicate.getValue(), type, x[0], x[1]);
  }
  if (op == prim::CastOp::getOperationName())
    return c.operands[0] == c.result ? Dim() : hostCast(pb, type, result, x[0]);
  if (op == prim::SelectOp::getOperationName())
    return hostSelect(pb, type, x[0], x[1], x[2]);
  if (type != result)
    return {};
  return x.size() == 1 ? hostUnary(pb, op, type, x[0]) : hostBinary(pb, op, type, x[0], x[1]);
}

/// A host function of the operand at `open`, the others being constants.
mlir::OwningOpRef<mlir::ModuleOp> hostFunction(const ElementwiseCase &c, llvm::ArrayRef<Tensor> x,
                                               int64_t position, size_t open) {
  mlir::OpBuilder b(&primContext());
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  mlir::Type argument = hostTypeOf(c.operands[open]);
  auto function =
      mlir::func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType(argument, {}));
  b.setInsertionPointToStart(function.addEntryBlock());
  PrimBuilder pb(b, b.getUnknownLoc());
  llvm::SmallVector<Dim> operands;
  for (auto [i, tensor] : llvm::enumerate(x))
    operands.push_back(i == open ? Dim(function.getArgument(0)) : constantOf(pb, tensor, position));
  Dim result = onHost(pb, c, operands);
  if (!result)
    return {};
  mlir::Value value = hostValue(pb, result);
  mlir::func::ReturnOp::create(b, b.getUnknownLoc(), value);
  function.setType(b.getFunctionType(argument, value.getType()));
  return module;
}

/// `primitive` of operands whose elements are all the same but for that at `open`.
Tensor expected(const ElementwiseCase &c, llvm::ArrayRef<Tensor> x) {
  mlir::OpBuilder b(&primContext());
  mlir::Block block;
  for (const Tensor &tensor : x)
    block.addArgument(mlir::RankedTensorType::get(tensor.shape(), typeOf(tensor.dtype())),
                      b.getUnknownLoc());
  b.setInsertionPointToStart(&block);
  mlir::Operation *op = c.build(b, block.getArguments()).getDefiningOp();
  return llvm::cantFail(reference::evaluateOp(op, x, WeightTable()))[0];
}

bool isHostDType(DType type) {
  return type == DType::I32 || type == DType::I64 || type == DType::Bool || type == DType::F32 ||
         type == DType::F64;
}

/// As the tensor that the host makes of its scalar has it: an index wraps.
Tensor asElement(DType type, const Tensor &scalar) {
  if (isFloat(type))
    return Tensor::ofReals(type, {1}, scalar.real(0));
  return Tensor::ofIntegers(type, {1}, scalar.integer(0));
}

/// All edge values at `open`, `constants` (by position) at the others.
int64_t checkOpen(const ElementwiseCase &c, size_t open, int64_t constant) {
  Tensor values = edgeValues(c.operands[open]);
  std::vector<Tensor> x;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    Tensor own = edgeValues(c.operands[i]);
    std::vector<int64_t> same(values.elements(),
                              (constant + static_cast<int64_t>(i)) % own.elements());
    x.push_back(i == open ? values : pick(own, same));
  }
  auto module = hostFunction(c, x, 0, open);
  if (!module)
    return 0;
  Tensor want = expected(c, x);
  for (int64_t i = 0; i < values.elements(); ++i) {
    Tensor argument = pick(values, i).reshaped({});
    if (hostTypeOf(c.operands[open]).isIndex())
      argument = Tensor::ofIndex(argument.integer(0));
    Tensor got = asElement(c.result, interpreted(*module, argument)[0]);
    if (stepsBetween(pick(want, i), got, 0, false) == 0)
      continue;
    FAIL_CHECK(c.text() << " of host scalars, operand " << open << " open, element " << i
                        << ", constant " << constant << ": real " << got.real(0) << " where "
                        << want.real(i) << " is expected");
    break;
  }
  return 1;
}

} // namespace

TEST_CASE("host arithmetic agrees with the primitives") {
  int64_t checked = 0;
  for (const ElementwiseCase &c : elementwiseCases())
    if (llvm::all_of(c.operands, isHostDType) && isHostDType(c.result))
      for (size_t open = 0; open < c.operands.size(); ++open)
        for (int64_t constant = 0; constant < (c.operands.size() == 1 ? 1 : 60); constant += 9)
          checked += checkOpen(c, open, constant);
  CHECK(checked > 100);
}

TEST_CASE("constants of host types are folded as the primitives have it") {
  mlir::OpBuilder b(&primContext());
  for (const ElementwiseCase &c : elementwiseCases()) {
    if (!llvm::all_of(c.operands, isHostDType) || !isHostDType(c.result))
      continue;
    std::vector<Tensor> x;
    for (DType type : c.operands)
      x.push_back(edgeValues(type));
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToEnd(module->getBody());
    PrimBuilder pb(b, b.getUnknownLoc());
    for (int64_t i = 0; i < 40; ++i) {
      llvm::SmallVector<Dim> operands;
      std::vector<Tensor> points;
      for (auto [k, tensor] : llvm::enumerate(x)) {
        int64_t position = (7 * i * (k + 1) + static_cast<int64_t>(k)) % tensor.elements();
        operands.push_back(constantOf(pb, tensor, position));
        points.push_back(pick(tensor, position));
      }
      Dim result = onHost(pb, c, operands);
      if (!result)
        continue;
      INFO(c.text());
      REQUIRE(llvm::isa<mlir::Attribute>(result));
      auto attr = llvm::cast<mlir::Attribute>(result);
      auto real = llvm::dyn_cast<mlir::FloatAttr>(attr);
      Tensor got = real ? Tensor::ofReals(c.result, {1}, real.getValueAsDouble())
                        : Tensor::ofIntegers(c.result, {1}, *PrimBuilder::known(result));
      CHECK(stepsBetween(expected(c, points), got, 0, true) == 0);
    }
  }
}
