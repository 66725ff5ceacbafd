//===- VectorMathRough.cpp - Functions of what is rounded to 16 bits ------===//
//
// A GPU computes activations where products end, and its matrix units wait meanwhile. Nearly all of
// them are rounded to bf16 or f16 at once, so that 17 bits do as well as 24. And most are sums of
// one and a function, whose small results the function itself could only give exactly:
//
//   1 + erf z = erfc(-z): 2^-P(|z|), or 2 less that, with a polynomial P of degree 7
//   1 + tanh u = 2 / (1 + e^-2u)
//   1 / (1 + e^-x)
//
// with an exponential that is one instruction where the target has it, and a division that need
// not be rounded right: its divisor is at least 1. What erf's argument is multiplied by goes into
// the polynomial, and a half that the sum is multiplied by into the sum: 13 instructions for its
// gelu instead of 31.
// tanh alone is one less than the second, but a polynomial below 1/2. In 24 bits the second is
// shorter than tanh as well, and nothing of a small sum is lost: gelu by tanh takes it on any CPU
// where a sigmoid is one function.
//
// sin, cos and tan of narrow numbers are bound by arithmetic, not by memory, if they are computed
// to 24 bits: roughSin (VectorMathTrig.cpp) takes one polynomial instead of two, and roughTan
// neither the reduction's rounding error nor an exact reciprocal.
//
//===----------------------------------------------------------------------===//
#include "VectorMathRough.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tcc::codegen::vmath {

constexpr double log2e = 0x1.715476p+0;

bool isOnlyNarrowed(Value v) {
  constexpr size_t kMost = 64; // values that are looked at
  llvm::SmallSetVector<Value, 16> seen;
  seen.insert(v);
  bool narrowed = false;
  for (size_t i = 0; i < seen.size(); ++i)
    for (Operation *user : seen[i].getUsers()) {
      if (isa<arith::TruncFOp>(user)) {
        if (getElementTypeOrSelf(user->getResult(0)).getIntOrFloatBitWidth() > 16)
          return false;
        narrowed = true;
        continue;
      }
      // Comparisons, stores and what carries values from block to block want all bits.
      bool computes =
          isa<arith::ArithDialect, math::MathDialect, vector::VectorDialect>(user->getDialect()) &&
          user->getNumResults() == 1 && !isa<arith::CmpFOp, arith::BitcastOp>(user) &&
          isa<FloatType>(getElementTypeOrSelf(user->getResult(0)));
      if (!computes || seen.size() == kMost)
        return false;
      seen.insert(user->getResult(0));
    }
  return narrowed;
}

/// What is added to something normal need not be subnormal.
static Fp roughExp2(Fp x) { return x.e->options.hasExp2 ? flushingExp2(x) : exp2(x); }

static Fp roughExp(Fp x) {
  x = x * log2e;
  return x.e->options.hasExp2 ? hardwareExp2(x) : exp2(x);
}

/// The constant that all lanes of `v` are.
static std::optional<double> constantOf(Value v) {
  if (auto repeated = v.getDefiningOp<vector::BroadcastOp>())
    v = repeated.getSource();
  llvm::APFloat known(0.0f);
  if (!matchPattern(v, m_ConstantFloat(&known)))
    return std::nullopt;
  return known.convertToDouble();
}

/// x times a constant.
struct Scaled {
  Fp x;
  double by;
};

static Scaled scaledOf(Fp v) {
  constexpr double kMost = 0x1p10; // whose powers are numbers, as those of its inverse are
  if (auto product = v.v.getDefiningOp<arith::MulFOp>())
    for (unsigned i : {0u, 1u})
      if (auto by = constantOf(product.getOperand(i)); by && *by >= 1 / kMost && *by <= kMost)
        return {{v.e, product.getOperand(1 - i)}, *by};
  return {v, 1.0};
}

/// (1 + erf z) * `whole` / 2, where `whole` is 1 or 2.
static Fp onePlusErf(Scaled z, double whole) {
  SmallVector<double> p{0x1.58e062p-16, -0x1.0117d2p-11, 0x1.583d48p-8, -0x1.1694f4p-5,
                        0x1.38834cp-3,  0x1.d57994p-1,   0x1.a0cbf6p+0, -0x1.369fa6p-18};
  double power = 1;
  for (double &c : llvm::reverse(p)) {
    c *= power;
    power *= z.by;
  }
  p.back() += whole == 1 ? 1 : 0;
  Fp t = roughExp2(-poly(abs(z.x), p));
  // Of a negative z t, else whole - t: a comparison that gives a number, and a sign that whatever
  // multiplies it drops, instead of a choice.
  return abs(select(z.x < 0.0, t.constant(0.0), t.constant(whole)) - t);
}

