//===- VectorMath.cpp - Elementary functions as plain arithmetic ----------===//
//
// Calls of libm have no vector form that every target has, and a model would depend on the libm of
// the machine that runs it. So elementary functions become arithmetic here, in the accuracy that
// the tests hold. sin and cos of one value share their reduction.
//
//===----------------------------------------------------------------------===//
#include "tcc/Codegen/Common/VectorMath.h"
#include "VectorMathDivision.h"
#include "VectorMathRough.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "tcc/Codegen/Common/NarrowTypes.h"
#include "tcc/Target/Cpu.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tcc {
#define GEN_PASS_DECL_EXPANDMATHPASS
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "tcc/Codegen/Common/Passes.h.inc"
} // namespace tcc

using namespace mlir;
namespace tcc::codegen {
namespace {
using vmath::Emitter;
using vmath::Fp;
using vmath::Int;

struct Unary {
  Fp (*expand)(Fp);
  /// LLVM has an instruction for f32 and f64: only narrower types are widened.
  bool native = false;
};

const llvm::StringMap<Unary> &unaryFunctions() {
  static const llvm::StringMap<Unary> table = {
      {"math.exp", {vmath::exp}},
      {"math.exp2", {vmath::exp2}},
      {"math.expm1", {vmath::expm1}},
      {"math.log", {vmath::log}},
      {"math.log2", {vmath::log2}},
      {"math.log10", {vmath::log10}},
      {"math.log1p", {vmath::log1p}},
      {"math.sin", {vmath::sin}},
      {"math.cos", {vmath::cos}},
      {"math.tan", {vmath::tan}},
      {"math.asin", {vmath::asin}},
      {"math.acos", {vmath::acos}},
      {"math.atan", {vmath::atan}},
      {"math.sinh", {vmath::sinh}},
      {"math.cosh", {vmath::cosh}},
      {"math.tanh", {vmath::tanh}},
      {"math.asinh", {vmath::asinh}},
      {"math.acosh", {vmath::acosh}},
      {"math.atanh", {vmath::atanh}},
      {"math.erf", {vmath::erf}},
      {"math.erfc", {vmath::erfc}},
      {"math.rsqrt", {[](Fp x) { return 1.0 / sqrt(x); }}},
      {"math.sqrt", {vmath::sqrt, true}},
      {"math.floor", {vmath::floor, true}},
      {"math.ceil", {vmath::ceil, true}},
      {"math.trunc", {vmath::trunc, true}},
      {"math.roundeven", {vmath::roundEven, true}},
  };
  return table;
}

using BfloatConversion = ExpandMathOptions::BfloatConversion;

bool isNarrow(Type type) { return getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32; }

/// A floating-point operand as f32 or f64.
Fp widened(Emitter &e, Value v) {
  if (!isNarrow(v.getType()))
    return {&e, v};
  Type wide = vmath::withElementType(v.getType(), e.builder.getF32Type());
  return {&e, arith::ExtFOp::create(e.builder, wide, v)};
}

/// Whether 1 is added to `v`, and nothing else done with it.
bool isAddedToOne(Value v) {
  return !v.use_empty() && llvm::all_of(v.getUsers(), [](Operation *user) {
    return isa<arith::AddFOp>(user) && llvm::any_of(user->getOperands(), [](Value operand) {
             return matchPattern(operand, m_OneFloat());
           });
  });
}

/// The instruction that `op` may be, where the target has it and nearly right is enough.
static Fp (*instructionFor(Operation *op, const ExpandMathOptions &options))(Fp) {
  auto inexact = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!inexact || !options.hasExp2 ||
      inexact.getFastMathFlagsAttr().getValue() != arith::FastMathFlags::afn ||
      !getElementTypeOrSelf(op->getResult(0)).isF32())
    return nullptr;
  return isa<math::LogOp>(op)     ? vmath::hardwareLog
         : isa<math::Log2Op>(op)  ? vmath::hardwareLog2
         : isa<math::SqrtOp>(op)  ? vmath::hardwareSqrt
         : isa<math::RsqrtOp>(op) ? vmath::hardwareRsqrt
                                  : nullptr;
}

/// What replaces the results of `op`; empty for an operation that stays.
SmallVector<Value> expand(Operation *op, Emitter &e) {
  auto in = [&](unsigned i) { return widened(e, op->getOperand(i)); };
  auto out = [&](Fp y) -> Value {
    Type type = op->getResult(0).getType();
    return y.type() == type ? y.v : Value(arith::TruncFOp::create(e.builder, type, y.v));
  };
  using Results = SmallVector<Value>;
  bool narrow = !op->getNumOperands() || isNarrow(op->getOperand(0).getType());
  if (isa<math::ExpOp>(op)) {
    if (op->hasAttr(kNotPositive))
      return {out(vmath::expNotPositive(in(0)))};
    if (isAddedToOne(op->getResult(0)))
      return {out(vmath::expBesideOne(in(0)))};
  }
  if (Fp(*function)(Fp) = instructionFor(op, e.options))
    return {out(function(in(0)))};
  // Of f32; rounded to 16 bits, LLVM would take the sign there, element by element.
  if (isa<math::CopySignOp>(op) && e.options.hasScalarLanes &&
      getElementTypeOrSelf(op->getResult(0)).isF32()) {
    constexpr int64_t kSign = 0x80000000;
    return {vmath::fromBits((bits(in(0)) & ~kSign) | (bits(in(1)) & kSign)).v};
  }
  // Rounded to 16 bits, LLVM would round what had those before there, element by element. The sign
  // is that of x in any case; taking it is a second use.
  auto before =
      op->getNumOperands() == 1 ? op->getOperand(0).getDefiningOp<arith::ExtFOp>() : nullptr;
  if (isa<math::RoundEvenOp, math::FloorOp, math::CeilOp, math::TruncOp>(op) &&
      !e.options.hasScalarLanes && before && isNarrow(before.getIn().getType()) &&
      getElementTypeOrSelf(op->getResult(0)).isF32()) {
    constexpr int64_t kSign = 0x80000000;
    Fp whole{&e, e.builder.clone(*op)->getResult(0)};
    return {vmath::fromBits((bits(whole) & ~kSign) | (bits(in(0)) & kSign)).v};
  }
  if (auto found = unaryFunctions().find(op->getName().getStringRef());
      found != unaryFunctions().end()) {
    if (found->second.native && !narrow)
      return {};
    return {out(found->second.expand(in(0)))};
  }
  return TypeSwitch<Operation *, Results>(op)
      .Case([&](math::SincosOp) {
        auto [s, c] = vmath::sincos(in(0));
        return Results{out(s), out(c)};
      })
      .Case([&](math::Atan2Op) { return Results{out(vmath::atan2(in(0), in(1)))}; })
      .Case([&](math::PowFOp) { return Results{out(vmath::pow(in(0), in(1)))}; })
      .Case([&](math::FmaOp) {
        if (e.options.hasFma && !narrow)
          return Results{};
        return Results{out(e.options.hasFma ? vmath::mulAdd(in(0), in(1), in(2))
                                            : vmath::fusedMulAdd(in(0), in(1), in(2)))};
      })
      .Case([&](vector::FMAOp) {
        return e.options.hasFma ? Results{} : Results{out(in(0) * in(1) + in(2))};
      })
      .Case([&](arith::RemFOp) { return Results{out(vmath::remainder(in(0), in(1)))}; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
          [&](auto) { return Results{vmath::divideIntegers(op, e.options)}; })
      .Case([&](arith::FPToSIOp) { return Results{vmath::makeWideIntegers(op, e.options)}; })
      .Default([](Operation *) { return Results{}; });
}

/// sin x and cos x in one block become one math.sincos, which reduces x once.
template <typename Op, typename Other> void pairWith(Op op, SmallVectorImpl<Operation *> &dead) {
  for (Operation *user : op.getOperand().getUsers()) {
    auto other = dyn_cast<Other>(user);
    if (!other || other->getBlock() != op->getBlock() || other.use_empty())
      continue;
    OpBuilder builder(op->isBeforeInBlock(other) ? op.getOperation() : user);
    auto both = math::SincosOp::create(builder, op.getLoc(), op.getOperand());
    bool isSin = isa<math::SinOp>(op.getOperation());
    op.getResult().replaceAllUsesWith(isSin ? both.getSin() : both.getCos());
    other.getResult().replaceAllUsesWith(isSin ? both.getCos() : both.getSin());
    dead.append({op, other});
    return;
  }
}

void pairSinesWithCosines(Operation *root) {
  SmallVector<Operation *> dead;
  root->walk([&](math::SinOp op) { pairWith<math::SinOp, math::CosOp>(op, dead); });
  for (Operation *op : dead)
    op->erase();
}

/// sin and cos of what is no larger than 1, because it is a result of a function that is not, need
/// no reduction.
void expandSinesOfSines(Operation *root, const ExpandMathOptions &options) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa<math::SinOp, math::CosOp>(op) && getElementTypeOrSelf(op->getOperand(0)).isF32() &&
        isa_and_present<math::SinOp, math::CosOp, math::TanhOp, math::ErfOp>(
            op->getOperand(0).getDefiningOp()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    Emitter emitter{builder, options};
    bool rough = options.roughWhereNarrowed && vmath::isOnlyNarrowed(op->getResult(0));
    Fp result = vmath::sinOfUnit({&emitter, op->getOperand(0)}, isa<math::CosOp>(op), rough);
    op->getResult(0).replaceAllUsesWith(result.v);
    op->erase();
  }
}

/// 1 / (1 + e^-x) of f32 as one function.
void expandLogistics(Operation *root, const ExpandMathOptions &options) {
  SmallVector<std::pair<arith::DivFOp, arith::NegFOp>> found;
  root->walk([&](arith::DivFOp op) {
    auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
    if (!sum || !matchPattern(op.getLhs(), m_OneFloat()))
      return;
    bool oneFirst = matchPattern(sum.getLhs(), m_OneFloat());
    auto exp = (oneFirst ? sum.getRhs() : sum.getLhs()).getDefiningOp<math::ExpOp>();
    auto negative = exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
    if (negative && (oneFirst || matchPattern(sum.getRhs(), m_OneFloat())))
      found.push_back({op, negative});
  });
  for (auto [op, negative] : found) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    Emitter emitter{builder, options};
    Fp argument{&emitter, negative.getOperand()}; // of a logistic, its function by now
    if (!getElementTypeOrSelf(op.getType()).isF32() || options.hasExp2)
      continue;
    auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
    op.replaceAllUsesWith(vmath::logistic(argument).v);
    op.erase();
    if (!sum.use_empty())
      continue;
    SmallVector<Value> terms(sum->getOperands());
    sum.erase();
    for (Value term : terms)
      if (auto exp = term.getDefiningOp<math::ExpOp>(); exp && exp.use_empty())
        exp.erase();
  }
}

