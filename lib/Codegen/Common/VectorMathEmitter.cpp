//===- VectorMathEmitter.cpp - Formulas that emit IR ----------------------===//
//
// The elementary functions are written as formulas on values; each operator here emits IR for one
// step of a formula, for scalars and vectors alike. Operands keep the order that lets LLVM choose
// one instruction (minps and maxps give the second operand on NaN).
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/SymbolTable.h"
#include <numeric>

using namespace mlir;
namespace tcc::codegen::vmath {
namespace {

template <typename Op, typename T, typename... Args> T emit(T first, Args... rest) {
  return {first.e, Op::create(first.e->builder, first.v, rest.v...)};
}

Mask compare(arith::CmpFPredicate predicate, Fp a, Fp b) {
  return {a.e, arith::CmpFOp::create(a.e->builder, predicate, a.v, b.v)};
}

Mask compare(arith::CmpIPredicate predicate, Int a, int64_t b) {
  return {a.e, arith::CmpIOp::create(a.e->builder, predicate, a.v, a.constant(b).v)};
}

Value splat(Emitter &e, Type type, Attribute scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    scalar = DenseElementsAttr::get(vector, scalar);
  return arith::ConstantOp::create(e.builder, cast<TypedAttr>(scalar));
}

} // namespace

Type withElementType(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

Fp Fp::constant(const llvm::APFloat &c) const {
  return {e, splat(*e, type(), FloatAttr::get(getElementTypeOrSelf(type()), c))};
}
Fp Fp::constant(double c) const {
  return {e, splat(*e, type(), FloatAttr::get(getElementTypeOrSelf(type()), c))};
}
Fp Fp::infinity() const { return constant(std::numeric_limits<double>::infinity()); }
Fp Fp::nan() const { return constant(std::numeric_limits<double>::quiet_NaN()); }
Int Int::constant(int64_t c) const {
  return {e, splat(*e, type(), IntegerAttr::get(getElementTypeOrSelf(type()), c))};
}

Fp operator+(Fp a, Fp b) { return emit<arith::AddFOp>(a, b); }
Fp operator-(Fp a, Fp b) { return emit<arith::SubFOp>(a, b); }
Fp operator*(Fp a, Fp b) { return emit<arith::MulFOp>(a, b); }
Fp operator/(Fp a, Fp b) { return emit<arith::DivFOp>(a, b); }
Fp operator-(Fp a) { return emit<arith::NegFOp>(a); }
Mask operator<(Fp a, Fp b) { return compare(arith::CmpFPredicate::OLT, a, b); }
Mask operator<=(Fp a, Fp b) { return compare(arith::CmpFPredicate::OLE, a, b); }
Mask operator==(Fp a, Fp b) { return compare(arith::CmpFPredicate::OEQ, a, b); }
Mask isNaN(Fp x) { return compare(arith::CmpFPredicate::UNO, x, x); }

Int operator+(Int a, Int b) { return emit<arith::AddIOp>(a, b); }
Int operator-(Int a, Int b) { return emit<arith::SubIOp>(a, b); }
Int operator*(Int a, Int b) { return emit<arith::MulIOp>(a, b); }
Int operator&(Int a, Int b) { return emit<arith::AndIOp>(a, b); }
Int operator|(Int a, Int b) { return emit<arith::OrIOp>(a, b); }
Int operator^(Int a, Int b) { return emit<arith::XOrIOp>(a, b); }
Int operator<<(Int a, Int b) { return emit<arith::ShLIOp>(a, b); }
Int operator>>(Int a, Int b) { return emit<arith::ShRSIOp>(a, b); }
Int lshr(Int a, Int b) { return emit<arith::ShRUIOp>(a, b); }
Mask operator==(Int a, int64_t b) { return compare(arith::CmpIPredicate::eq, a, b); }
Mask operator!=(Int a, int64_t b) { return compare(arith::CmpIPredicate::ne, a, b); }
Mask operator<(Int a, int64_t b) { return compare(arith::CmpIPredicate::slt, a, b); }

Mask operator&(Mask a, Mask b) { return emit<arith::AndIOp>(a, b); }
Mask operator|(Mask a, Mask b) { return emit<arith::OrIOp>(a, b); }
Mask operator^(Mask a, Mask b) { return emit<arith::XOrIOp>(a, b); }
Mask operator~(Mask a) {
  Value ones = splat(*a.e, a.v.getType(), a.e->builder.getIntegerAttr(a.e->builder.getI1Type(), 1));
  return {a.e, arith::XOrIOp::create(a.e->builder, a.v, ones)};
}

Fp select(Mask m, Fp a, Fp b) {
  return {a.e, arith::SelectOp::create(a.e->builder, m.v, a.v, b.v)};
}
Int select(Mask m, Int a, Int b) {
  return {a.e, arith::SelectOp::create(a.e->builder, m.v, a.v, b.v)};
}

Fp abs(Fp x) { return emit<math::AbsFOp>(x); }
Fp sqrt(Fp x) { return emit<math::SqrtOp>(x); }
Fp roundEven(Fp x) { return emit<math::RoundEvenOp>(x); }
Fp trunc(Fp x) { return emit<math::TruncOp>(x); }
Fp floor(Fp x) { return emit<math::FloorOp>(x); }
Fp ceil(Fp x) { return emit<math::CeilOp>(x); }
Fp copySign(Fp magnitude, Fp sign) { return emit<math::CopySignOp>(magnitude, sign); }

// In this order of operands these are x86's minps and maxps, which give the second
// operand when either is NaN.
Fp atMost(Fp x, double c) { return select(x.constant(c) < x, x.constant(c), x); }
Fp atLeast(Fp x, double c) { return select(x < x.constant(c), x.constant(c), x); }

Fp mulAdd(Fp a, Fp b, Fp c) {
  if (a.e->options.hasFma)
    return emit<math::FmaOp>(a, b, c);
  if (!a.e->options.mayFuse)
    return a * b + c;
  constexpr auto contract = arith::FastMathFlags::contract;
  Value product = arith::MulFOp::create(a.e->builder, a.v, b.v, contract);
  return {a.e, arith::AddFOp::create(a.e->builder, product, c.v, contract)};
}

Fp poly(Fp x, ArrayRef<double> coefficients) {
  Fp p = x.constant(coefficients.front());
  for (double c : coefficients.drop_front())
    p = mulAdd(p, x, c);
  return p;
}

Int bits(Fp x) {
  Type type = withElementType(x.type(), x.e->builder.getIntegerType(x.isF64() ? 64 : 32));
  return {x.e, arith::BitcastOp::create(x.e->builder, type, x.v)};
}

Fp fromBits(Int x) {
  OpBuilder &b = x.e->builder;
  bool wide = getElementTypeOrSelf(x.v).isInteger(64);
  Type element = wide ? Type(b.getF64Type()) : Type(b.getF32Type());
  return {x.e, arith::BitcastOp::create(x.e->builder, withElementType(x.type(), element), x.v)};
}

Int toInt(Fp x) {
  Type type = withElementType(x.type(), x.e->builder.getIntegerType(x.isF64() ? 64 : 32));
  return {x.e, arith::FPToSIOp::create(x.e->builder, type, x.v)};
}

Fp toFp(Int x) {
  OpBuilder &b = x.e->builder;
  bool wide = getElementTypeOrSelf(x.v).isInteger(64);
  Type element = wide ? Type(b.getF64Type()) : Type(b.getF32Type());
  return {x.e, arith::SIToFPOp::create(x.e->builder, withElementType(x.type(), element), x.v)};
}

Fp toF64(Fp x) {
  Type type = withElementType(x.type(), x.e->builder.getF64Type());
  return {x.e, arith::ExtFOp::create(x.e->builder, type, x.v)};
}

Fp toF32(Fp x) {
  Type type = withElementType(x.type(), x.e->builder.getF32Type());
  return {x.e, arith::TruncFOp::create(x.e->builder, type, x.v)};
}

Int toI64(Int x) {
  Type type = withElementType(x.type(), x.e->builder.getI64Type());
  return {x.e, arith::ExtSIOp::create(x.e->builder, type, x.v)};
}

Int toI32(Int x) {
  Type type = withElementType(x.type(), x.e->builder.getI32Type());
  return {x.e, arith::TruncIOp::create(x.e->builder, type, x.v)};
}

std::pair<Int, Int> wideProduct(Int a, Int b) {
  auto product = arith::MulUIExtendedOp::create(a.e->builder, a.v, b.v);
  return {{a.e, product.getLow()}, {a.e, product.getHigh()}};
}

Fp powerOfTwo(Int n, Fp like) {
  return like.isF64() ? fromBits((n + 1023) << 52) : fromBits((n + 127) << 23);
}

Fp scaleByPowerOfTwo(Fp x, Int n) { return x * powerOfTwo(n, x); }

bool hasScale(Fp x) {
  auto type = dyn_cast<VectorType>(x.type());
  if (!type || !x.e->options.hasAvx512)
    return false;
  int64_t lanes = type.getNumElements();
  int64_t full = x.isF64() ? 8 : 16;
  return lanes % full == 0 || lanes == full / 2 || lanes == full / 4;
}

Fp scale(Fp x, Fp n) {
  ImplicitLocOpBuilder &b = x.e->builder;
  auto type = cast<VectorType>(x.type());
  int64_t lanes = type.getNumElements(), full = x.isF64() ? 8 : 16;
  int64_t chunk = std::min(lanes, full);
  auto flat = VectorType::get({lanes}, type.getElementType());
  auto part = VectorType::get({chunk}, type.getElementType());
  std::string name = "llvm.x86.avx512.mask.scalef." + std::string(x.isF64() ? "pd." : "ps.") +
                     std::to_string(512 * chunk / full);
  Value mask = arith::ConstantOp::create(
      b, b.getIntegerAttr(b.getIntegerType(std::max<int64_t>(chunk, 8)), -1));
  Value currentRounding = arith::ConstantOp::create(b, b.getI32IntegerAttr(4));
  auto cast = [&](Type to, Value v) -> Value {
    return v.getType() == to ? v : vector::ShapeCastOp::create(b, to, v);
  };
  Value xs = cast(flat, x.v), ns = cast(flat, n.v), result = xs;
  for (int64_t i = 0; i < lanes; i += chunk) {
    auto slice = [&](Value v) -> Value {
      if (lanes == chunk)
        return v;
      return vector::ExtractStridedSliceOp::create(b, v, ArrayRef<int64_t>{i},
                                                   ArrayRef<int64_t>{chunk}, ArrayRef<int64_t>{1});
    };
    Value piece = slice(xs);
    SmallVector<Value> operands = {piece, slice(ns), piece, mask};
    if (chunk == full)
      operands.push_back(currentRounding);
    Value y = LLVM::CallIntrinsicOp::create(b, part, b.getStringAttr(name), operands).getResult(0);
    result = lanes == chunk ? y
                            : vector::InsertStridedSliceOp::create(
                                  b, y, result, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1});
  }
  return {x.e, cast(type, result)};
}

bool hasLookup(Fp x) { return x.e->options.hasAvx512 && !x.isF64(); }
bool hasShortLookup(Fp x) { return x.e->options.hasAvx2 && !x.isF64(); }

// Fewer lanes than an instruction has are done with others beside them: a function has one value
// for an argument, in however many lanes.
Fp lookup(Int i, ArrayRef<double> table) {
  constexpr int64_t shortChunk = 8, longChunk = 16;
  bool isShort = table.size() == shortChunk;
  int64_t chunk = isShort ? shortChunk : longChunk;
  ImplicitLocOpBuilder &b = i.e->builder;
  auto type = dyn_cast<VectorType>(i.type());
  Type f32 = b.getF32Type(), i32 = b.getI32Type();
  int64_t lanes = type ? type.getNumElements() : 1, padded = llvm::alignTo(lanes, chunk);
  auto shaped = [&](Type to, Value v) -> Value {
    return v.getType() == to ? v : vector::ShapeCastOp::create(b, to, v);
  };
  Value numbers = type ? shaped(VectorType::get({lanes}, i32), i.v)
                       : Value(vector::BroadcastOp::create(b, VectorType::get({1}, i32), i.v));
  if (padded != lanes) {
    SmallVector<int64_t> from(padded, 0);
    std::iota(from.begin(), from.begin() + lanes, 0);
    numbers = vector::ShuffleOp::create(b, numbers, numbers, from);
  }
  auto part = VectorType::get({chunk}, f32);
  auto half = [&](ArrayRef<double> entries) -> Value {
    SmallVector<float> values(entries.begin(), entries.end());
    return arith::ConstantOp::create(b, DenseElementsAttr::get(part, ArrayRef(values)));
  };
  Value low = half(table.take_front(chunk)), high = isShort ? low : half(table.drop_front(chunk));
  auto slice = [&](Value v, int64_t at, int64_t count) -> Value {
    if (cast<VectorType>(v.getType()).getNumElements() == count)
      return v;
    return vector::ExtractStridedSliceOp::create(b, v, ArrayRef<int64_t>{at},
                                                 ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
  };
  Value result;
  for (int64_t at = 0; at < padded; at += chunk) {
    StringRef name = isShort ? "llvm.x86.avx2.permps" : "llvm.x86.avx512.vpermi2var.ps.512";
    Value places = slice(numbers, at, chunk);
    auto operands =
        isShort ? SmallVector<Value>{low, places} : SmallVector<Value>{low, places, high};
    Value picked =
        LLVM::CallIntrinsicOp::create(b, part, b.getStringAttr(name), operands).getResult(0);
    if (padded == chunk) {
      result = picked;
      break;
    }
    if (!result)
      result = arith::ConstantOp::create(
          b, cast<TypedAttr>(b.getZeroAttr(VectorType::get({padded}, f32))));
    result = vector::InsertStridedSliceOp::create(b, picked, result, ArrayRef<int64_t>{at},
                                                  ArrayRef<int64_t>{1});
  }
  result = slice(result, 0, lanes);
  return {i.e, type ? shaped(withElementType(type, f32), result)
                    : Value(vector::ExtractOp::create(b, result, int64_t(0)))};
}

Value anyLane(Mask m) {
  auto type = dyn_cast<VectorType>(m.v.getType());
  if (!type)
    return m.v;
  ImplicitLocOpBuilder &b = m.e->builder;
  Value flat = m.v;
  if (type.getRank() != 1)
    flat = vector::ShapeCastOp::create(
        b, VectorType::get({type.getNumElements()}, type.getElementType()), flat);
  if (m.e->options.hasScalarLanes) {
    Value any;
    for (int64_t lane = 0; lane < type.getNumElements(); ++lane) {
      Value here = vector::ExtractOp::create(b, flat, lane);
      any = any ? Value(arith::OrIOp::create(b, any, here)) : here;
    }
    return any;
  }
  return vector::ReductionOp::create(b, vector::CombiningKind::OR, flat);
}

SmallVector<Value> ifAnyLane(Mask m, ValueRange usual,
                             llvm::function_ref<SmallVector<Value>()> rare) {
  ImplicitLocOpBuilder &b = m.e->builder;
  auto branch = scf::IfOp::create(b, usual.getTypes(), anyLane(m), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> results = rare();
  scf::YieldOp::create(b, results);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, usual);
  return SmallVector<Value>(branch.getResults());
}

/// The function `name` of the module around, declared private on first use.
static func::FuncOp declare(Emitter &e, StringRef name, FunctionType type) {
  auto module = e.builder.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  assert(module && "expandMath works on functions of a module");
  if (auto found = module.lookupSymbol<func::FuncOp>(name))
    return found;
  OpBuilder::InsertionGuard guard(e.builder);
  e.builder.setInsertionPointToStart(module.getBody());
  auto function = func::FuncOp::create(e.builder, name, type);
  function.setPrivate();
  return function;
}

std::string helperName(StringRef base, Type type) {
  std::string name = ("tcc_" + base).str();
  if (auto vector = dyn_cast<VectorType>(type))
    for (int64_t dim : vector.getShape())
      name += "_" + std::to_string(dim);
  return name;
}

SmallVector<Value> callHelper(Emitter &e, StringRef name, ValueRange arguments, TypeRange results,
                              llvm::function_ref<SmallVector<Value>(Emitter &, ValueRange)> body) {
  auto type = FunctionType::get(e.builder.getContext(), arguments.getTypes(), results);
  func::FuncOp helper = declare(e, name, type);
  if (helper.isDeclaration()) {
    // Inlined, its constants would take the registers of the loop it is rare in.
    helper->setAttr("llvm.linkage",
                    LLVM::LinkageAttr::get(e.builder.getContext(), LLVM::Linkage::Internal));
    helper->setAttr("passthrough", e.builder.getStrArrayAttr({"noinline", "cold", "nounwind"}));
    OpBuilder::InsertionGuard guard(e.builder);
    Block *entry = helper.addEntryBlock();
    e.builder.setInsertionPointToStart(entry);
    func::ReturnOp::create(e.builder, body(e, entry->getArguments()));
  }
  return SmallVector<Value>(func::CallOp::create(e.builder, helper, arguments).getResults());
}

Fp hardwareExp2(Fp x) {
  return {x.e, math::Exp2Op::create(x.e->builder, x.v, arith::FastMathFlags::afn)};
}

/// One of NVIDIA's functions of an f32.
static Fp intrinsic(StringRef name, Fp x) {
  ImplicitLocOpBuilder &b = x.e->builder;
  auto of = [&](Value v) -> Value {
    return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name), ValueRange{v})
        .getResult(0);
  };
  auto vector = dyn_cast<VectorType>(x.type());
  if (!vector)
    return {x.e, of(x.v)};
  auto flat = VectorType::get({vector.getNumElements()}, b.getF32Type());
  Value v = vector == flat ? x.v : Value(vector::ShapeCastOp::create(b, flat, x.v));
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < flat.getNumElements(); ++lane)
    lanes.push_back(of(vector::ExtractOp::create(b, v, lane)));
  Value result = vector::FromElementsOp::create(b, flat, lanes);
  return {x.e, vector == flat ? result : Value(vector::ShapeCastOp::create(b, vector, result))};
}

