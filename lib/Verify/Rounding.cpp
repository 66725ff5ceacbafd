//===- Rounding.cpp - How far roundings alone move a result ---------------===//
//
// Compiled code sums in another order, keeps more digits between fused operators, and has other
// polynomials for exp and sin: each result may be off by some units in the last place. A model
// that compares, rounds or sorts values which are nearly equal, or multiplies a difference of
// such values, makes much of that. How much is measured: the interpreter runs again and each
// operator's result is moved, at random, by as much as its kind may be off: one unit for
// arithmetic, four for transcendental functions, and for sums, whose terms may cancel, eight
// of the size that the tensor's values have.
//
// What is exact stays: whole numbers (sums and products of counts, positions, token ids), and
// results of operators that only move or choose values.
//
//===----------------------------------------------------------------------===//
#include "Rounding.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Verify/Agreement.h"
#include <cmath>
#include <random>

using namespace llvm;
using namespace tcc;
using mlir::dyn_cast;
using mlir::isa;
using reference::Tensor;

/// Half the distance of 1 to the next larger number.
static double unitRoundoff(DType type) {
  switch (type) {
  case DType::F64:
  case DType::C128:
    return 0x1p-53;
  case DType::F32:
  case DType::C64:
    return 0x1p-24;
  case DType::F16:
    return 0x1p-11;
  case DType::BF16:
    return 0x1p-8;
  default:
    return 0x1p-3; // eight bits and fewer
  }
}

namespace {

/// How far an operator's result may be off, in units of its type's rounding.
struct Slack {
  double ofValue = 0; ///< relative to each value
  double ofSize = 0;  ///< relative to the root mean square of all
};

} // namespace

/// Whether each value of the result is one that was there before, or a whole number.
static bool isExact(mlir::Operation *op) {
  auto kindIsExact = [](prim::ReduceKind kind) {
    return kind != prim::ReduceKind::sum && kind != prim::ReduceKind::prod;
  };
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return kindIsExact(reduce.getKind());
  if (auto pool = dyn_cast<prim::PoolOp>(op))
    return kindIsExact(pool.getKind());
  if (auto scan = dyn_cast<prim::CumulativeOp>(op))
    return kindIsExact(scan.getKind());
  if (op->hasTrait<prim::RoundedOnce>()) // a scatter may add
    return false;
  return !prim::isElementwise(op) || op->hasTrait<prim::Exact>();
}

static Slack slackOf(mlir::Operation *op) {
  constexpr double arithmetic = 2, functions = 8, sums = 16; // halves of a unit
  bool adds = op->hasTrait<prim::Contraction>() || isa<prim::FftOp, prim::FourierOp>(op) ||
              op->hasTrait<prim::MatrixFactor>();
  if (!adds && isExact(op))
    return {};
  if (adds || op->hasTrait<prim::Reduction>() || isa<prim::CumulativeOp>(op))
    return {arithmetic, sums};
  bool basic = op->hasTrait<prim::RoundedOnce>();
  return {basic ? arithmetic : functions, 0};
}

static double rootMeanSquareOf(ArrayRef<double> values) {
  double sum = 0;
  for (double v : values)
    sum += std::isfinite(v) ? v * v : 0;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

/// Moves what is no whole number; `type` says by how much.
static void moveValues(Tensor &tensor, Slack slack, DType type, std::mt19937_64 &random) {
  std::vector<double> values = tensor.reals();
  double unit = unitRoundoff(type), size = slack.ofSize * rootMeanSquareOf(values);
  for (double &v : values) {
    double turn = static_cast<double>(random() >> 40) * 0x1p-23 - 1; // in [-1, 1)
    if (std::isfinite(v) && v != std::rint(v))
      v += turn * unit * (slack.ofValue * std::abs(v) + size);
  }
  tensor = Tensor::ofReals(tensor.dtype(), tensor.shape(), values);
}

Expected<std::vector<Tensor>> tcc::roundedResults(mlir::func::FuncOp function,
                                                  const WeightTable &weights,
                                                  ArrayRef<ReferenceRun> runs, uint64_t seed,
                                                  bool tf32) {
  std::mt19937_64 random(seed);
  reference::EvaluateOptions options;
  options.observer = [&](mlir::OpResult result, Tensor &value) {
    Slack slack = slackOf(result.getOwner());
    bool isCoarse =
        tf32 && value.dtype() == DType::F32 && result.getOwner()->hasTrait<prim::Contraction>();
    if (isFloat(value.dtype()) && (slack.ofValue > 0 || slack.ofSize > 0))
      moveValues(value, slack, isCoarse ? DType::F16 : value.dtype(), random);
  };
  CallForm form(function);
  std::vector<Tensor> results;
  for (const ReferenceRun &run : runs) {
    std::vector<Tensor> arguments = run.arguments;
    if (!results.empty())
      for (CallForm::Change change : form.changes)
        if (is_contained(form.state, change.argument))
          arguments[change.argument] = results[change.result];
    reference::RandomState drawn = run.random;
    options.random = &drawn;
    auto computed = reference::evaluate(function, arguments, weights, options);
    if (!computed)
      return computed.takeError();
    results = std::move(*computed);
  }
  return results;
}

void Distance::include(const Distance &other) {
  largest = std::max(largest, other.largest);
  rootMeanSquare = std::max(rootMeanSquare, other.rootMeanSquare);
  finite &= other.finite;
}

/// |x[i] - y[i]|; 0 for what is the same, infinite and no numbers too.
static double distanceAt(const Tensor &x, const Tensor &y, int64_t i) {
  if (!isFloat(x.dtype()) && !isComplex(x.dtype()))
    return integerDistance(x.integer(i), y.integer(i), x.dtype());
  std::complex<double> a = x.complex(i), b = y.complex(i);
  return a == b || (a != a && b != b) ? 0 : std::abs(a - b);
}

Distance Distance::between(const Tensor &x, const Tensor &y) {
  Distance result;
  if (x.shape() != y.shape())
    return {INFINITY, INFINITY, true};
  double squares = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    double distance = distanceAt(x, y, i);
    if (!std::isfinite(distance)) {
      result.finite = false;
      continue;
    }
    result.largest = std::max(result.largest, distance);
    squares += distance * distance;
  }
  if (x.elements() > 0)
    result.rootMeanSquare = std::sqrt(squares / static_cast<double>(x.elements()));
  return result;
}