/// (1 + tanh u) * `whole` / 2.
static Fp onePlusTanh(Scaled u, double whole) {
  return roughQuotient(whole, roughExp2(u.x * (-2 * log2e * u.by)) + 1.0);
}

/// Alone: small results are about the argument itself.
static Fp roughTanh(Fp x) {
  Fp y = abs(x), z = y * y;
  Fp near = mulAdd(y * z, poly(z, {-0x1.6e98eap-5, 0x1.0e721ep-3, -0x1.5547c6p-2}), y);
  Fp far = 1.0 - roughQuotient(2.0, roughExp2(y * (2 * log2e)) + 1.0);
  return copySign(select(y < 0.5, near, far), x);
}

/// Whether `add` adds one to `x`.
static bool addsOne(arith::AddFOp add, Value x) {
  Value other = add.getLhs() == x ? add.getRhs() : add.getLhs();
  if (auto repeated = other.getDefiningOp<vector::BroadcastOp>())
    other = repeated.getSource();
  return other != x && matchPattern(other, m_OneFloat());
}

/// y / 2, if `user` multiplies `v` by it.
static arith::MulFOp halfBeside(Operation *user, Value v) {
  auto product = dyn_cast<arith::MulFOp>(user);
  if (!product || product.getLhs() == product.getRhs())
    return {};
  Value other = product.getLhs() == v ? product.getRhs() : product.getLhs();
  auto half = other.getDefiningOp<arith::MulFOp>();
  bool halves = half && (constantOf(half.getLhs()) == 0.5 || constantOf(half.getRhs()) == 0.5);
  return halves ? half : arith::MulFOp();
}

/// Takes the halves out of what `add` is multiplied by; false where it is not always half of
/// something.
static bool takeHalves(arith::AddFOp add) {
  if (!llvm::all_of(add->getUsers(), [&](Operation *user) { return halfBeside(user, add); }))
    return false;
  for (Operation *user : llvm::make_early_inc_range(add->getUsers())) {
    arith::MulFOp half = halfBeside(user, add);
    user->replaceUsesOfWith(half, constantOf(half.getLhs()) == 0.5 ? half.getRhs() : half.getLhs());
  }
  return true;
}

/// Replaces what adds one to the result of `op`, which is erf or tanh.
static void replaceOnePlus(Operation *op, const ExpandMathOptions &options) {
  Value x = op->getResult(0);
  for (Operation *user : llvm::make_early_inc_range(x.getUsers())) {
    auto add = dyn_cast<arith::AddFOp>(user);
    if (!add || !addsOne(add, x) || !isOnlyNarrowed(add))
      continue;
    ImplicitLocOpBuilder builder(add.getLoc(), add);
    Emitter emitter{builder, options};
    Fp z{&emitter, op->getOperand(0)};
    double whole = takeHalves(add) ? 1 : 2;
    Fp sum =
        isa<math::ErfOp>(op) ? onePlusErf(scaledOf(z), whole) : onePlusTanh(scaledOf(z), whole);
    add.replaceAllUsesWith(sum.v);
    add.erase();
  }
}

void expandOnePlusTanh(Operation *root, const ExpandMathOptions &options) {
  SmallVector<arith::AddFOp> sums;
  root->walk([&](math::TanhOp op) {
    if (getElementTypeOrSelf(op.getType()).isF32())
      for (Operation *user : op->getUsers())
        if (auto add = dyn_cast<arith::AddFOp>(user); add && addsOne(add, op))
          sums.push_back(add);
  });
  for (arith::AddFOp add : sums) {
    auto tanh = add.getLhs().getDefiningOp<math::TanhOp>();
    if (!tanh)
      tanh = add.getRhs().getDefiningOp<math::TanhOp>();
    ImplicitLocOpBuilder builder(add.getLoc(), add);
    Emitter emitter{builder, options};
    Fp u{&emitter, tanh.getOperand()};
    if (!needsFactors(u))
      continue;
    Fp half = logistic(u + u);
    add.replaceAllUsesWith((takeHalves(add) ? half : half + half).v);
    add.erase();
    if (tanh.use_empty())
      tanh.erase();
  }
}

