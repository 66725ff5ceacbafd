//===- FourierStages.cpp - Fourier transforms in lanes --------------------===//
//
// Stages are Stockham's: one of radix r takes n / r butterflies of r numbers from one room to
// another, and the last leaves them in order. Every number is a vector, one transform a lane, so
// that no stage shuffles. Roots come from a table, two numbers a broadcast.
//
//===----------------------------------------------------------------------===//
#include "FourierStages.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "tcc/Analysis/FourierLength.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

FourierStages::FourierStages(KernelFrame &f, Type type, unsigned lanes)
    : f(f), k(f.b, f.launch.getLoc()), type(type), lanes(lanes),
      vector(VectorType::get({lanes}, type)) {}

Value FourierStages::add(Value x, Value y) { return arith::AddFOp::create(f.b, x, y); }
Value FourierStages::sub(Value x, Value y) { return arith::SubFOp::create(f.b, x, y); }
Value FourierStages::times(Value x, Value y) { return arith::MulFOp::create(f.b, x, y); }
Value FourierStages::times(Value x, double c) {
  Value constant = arith::ConstantOp::create(f.b, f.b.getFloatAttr(type, c));
  return times(x, k.broadcast(constant, lanes));
}
Value FourierStages::multiplyAdd(Value x, Value y, Value sum) {
  return f.cpu.fma ? Value(math::FmaOp::create(f.b, x, y, sum)) : add(times(x, y), sum);
}
Complex FourierStages::times(Complex x, Complex y) {
  Value less = arith::NegFOp::create(f.b, times(x.im, y.im));
  return {multiplyAdd(x.re, y.re, less), multiplyAdd(x.re, y.im, times(x.im, y.re))};
}
/// -i x.
Complex FourierStages::turned(Complex x) { return {x.im, arith::NegFOp::create(f.b, x.re)}; }

Complex FourierStages::scratch(int64_t vectors) {
  Value all = k.scratch(type, 2 * vectors * lanes);
  return {all, k.address(all, type, k.constant(vectors * lanes))};
}
Value FourierStages::at(Value buffer, Index i) {
  return k.address(buffer, type, k.mul(i, k.constant(lanes)));
}
void FourierStages::put(Complex v, Complex buffer, Index i) {
  put(v.re, buffer.re, i);
  put(v.im, buffer.im, i);
}

Value FourierStages::table(StringRef name, ArrayRef<double> values) {
  SmallVector<APFloat> elements;
  for (double v : values) {
    APFloat element(v);
    bool inexact = false;
    element.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &inexact);
    elements.push_back(element);
  }
  auto module = f.function->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto count = static_cast<int64_t>(values.size());
  std::string symbol = (f.function.getName() + "_" + name).str();
  LLVM::GlobalOp::create(top, k.loc, LLVM::LLVMArrayType::get(type, count), /*isConstant=*/true,
                         LLVM::Linkage::Private, symbol,
                         DenseElementsAttr::get(RankedTensorType::get({count}, type), elements),
                         /*alignment=*/64);
  return LLVM::AddressOfOp::create(f.b, LLVM::LLVMPointerType::get(f.b.getContext()), symbol);
}

//===----------------------------------------------------------------------===//
// Butterflies
//===----------------------------------------------------------------------===//

SmallVector<Complex> FourierStages::butterfly(ArrayRef<Complex> x) {
  if (x.size() % 2)
    return oddButterfly(x);
  if (x.size() == 2)
    return {add(x[0], x[1]), sub(x[0], x[1])};
  // Even and odd numbers; roots of one are turns by an eighth.
  SmallVector<Complex> evens, odds;
  for (auto [i, v] : llvm::enumerate(x))
    (i % 2 ? odds : evens).push_back(v);
  evens = butterfly(evens);
  odds = butterfly(odds);
  constexpr double kHalfRoot = std::numbers::sqrt2 / 2;
  if (x.size() == 8) {
    Complex a = odds[1], c = odds[3];
    odds[1] = {times(add(a.re, a.im), kHalfRoot), times(sub(a.im, a.re), kHalfRoot)};
    odds[3] = {times(sub(c.im, c.re), kHalfRoot), times(add(c.re, c.im), -kHalfRoot)};
    odds[2] = turned(odds[2]);
  } else {
    odds[1] = turned(odds[1]);
  }
  SmallVector<Complex> result(x.size());
  for (size_t i = 0; i < odds.size(); ++i) {
    result[i] = add(evens[i], odds[i]);
    result[i + odds.size()] = sub(evens[i], odds[i]);
  }
  return result;
}

