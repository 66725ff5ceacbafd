//===- SplitComplex.cpp - Complex tensors as two real ones ----------------===//
//
// Code generation knows real numbers only. Every complex value is mapped to its
// real and its imaginary part: arithmetic by its formulas, operators that only
// move elements or add them up once for each part. A branch or a loop that gives
// or carries complex values does so with two real ones for each.
//
//===----------------------------------------------------------------------===//
#include "Decompose/SplitComplex.h"
#include "Decompose/Idioms/ComplexMath.h"
#include "Decompose/Idioms/Fourier.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "tcc/Decompose/Decompose.h"
#include "tcc/Decompose/PrimBuilder.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

namespace {

using complexmath::Parts;

bool holdsComplex(Type t) {
  auto tensor = dyn_cast<RankedTensorType>(t);
  return tensor && isa<ComplexType>(tensor.getElementType());
}
bool holdsComplex(Value v) { return holdsComplex(v.getType()); }
Type realOf(Value v) { return cast<ComplexType>(PrimBuilder::elem(v)).getElementType(); }

class Splitter {
public:
  Splitter(func::FuncOp function, WeightTable &weights)
      : function(function), weights(weights), builder(function.getContext()),
        b(builder, function.getLoc(), &weights) {}
  llvm::Error run();

private:
  llvm::Error splitFrom(Block &block, Block::iterator first);
  llvm::Error splitRegions(Operation *op);
  llvm::Error splitControl(Operation *op);
  SmallVector<Value> inParts(ValueRange values);
  bool split(Operation *op);
  bool splitArithmetic(Operation *op);
  bool splitEach(Operation *op);
  Parts of(Value v) { return parts.lookup(v); }
  bool give(Value v, Value re, Value im) {
    parts[v] = {re, im};
    return true;
  }
  bool replace(Value v, Value by) {
    v.replaceAllUsesWith(by);
    return true;
  }
  Parts pairsOf(Value v);
  bool splitConstant(prim::ConstantOp op);
  bool splitWeight(prim::WeightOp op);
  bool splitCast(prim::CastOp op);
  bool splitDot(prim::DotOp op);
  bool splitFft(prim::FftOp op);
  bool splitConv(prim::ConvOp op);
  bool splitProduct(prim::ReduceOp op);
  bool splitRunningProduct(prim::CumulativeOp op);
  bool give(Value v, Parts p) { return give(v, p.re, p.im); }
  /// Whether a value is other than 0.
  Value isSet(Parts z) {
    return b.binary<prim::OrOp>(b.compare(P::ne, z.re, 0.0), b.compare(P::ne, z.im, 0.0));
  }
  void splitArguments();
  void splitResults();

  func::FuncOp function;
  WeightTable &weights;
  OpBuilder builder;
  PrimBuilder b;
  DenseMap<Value, Parts> parts;
  SmallVector<Operation *> done;
  SmallVector<BlockArgument> replaced; ///< of loops
};

} // namespace

//===----------------------------------------------------------------------===//
// What comes in and goes out
//===----------------------------------------------------------------------===//

static RankedTensorType withPairs(RankedTensorType type) {
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(2);
  return RankedTensorType::get(shape, cast<ComplexType>(type.getElementType()).getElementType());
}

/// The parts of [..., 2].
Parts Splitter::pairsOf(Value v) {
  int64_t last = b.rank(v) - 1;
  auto part = [&](int64_t i) {
    return b.squeeze(b.sliceAxis(v, last, b.dim(i), b.dim(1)), {last});
  };
  return {part(0), part(1)};
}

void Splitter::splitArguments() {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    if (!holdsComplex(argument))
      continue;
    argument.setType(withPairs(cast<RankedTensorType>(argument.getType())));
    Signature(function).setComplexArgument(argument.getArgNumber());
    builder.setInsertionPointToStart(&block);
    parts[argument] = pairsOf(argument);
  }
}

void Splitter::splitResults() {
  Operation *end = function.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  for (OpOperand &result : end->getOpOperands()) {
    Value v = result.get();
    if (!parts.contains(v))
      continue;
    Parts p = of(v);
    int64_t rank = b.rank(p.re);
    result.set(b.concat({b.unsqueeze(p.re, {rank}), b.unsqueeze(p.im, {rank})}, rank));
    Signature(function).setComplexResult(result.getOperandNumber());
  }
  function.setType(FunctionType::get(function.getContext(),
                                     function.getBody().front().getArgumentTypes(),
                                     end->getOperandTypes()));
}