/// Whether the reciprocal of a sum is there before a share of it is divided. With AVX-512 divisions
/// of a few vectors are: only long loops wait for them.
bool isWorthReciprocal(arith::DivFOp op, const ExpandMathOptions &options) {
  constexpr int64_t kLong = 512; // elements
  if (!options.hasAvx512)
    return true;
  auto vector = dyn_cast<VectorType>(op.getType());
  auto loop = op->getParentOfType<scf::ForOp>();
  auto spread = op.getRhs().getDefiningOp<vector::BroadcastOp>();
  if (!vector || !loop || !loop.isDefinedOutsideOfLoop(spread ? spread.getSource() : op.getRhs()))
    return false;
  auto low = getConstantIntValue(loop.getLowerBound()),
       high = getConstantIntValue(loop.getUpperBound()), step = getConstantIntValue(loop.getStep());
  return !low || !high || !step || (*high - *low) / *step * vector.getNumElements() >= kLong;
}

/// Shares of a sum by its reciprocal r: q = x r, and q + (x - q sum) r is x / sum rounded once, but
/// for results so small that the remainder is no normal number, which may be one unit off. Three
/// operations that processors do twice a cycle, instead of one that takes them several cycles.
void expandShares(Operation *root, const ExpandMathOptions &options) {
  if (!options.hasFma || options.hasScalarLanes)
    return;
  SmallVector<arith::DivFOp> shares;
  root->walk([&](arith::DivFOp op) {
    if (op->hasAttr(kShares) && !isNarrow(op.getType()) && isWorthReciprocal(op, options))
      shares.push_back(op);
  });
  for (arith::DivFOp op : shares) {
    ImplicitLocOpBuilder builder(op.getLoc(), op);
    Emitter emitter{builder, options};
    Fp x{&emitter, op.getLhs()}, sum{&emitter, op.getRhs()}, reciprocal = sum;
    if (auto repeated = op.getRhs().getDefiningOp<vector::BroadcastOp>();
        repeated && isa<FloatType>(repeated.getSource().getType())) {
      Value once = (1.0 / Fp{&emitter, repeated.getSource()}).v;
      reciprocal.v = vector::BroadcastOp::create(builder, op.getType(), once);
    } else {
      reciprocal = 1.0 / sum;
    }
    Fp quotient = x * reciprocal, rest = vmath::mulAdd(-quotient, sum, x);
    op.replaceAllUsesWith(vmath::mulAdd(rest, reciprocal, quotient).v);
    op.erase();
  }
}