/// Divisions by one plus an exponential, which is not negative. On a GPU by the reciprocal of a
/// quarter of that, which is normal or zero, so that neither instruction sees a subnormal number:
/// with those it would be brought into its range first, and its result back, by ten others.
static void divideRoughly(math::ExpOp exp, const ExpandMathOptions &options) {
  llvm::SmallSetVector<arith::DivFOp, 4> found;
  for (Operation *add : exp->getUsers())
    if (isa<arith::AddFOp>(add) && addsOne(cast<arith::AddFOp>(add), exp))
      for (Operation *user : add->getUsers())
        if (auto div = dyn_cast<arith::DivFOp>(user);
            div && div.getRhs() == add->getResult(0) && isOnlyNarrowed(div))
          found.insert(div);
  for (arith::DivFOp div : found) {
    if (!options.hasExp2) {
      div.setFastmath(div.getFastmath() | arith::FastMathFlags::afn);
      continue;
    }
    ImplicitLocOpBuilder builder(div.getLoc(), div);
    Emitter emitter{builder, options};
    Fp power = flushingExp2(Fp{&emitter, exp.getOperand()} * log2e);
    Fp quotient = roughQuotient(0.25, mulAdd(power, 0.25, power.constant(0.25)));
    if (constantOf(div.getLhs()) != 1.0)
      quotient = Fp{&emitter, div.getLhs()} * quotient;
    div.replaceAllUsesWith(quotient.v);
    Operation *sum = div.getRhs().getDefiningOp();
    div.erase();
    if (sum->use_empty())
      sum->erase();
  }
}

/// Divisions by one number for all lanes become products with its reciprocal: both are scaled so
/// that it is no subnormal where the quotient is none.
static void divideByUniform(arith::DivFOp div, const ExpandMathOptions &options) {
  auto repeated = div.getRhs().getDefiningOp<vector::BroadcastOp>();
  if (!repeated || !repeated.getSource().getType().isF32() || !isOnlyNarrowed(div))
    return;
  ImplicitLocOpBuilder builder(div.getLoc(), div);
  Emitter emitter{builder, options};
  Fp y{&emitter, repeated.getSource()}, size = abs(y);
  Fp factor = select(size < 0x1p-64, y.constant(0x1p64),
                     select(size > 0x1p64, y.constant(0x1p-64), y.constant(1.0)));
  auto everywhere = [&](Fp v) -> Fp {
    return {&emitter, vector::BroadcastOp::create(builder, div.getType(), v.v)};
  };
  Fp x{&emitter, div.getLhs()};
  Fp quotient = x * everywhere(factor) * everywhere(1.0 / (y * factor));
  div.replaceAllUsesWith(quotient.v);
  div.erase();
}

static const llvm::StringMap<Fp (*)(Fp)> &roughFunctions() {
  static const llvm::StringMap<Fp (*)(Fp)> table = {
      {"math.exp", roughExp},     {"math.tanh", roughTanh},   {"math.tan", roughTan},
      {"math.asinh", roughAsinh}, {"math.acosh", roughAcosh}, {"math.atanh", roughAtanh},
      {"math.atan", roughAtan},   {"math.sinh", roughSinh},   {"math.cosh", roughCosh},
      {"math.erfc", roughErfc}};
  return table;
}

void expandRough(Operation *root, const ExpandMathOptions &options) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    bool ofOne = roughFunctions().contains(op->getName().getStringRef());
    if ((ofOne || isa<math::ErfOp, math::SinOp, math::CosOp>(op)) &&
        getElementTypeOrSelf(op->getResult(0)).isF32())
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (isa<math::ErfOp, math::TanhOp>(op))
      replaceOnePlus(op, options);
    else if (auto exp = dyn_cast<math::ExpOp>(op))
      divideRoughly(exp, options);
    if (!isa<math::ErfOp>(op) && isOnlyNarrowed(op->getResult(0))) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      Emitter emitter{builder, options};
      Fp x{&emitter, op->getOperand(0)};
      auto found = roughFunctions().find(op->getName().getStringRef());
      Fp rough =
          found != roughFunctions().end() ? found->second(x) : roughSin(x, isa<math::CosOp>(op));
      op->getResult(0).replaceAllUsesWith(rough.v);
    }
    if (op->use_empty())
      op->erase();
  }
  SmallVector<arith::DivFOp> divisions;
  root->walk([&](arith::DivFOp div) { divisions.push_back(div); });
  for (arith::DivFOp div : divisions)
    divideByUniform(div, options);
}

} // namespace tcc::codegen::vmath