bool Splitter::splitConstant(prim::ConstantOp op) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getElements());
  if (!dense)
    return false;
  SmallVector<APFloat> re, im;
  auto type = cast<RankedTensorType>(op.getType());
  if (dense.isSplat()) {
    auto value = dense.getSplatValue<std::complex<APFloat>>();
    re.push_back(value.real());
    im.push_back(value.imag());
  } else {
    for (std::complex<APFloat> value : dense.getValues<std::complex<APFloat>>()) {
      re.push_back(value.real());
      im.push_back(value.imag());
    }
  }
  auto real = RankedTensorType::get(type.getShape(), realOf(op));
  return give(op, b.constant(DenseElementsAttr::get(real, re)),
              b.constant(DenseElementsAttr::get(real, im)));
}

bool Splitter::splitWeight(prim::WeightOp op) {
  const Weight *weight = weights.lookup(op.getName());
  if (!weight)
    return false;
  auto type = withPairs(cast<RankedTensorType>(op.getType()));
  Weight pairs = *weight;
  pairs.dtype = *prim::dtypeOf(type.getElementType());
  pairs.shape.push_back(2);
  std::string name = weights.add((op.getName() + ".parts").str(), std::move(pairs));
  Value v = prim::WeightOp::create(builder, op.getLoc(), type, builder.getStringAttr(name));
  Parts p = pairsOf(v);
  return give(op, p.re, p.im);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

bool Splitter::splitCast(prim::CastOp op) {
  Value x = op.getX();
  Type to = b.elem(op);
  if (!holdsComplex(op.getResult()))
    return replace(op, to.isInteger(1) ? isSet(of(x)) : b.cast(of(x).re, to));
  Type real = realOf(op);
  if (parts.contains(x))
    return give(op, b.cast(of(x).re, real), b.cast(of(x).im, real));
  return give(op, b.cast(x, real), b.full(b.dims(x), 0, real));
}

bool Splitter::splitDot(prim::DotOp op) {
  Parts x = of(op.getLhs()), y = of(op.getRhs());
  if (!x.re || !y.re)
    return false;
  auto dot = [&](Value l, Value r) {
    return b.dot(l, r, op.getLhsBatch(), op.getRhsBatch(), op.getLhsContract(),
                 op.getRhsContract());
  };
  return give(op, b.sub(dot(x.re, y.re), dot(x.im, y.im)), b.add(dot(x.re, y.im), dot(x.im, y.re)));
}

/// A constant 0 in every element, or views of one.
static bool isZeroEverywhere(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (auto constant = dyn_cast<prim::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseFPElementsAttr>(constant.getElements());
      return dense && dense.isSplat() && dense.getSplatValue<APFloat>().isPosZero();
    }
    if (!op->hasTrait<prim::View>())
      return false;
    v = op->getOperand(0);
  }
  return false;
}

/// How many results, from the first on, the users of a transform look at: of real numbers half.
static int64_t resultsInUse(prim::FftOp op, int64_t axis) {
  int64_t all = cast<RankedTensorType>(op.getType()).getDimSize(axis), used = 0;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<prim::SliceOp>(user);
    if (!slice || getConstantIntValue(slice.getMixedStarts()[axis]) != 0 ||
        slice.getSteps()[axis] != 1)
      return all;
    int64_t size = cast<RankedTensorType>(slice.getType()).getDimSize(axis);
    if (ShapedType::isDynamic(size))
      return all;
    used = std::max(used, size);
  }
  return used;
}

bool Splitter::splitFft(prim::FftOp op) {
  Parts z = of(op.getX());
  int64_t axis = op.getAxis(), used = resultsInUse(op, axis);
  // Real numbers take half the products of the first step.
  if (isZeroEverywhere(z.im))
    z.im = {};
  Dim count = used > 0 ? b.dim(used) : b.dim(z.re, axis);
  auto [re, im] = fourier(b, weights, {z.re, z.im}, axis, op.getInverse(), count);
  return give(op, re, im);
}

/// Of two complex operands, or of one real one.
bool Splitter::splitConv(prim::ConvOp op) {
  Parts x = of(op.getX()), w = of(op.getW());
  Type real = realOf(op);
  auto conv = [&](Value l, Value r) {
    IRMapping map;
    map.map(op.getX(), l);
    map.map(op.getW(), r);
    Operation *copy = builder.clone(*op, map);
    copy->getResult(0).setType(cast<RankedTensorType>(op.getType()).clone(real));
    return copy->getResult(0);
  };
  return x.re && w.re &&
         give(op, b.sub(conv(x.re, w.re), conv(x.im, w.im)),
              b.add(conv(x.re, w.im), conv(x.im, w.re)));
}