class ExpandMathPass : public tcc::impl::ExpandMathPassBase<ExpandMathPass> {
public:
  ExpandMathPass() = default;
  explicit ExpandMathPass(const ExpandMathOptions &options) {
    hasFma = options.hasFma;
    hasAvx512 = options.hasAvx512;
    hasAvx2 = options.hasAvx2;
    hasHalfConversion = options.hasHalfConversion;
    bfloatConversion = options.bfloatConversion;
    losesNan = options.losesNan;
    hasScalarLanes = options.hasScalarLanes;
  }

  void runOnOperation() override {
    ExpandMathOptions options{hasFma, hasAvx512, hasHalfConversion, bfloatConversion};
    options.hasAvx2 = hasAvx2;
    options.losesNan = losesNan;
    options.hasScalarLanes = hasScalarLanes;
    expandMath(getOperation(), options);
  }
};

} // namespace

ExpandMathOptions ExpandMathOptions::forTarget(const CpuTarget &cpu) {
  bool x86 = StringRef(cpu.triple).starts_with("x86_64");
  BfloatConversion bfloat = !cpu.bfloatDot ? BfloatConversion::None
                            : x86          ? BfloatConversion::Flushing
                                           : BfloatConversion::Exact;
  ExpandMathOptions options;
  options.hasFma = cpu.fma;
  options.hasAvx512 = x86 && cpu.vectorBits >= 512;
  options.hasAvx2 = x86 && cpu.fma && !options.hasAvx512 &&
                    llvm::is_contained(llvm::split(cpu.required, ','), StringRef("avx2"));
  options.hasHalfConversion = cpu.halfConversion;
  options.bfloatConversion = bfloat;
  options.losesNan = x86;
  return options;
}