Fp flushingExp2(Fp x) { return intrinsic("llvm.nvvm.ex2.approx.ftz.f32", x); }

Fp hardwareLog(Fp x) { return intrinsic("llvm.nvvm.lg2.approx.f", x) * 0x1.62e43p-1; }

Fp hardwareLog2(Fp x) { return intrinsic("llvm.nvvm.lg2.approx.ftz.f", x); }
Fp hardwareSqrt(Fp x) { return intrinsic("llvm.nvvm.sqrt.approx.f", x); }
Fp hardwareRsqrt(Fp x) { return intrinsic("llvm.nvvm.rsqrt.approx.f", x); }

Fp roughQuotient(double x, Fp y) {
  if (!y.e->options.hasExp2)
    return x / y;
  return intrinsic("llvm.nvvm.rcp.approx.ftz.f", y) * x;
}

Fp roughDivide(Fp x, Fp y) {
  return {x.e, arith::DivFOp::create(x.e->builder, x.v, y.v, arith::FastMathFlags::afn)};
}

Fp exactF64(Fp (*function)(Fp), StringRef name, Fp x) {
  return x.e->options.hasFma ? function(x) : callLibm(name, {x});
}

Fp callLibm(StringRef name, ArrayRef<Fp> arguments) {
  Emitter &e = *arguments.front().e;
  ImplicitLocOpBuilder &b = e.builder;
  Type type = arguments.front().type();
  Type element = getElementTypeOrSelf(type);
  std::string symbol = (name + (element.isF32() ? "f" : "")).str();
  SmallVector<Type> parameters(arguments.size(), element);
  func::FuncOp callee =
      declare(e, symbol, FunctionType::get(b.getContext(), parameters, {element}));
  SmallVector<Value> operands;
  for (Fp a : arguments)
    operands.push_back(a.v);
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return {&e, func::CallOp::create(b, callee, operands).getResult(0)};

  int64_t lanes = vector.getNumElements();
  auto flatType = VectorType::get({lanes}, element);
  if (vector != flatType)
    for (Value &v : operands)
      v = vector::ShapeCastOp::create(b, flatType, v);
  Value zero = arith::ConstantIndexOp::create(b, 0), one = arith::ConstantIndexOp::create(b, 1);
  Value count = arith::ConstantIndexOp::create(b, lanes);
  auto loop = scf::ForOp::create(
      b, zero, count, one, ValueRange{operands.front()},
      [&](OpBuilder &nested, Location loc, Value lane, ValueRange carried) {
        SmallVector<Value> scalars;
        for (Value v : operands)
          scalars.push_back(vector::ExtractOp::create(nested, loc, v, OpFoldResult(lane)));
        Value y = func::CallOp::create(nested, loc, callee, scalars).getResult(0);
        Value next = vector::InsertOp::create(nested, loc, y, carried.front(), OpFoldResult(lane));
        scf::YieldOp::create(nested, loc, next);
      });
  Value result = loop.getResult(0);
  if (vector != flatType)
    result = vector::ShapeCastOp::create(b, vector, result);
  return {&e, result};
}

} // namespace tcc::codegen::vmath