bool Splitter::splitProduct(prim::ReduceOp op) {
  if (op.getKind() != prim::ReduceKind::prod)
    return false;
  Parts z = of(op.getX());
  for (int64_t axis : op.getAxes())
    z = complexmath::productOver(b, z, axis);
  return give(op, b.squeeze(z.re, op.getAxes()), b.squeeze(z.im, op.getAxes()));
}

bool Splitter::splitRunningProduct(prim::CumulativeOp op) {
  Parts z = of(op.getX());
  if (op.getKind() != prim::ReduceKind::prod || op.getExclusive() || op.getReverse())
    return false;
  return give(op, complexmath::runningProduct(b, z, op.getAxis()));
}

bool Splitter::splitArithmetic(Operation *op) {
  Value v = op->getResult(0);
  auto x = [&] { return of(op->getOperand(0)); };
  auto y = [&] { return of(op->getOperand(1)); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](prim::ComplexOp o) { return give(v, o.getRe(), o.getIm()); })
      .Case([&](prim::RealOp) { return replace(v, x().re); })
      .Case([&](prim::ImagOp) { return replace(v, x().im); })
      .Case([&](prim::DimOp o) { return replace(v, b.indexValue(b.dim(x().re, o.getAxis()))); })
      .Case([&](prim::AddOp) { return give(v, b.add(x().re, y().re), b.add(x().im, y().im)); })
      .Case([&](prim::SubOp) { return give(v, b.sub(x().re, y().re), b.sub(x().im, y().im)); })
      .Case([&](prim::NegOp) { return give(v, b.neg(x().re), b.neg(x().im)); })
      .Case([&](prim::MulOp) { return give(v, complexmath::times(b, x(), y())); })
      .Case([&](prim::DivOp) { return give(v, complexmath::quotient(b, x(), y())); })
      .Case([&](prim::PowOp) { return give(v, complexmath::power(b, x(), y())); })
      .Case([&](prim::SelectOp o) {
        Parts t = of(o.getOnTrue()), f = of(o.getOnFalse());
        return give(v, b.select(o.getCondition(), t.re, f.re),
                    b.select(o.getCondition(), t.im, f.im));
      })
      .Case([&](prim::CompareOp o) {
        Value re = b.compare(o.getPredicate(), x().re, y().re);
        Value im = b.compare(o.getPredicate(), x().im, y().im);
        return replace(v, o.getPredicate() == P::eq ? b.binary<prim::AndOp>(re, im)
                                                    : b.binary<prim::OrOp>(re, im));
      })
      .Case([&](prim::NonzeroOp o) {
        o.getXMutable().assign(isSet(x()));
        return true;
      })
      .Case([&](prim::ReduceOp o) { return splitProduct(o); })
      .Case([&](prim::CumulativeOp o) { return splitRunningProduct(o); })
      .Case([&](prim::ConvOp o) { return splitConv(o); })
      .Case([&](prim::CastOp o) { return splitCast(o); })
      .Case([&](prim::DotOp o) { return splitDot(o); })
      .Case([&](prim::FftOp o) { return splitFft(o); })
      .Case([&](prim::ConstantOp o) { return splitConstant(o); })
      .Case([&](prim::WeightOp o) { return splitWeight(o); })
      .Default([&](Operation *) {
        auto function = complexmath::function(op);
        return function && give(v, function(b, x()));
      });
}

//===----------------------------------------------------------------------===//
// Operators that do the same to each part
//===----------------------------------------------------------------------===//

static bool actsOnEachPart(Operation *op) {
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return reduce.getKind() == prim::ReduceKind::sum;
  if (auto scan = dyn_cast<prim::CumulativeOp>(op))
    return scan.getKind() == prim::ReduceKind::sum;
  if (auto scatter = dyn_cast<prim::ScatterAlongOp>(op))
    return scatter.getKind() == prim::ScatterKind::assign ||
           scatter.getKind() == prim::ScatterKind::add;
  if (auto scatter = dyn_cast<prim::ScatterNdOp>(op))
    return scatter.getKind() == prim::ScatterKind::assign ||
           scatter.getKind() == prim::ScatterKind::add;
  return isa<prim::ReshapeOp, prim::TransposeOp, prim::BroadcastOp, prim::SliceOp, prim::PadOp,
             prim::ConcatOp, prim::ReverseOp, prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp,
             prim::InsertSliceOp>(op);
}

bool Splitter::splitEach(Operation *op) {
  if (!actsOnEachPart(op) || op->getNumResults() != 1)
    return false;
  Value v = op->getResult(0);
  auto part = [&](bool imaginary) {
    IRMapping map;
    for (Value operand : op->getOperands())
      if (parts.contains(operand))
        map.map(operand, imaginary ? of(operand).im : of(operand).re);
    Operation *copy = builder.clone(*op, map);
    copy->getResult(0).setType(cast<RankedTensorType>(v.getType()).clone(realOf(v)));
    return copy->getResult(0);
  };
  Value re = part(false);
  return give(v, re, part(true));
}