/// Of sums and differences of x[j] and x[p - j], whose roots are conjugate.
SmallVector<Complex> FourierStages::oddButterfly(ArrayRef<Complex> x) {
  auto p = static_cast<int64_t>(x.size());
  if (p == 1)
    return {x[0]};
  SmallVector<Complex> sums, differences, result(p);
  result[0] = x[0];
  for (int64_t j = 1; j <= p / 2; ++j) {
    sums.push_back(add(x[j], x[p - j]));
    differences.push_back(sub(x[j], x[p - j]));
    result[0] = add(result[0], sums.back());
  }
  for (int64_t i = 1; i <= p / 2; ++i) {
    Complex even = x[0], odd;
    for (int64_t j = 1; j <= p / 2; ++j) {
      double angle = 2 * std::numbers::pi * static_cast<double>(i * j % p) / static_cast<double>(p);
      Complex s = sums[j - 1], d = differences[j - 1];
      even = add(even, {times(s.re, std::cos(angle)), times(s.im, std::cos(angle))});
      Complex turn{times(d.re, std::sin(angle)), times(d.im, std::sin(angle))};
      odd = j == 1 ? turn : add(odd, turn);
    }
    odd = turned(odd);
    result[i] = add(even, odd);
    result[p - i] = sub(even, odd);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// For each stage but the last, for each butterfly, the roots of its results after the first.
FourierStages::Line FourierStages::line(int64_t n, StringRef name, Complex first, Complex second) {
  Line line{n, fourierRadices(n), {}, {first, second}};
  std::vector<double> values;
  int64_t length = n;
  for (unsigned r : line.radices) {
    for (int64_t p = 0; p < length / r && r != length; ++p)
      for (int64_t t = 1; t < r; ++t) {
        auto [re, im] = fourierRoot(p * t % length, length);
        values.push_back(re);
        values.push_back(-im);
      }
    length /= r;
  }
  if (!values.empty())
    line.roots = table(name, values);
  return line;
}

SmallVector<Complex> FourierStages::turns(Value roots, int64_t table, unsigned radix, Index p) {
  SmallVector<Complex> result;
  for (unsigned t = 1; t < radix; ++t) {
    Index place = k.add(k.mul(p, k.constant(2 * (radix - 1))), k.constant(table + 2 * (t - 1)));
    auto root = [&](int64_t part) {
      return k.broadcast(k.load(type, k.address(roots, type, k.add(place, k.constant(part)))),
                         lanes);
    };
    result.push_back({root(0), root(1)});
  }
  return result;
}

void FourierStages::transform(const Line &line, function_ref<Complex(Index)> read,
                              function_ref<void(Index, Complex)> write) {
  Index zero = k.constant(0), one = k.constant(1);
  if (line.radices.empty())
    return write(zero, read(zero));
  int64_t length = line.n, stride = 1, table = 0;
  for (auto [step, radix] : llvm::enumerate(line.radices)) {
    // Butterflies over `length` numbers, `stride` transforms of them side by side.
    int64_t count = length / radix;
    bool isFirst = step == 0, isLast = step + 1 == line.radices.size();
    Complex from = line.room[(step + 1) % 2], to = line.room[step % 2];
    Index r = k.constant(radix), s = k.constant(stride);
    k.loop(zero, k.constant(count), one, [&](Index p) {
      SmallVector<Complex> roots;
      if (count > 1)
        roots = turns(line.roots, table, radix, p);
      k.loop(zero, s, one, [&](Index q) {
        SmallVector<Complex> x;
        for (unsigned i = 0; i < radix; ++i) {
          Index place = k.add(q, k.mul(s, k.add(p, k.constant(i * count))));
          x.push_back(isFirst ? read(place) : get(from, place));
        }
        x = butterfly(x);
        for (unsigned t = 0; t < radix; ++t) {
          Complex v = t > 0 && !roots.empty() ? times(x[t], roots[t - 1]) : x[t];
          Index place = k.add(q, k.mul(s, k.add(k.mul(r, p), k.constant(t))));
          if (isLast)
            write(place, v);
          else
            put(v, to, place);
        }
      });
    });
    table += 2 * static_cast<int64_t>(radix - 1) * count;
    length = count;
    stride *= radix;
  }
}