ExpandMathOptions ExpandMathOptions::forGpu() {
  ExpandMathOptions options;
  options.roughWhereNarrowed = options.hasExp2 = options.hasScalarLanes = true;
  return options;
}

/// `x` (f32) rounded to bf16 by an instruction that takes subnormals for zero.
static Value flushingTruncation(Emitter &e, Value x, Type type) {
  Value usual = arith::TruncFOp::create(e.builder, type, x);
  Int raw = bits(Fp{&e, x});
  Int distance = (raw & raw.constant(0x7fffffff)) - raw.constant(1);
  Value subnormal = arith::CmpIOp::create(e.builder, arith::CmpIPredicate::ult, distance.v,
                                          distance.constant(0x7fffff).v);
  auto rare = [&] {
    return SmallVector<Value>{truncateFloat(e.builder, x, getElementTypeOrSelf(type))};
  };
  return vmath::ifAnyLane({&e, subnormal}, usual, rare)[0];
}

/// Whether every element of `x` (f32) is a bf16: one that was there, chosen or with another sign.
static bool holdsBfloats(Value x, unsigned depth = 8) {
  Operation *op = x.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (auto extended = dyn_cast<arith::ExtFOp>(op))
    return getElementTypeOrSelf(extended.getIn().getType()).isBF16();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    Attribute value = constant.getValue();
    if (auto dense = dyn_cast<DenseFPElementsAttr>(value); dense && dense.isSplat())
      value = dense.getSplatValue<FloatAttr>();
    auto number = dyn_cast<FloatAttr>(value);
    return number && number.getType().isF32() &&
           (number.getValue().bitcastToAPInt().getZExtValue() & 0xffff) == 0;
  }
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::NegFOp,
          math::AbsFOp, vector::BroadcastOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value v) { return holdsBfloats(v, depth - 1); });
  auto select = dyn_cast<arith::SelectOp>(op);
  return select && holdsBfloats(select.getTrueValue(), depth - 1) &&
         holdsBfloats(select.getFalseValue(), depth - 1);
}

/// The upper halves of what `op` makes bf16, which has nothing below them.
static void cutBfloats(arith::TruncFOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto like = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(op.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Type words = like(b.getI32Type());
  TypedAttr half = b.getI32IntegerAttr(16);
  if (auto vector = dyn_cast<VectorType>(words))
    half = DenseElementsAttr::get(vector, Attribute(half));
  Value raw = arith::BitcastOp::create(b, words, op.getIn());
  raw = arith::ShRUIOp::create(b, raw, arith::ConstantOp::create(b, half));
  raw = arith::TruncIOp::create(b, like(b.getI16Type()), raw);
  op.replaceAllUsesWith(arith::BitcastOp::create(b, op.getType(), raw).getResult());
  op.erase();
}

/// bf16 as f32, where lanes are registers of their own: of words of two, one instruction each.
static Value widenPairs(ImplicitLocOpBuilder &b, Value x, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || vector.getRank() != 1 || vector.getDimSize(0) % 2 != 0)
    return {};
  auto words = VectorType::get({vector.getDimSize(0) / 2}, b.getI32Type());
  auto all = [&](int64_t word) -> Value {
    return arith::ConstantOp::create(b, DenseElementsAttr::get(words, APInt(32, word)));
  };
  Value pairs = vector::BitCastOp::create(b, words, x);
  Value low = arith::ShLIOp::create(b, pairs, all(16));
  Value high = arith::AndIOp::create(b, pairs, all(0xffff0000));
  return arith::BitcastOp::create(b, type, vector::InterleaveOp::create(b, low, high));
}