bool Splitter::split(Operation *op) {
  for (Value operand : op->getOperands())
    if (holdsComplex(operand) && !parts.contains(operand))
      return false;
  return splitArithmetic(op) || splitEach(op);
}

//===----------------------------------------------------------------------===//
// Branches and loops
//===----------------------------------------------------------------------===//

/// The values with both parts in the place of a complex one.
SmallVector<Value> Splitter::inParts(ValueRange values) {
  SmallVector<Value> all;
  for (Value v : values) {
    if (Parts p = of(v); p.re)
      all.append({p.re, p.im});
    else
      all.push_back(v);
  }
  return all;
}

llvm::Error Splitter::splitRegions(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &nested : region)
      if (llvm::Error error = splitFrom(nested, nested.begin()))
        return error;
  return llvm::Error::success();
}

/// The same branch or loop with two real values for each complex one that it takes or gives.
llvm::Error Splitter::splitControl(Operation *op) {
  OperationState state(op->getLoc(), op->getName(), inParts(op->getOperands()), TypeRange(),
                       op->getAttrs());
  auto realType = [&](Value v) { return cast<RankedTensorType>(v.getType()).clone(realOf(v)); };
  for (Value result : op->getResults())
    if (holdsComplex(result))
      state.types.append(2, realType(result));
    else
      state.types.push_back(result.getType());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  Operation *real = builder.create(state);
  for (Region &region : real->getRegions())
    for (Block &block : region)
      for (unsigned i = 0; i < block.getNumArguments(); ++i) {
        BlockArgument argument = block.getArgument(i);
        if (!holdsComplex(argument))
          continue;
        Value re = block.insertArgument(++i, realType(argument), argument.getLoc());
        Value im = block.insertArgument(++i, realType(argument), argument.getLoc());
        give(argument, re, im);
        replaced.push_back(argument);
      }
  if (llvm::Error error = splitRegions(real))
    return error;
  for (Region &region : real->getRegions())
    for (Block &block : region)
      block.getTerminator()->setOperands(inParts(block.getTerminator()->getOperands()));
  auto next = real->result_begin();
  for (Value result : op->getResults())
    if (holdsComplex(result)) {
      Value re = *next++;
      give(result, re, *next++);
    } else {
      replace(result, *next++);
    }
  return llvm::Error::success();
}

/// What is made meanwhile stands before `first` or the operator it replaces.
llvm::Error Splitter::splitFrom(Block &block, Block::iterator first) {
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(first, block.end()))) {
    auto touches = [](auto values) {
      return llvm::any_of(values, [](Value v) { return holdsComplex(v); });
    };
    // An argument that was complex counts, too.
    bool converted = llvm::any_of(op.getOperands(), [&](Value v) { return parts.contains(v); });
    if ((touches(op.getOperands()) || touches(op.getResults()) || converted) &&
        !op.hasTrait<OpTrait::IsTerminator>()) {
      builder.setInsertionPoint(&op);
      b.setLocation(op.getLoc());
      if (op.getNumRegions() > 0) {
        if (llvm::Error error = splitControl(&op))
          return error;
      } else if (!split(&op)) {
        auto name = dyn_cast<NameLoc>(op.getLoc());
        return userError((name ? "node '" + printable(name.getName()) + "': " : std::string()) +
                         "complex numbers are not supported by " + op.getName().getStringRef());
      }
      done.push_back(&op);
      continue;
    }
    if (llvm::Error error = splitRegions(&op))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Splitter::run() {
  Block &block = function.getBody().front();
  Block::iterator first = block.begin();
  splitArguments();
  if (llvm::Error error = splitFrom(block, first))
    return error;
  splitResults();
  for (Operation *op : llvm::reverse(done))
    if (op->use_empty())
      op->erase();
  for (BlockArgument argument : llvm::reverse(replaced))
    argument.getOwner()->eraseArgument(argument.getArgNumber());
  return llvm::Error::success();
}

llvm::Error tcc::splitComplex(ModuleOp module, WeightTable &weights) {
  auto found = module.walk([](Operation *op) {
    bool complex = llvm::any_of(op->getResultTypes(), [](Type t) { return holdsComplex(t); }) ||
                   llvm::any_of(op->getOperandTypes(), [](Type t) { return holdsComplex(t); });
    return complex ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found.wasInterrupted())
    return llvm::Error::success();
  for (auto function : module.getOps<func::FuncOp>())
    if (llvm::Error error = Splitter(function, weights).run())
      return error;
  return llvm::Error::success();
}