/// What replaces a conversion between f32 and a 16-bit float; null for one that stays. From bf16
/// too, which any target can: a value of a type that the target lacks is rounded again, one element
/// after the other, where LLVM carries it from block to block.
static Value expandConversion(Operation *op, const ExpandMathOptions &options) {
  if (!isa<arith::TruncFOp, arith::ExtFOp>(op))
    return {};
  bool truncates = isa<arith::TruncFOp>(op);
  Value x = op->getOperand(0);
  Type type = op->getResult(0).getType();
  Type narrow = getElementTypeOrSelf(truncates ? type : x.getType());
  if (!getElementTypeOrSelf(truncates ? x.getType() : type).isF32())
    return {};
  ImplicitLocOpBuilder builder(op->getLoc(), op);
  Emitter emitter{builder, options};
  if (narrow.isBF16() && truncates && options.bfloatConversion == BfloatConversion::Flushing)
    return flushingTruncation(emitter, x, type);
  if (narrow.isBF16() && !truncates && options.hasScalarLanes)
    return widenPairs(builder, x, type);
  if ((narrow.isF16() && !options.hasHalfConversion) ||
      (narrow.isBF16() && options.bfloatConversion == BfloatConversion::None))
    return truncates ? truncateFloat(builder, x, narrow) : extendFloat(builder, x);
  return {};
}

/// A value that was rounded to its type already is rounded again where it is stored.
static void foldRepeatedRounding(Operation *root) {
  root->walk([](arith::TruncFOp op) {
    auto extended = op.getIn().getDefiningOp<arith::ExtFOp>();
    if (extended && extended.getIn().getType() == op.getType()) {
      op.replaceAllUsesWith(extended.getIn());
      op.erase();
    }
  });
}

static void expandConversions(Operation *root, const ExpandMathOptions &options) {
  foldRepeatedRounding(root);
  root->walk([&](Operation *op) {
    if (Value converted = expandConversion(op, options)) {
      op->getResult(0).replaceAllUsesWith(converted);
      op->erase();
    }
  });
}

void expandMath(Operation *root, const ExpandMathOptions &options) {
  SmallVector<arith::TruncFOp> cuts;
  root->walk([&](arith::TruncFOp op) {
    bool narrows = getElementTypeOrSelf(op.getType()).isBF16() &&
                   getElementTypeOrSelf(op.getIn().getType()).isF32();
    if (narrows && !op.getIn().getDefiningOp<arith::ExtFOp>() && holdsBfloats(op.getIn()))
      cuts.push_back(op);
  });
  if (!options.hasScalarLanes) // GPUs round two at once
    llvm::for_each(cuts, cutBfloats);
  expandLogistics(root, options);
  expandShares(root, options);
  if (options.losesNan)
    vmath::expandExtrema(root);
  vmath::expandOnePlusTanh(root, options);
  expandSinesOfSines(root, options);
  pairSinesWithCosines(root);
  if (options.roughWhereNarrowed)
    vmath::expandRough(root, options);
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    // What has an instruction stays.
    auto exp2 = dyn_cast<math::Exp2Op>(op);
    if (exp2 && options.hasExp2 && exp2.getFastmath() == arith::FastMathFlags::afn)
      return;
    bool divides = !options.hasScalarLanes && vmath::dividesIntegers(op);
    if (isa<math::MathDialect>(op->getDialect()) || isa<arith::RemFOp, vector::FMAOp>(op) ||
        divides || vmath::makesWideIntegers(op, options))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    ImplicitLocOpBuilder builder(op->getLoc(), op);
    Emitter emitter{builder, options};
    SmallVector<Value> results = expand(op, emitter);
    if (results.empty())
      continue;
    op->replaceAllUsesWith(results);
    op->erase();
  }
  expandConversions(root, options); // the expansions above convert too
  if (!options.hasScalarLanes)
    vmath::branchSelects(root, options);
}

std::unique_ptr<Pass> createExpandMathPass(const ExpandMathOptions &options) {
  return std::make_unique<ExpandMathPass>(options);
}

} // namespace tcc::codegen
