//===- FourierStages.cpp - Fourier transforms in lanes --------------------===//
//
// Stages are Stockham's: one of radix r takes n / r butterflies of r numbers from one room to
// another, and the last leaves them in order. Every number is a vector, one transform a lane, so
// that no stage shuffles. Roots come from a table, two numbers a broadcast.
//
//===----------------------------------------------------------------------===//
#include "FourierStages.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Analysis/FourierLength.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

FourierStages::FourierStages(KernelFrame &f, Type type, unsigned lanes)
    : FourierButterflies(f.b, VectorType::get({lanes}, type), f.cpu.fma), f(f),
      k(f.b, f.launch.getLoc()), type(type), lanes(lanes), vector(VectorType::get({lanes}, type)) {}

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

/// Half of the lines at a time: their pairs are a square of half as many elements of 64 bits.
SmallVector<Value> FourierStages::pairsOf(ArrayRef<Complex> numbers) {
  unsigned side = lanes / 2;
  auto whole = VectorType::get({int64_t(side)}, k.builder.getF64Type());
  SmallVector<Value> rows;
  for (unsigned begin : {0U, side}) {
    SmallVector<int64_t> order;
    for (unsigned lane = begin; lane < begin + side; ++lane)
      order.append({lane, lanes + lane});
    SmallVector<Value> square;
    for (Complex v : numbers) {
      Value both = vector::ShuffleOp::create(k.builder, k.loc, v.re, v.im, order);
      square.push_back(vector::BitCastOp::create(k.builder, k.loc, whole, both));
    }
    transposeSquare(f.b, square);
    for (Value row : square)
      rows.push_back(vector::BitCastOp::create(k.builder, k.loc, vector, row));
  }
  return rows;
}

SmallVector<Complex> FourierStages::numbersOf(ArrayRef<Value> pairs) {
  unsigned side = lanes / 2;
  auto whole = VectorType::get({int64_t(side)}, k.builder.getF64Type());
  SmallVector<Value> halves[2];
  for (auto [half, square] : llvm::enumerate(halves)) {
    for (Value row : pairs.slice(half * side, side))
      square.push_back(vector::BitCastOp::create(k.builder, k.loc, whole, row));
    transposeSquare(f.b, square);
  }
  SmallVector<int64_t> even, odd;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    even.push_back(2 * lane);
    odd.push_back(2 * lane + 1);
  }
  SmallVector<Complex> numbers;
  for (auto [x, y] : llvm::zip_equal(halves[0], halves[1])) {
    Value first = vector::BitCastOp::create(k.builder, k.loc, vector, x);
    Value second = vector::BitCastOp::create(k.builder, k.loc, vector, y);
    numbers.push_back({vector::ShuffleOp::create(k.builder, k.loc, first, second, even),
                       vector::ShuffleOp::create(k.builder, k.loc, first, second, odd)});
  }
  return numbers;
}

SmallVector<Value> FourierStages::widePairsOf(ArrayRef<Complex> numbers) {
  SmallVector<Value> re, im, pairs;
  for (Complex v : numbers) {
    re.push_back(v.re);
    im.push_back(v.im);
  }
  transposeSquare(f.b, re);
  transposeSquare(f.b, im);
  for (auto [x, y] : llvm::zip_equal(re, im))
    pairs.push_back(interleaved({x, y}));
  return pairs;
}

Value FourierStages::interleaved(Complex v) {
  SmallVector<int64_t> order;
  for (unsigned i = 0; i < lanes; ++i)
    order.append({i, lanes + i});
  return vector::ShuffleOp::create(k.builder, k.loc, v.re, v.im, order);
}

void FourierStages::storePairs(Complex v, Value pairs, Index place, Index valid) {
  Index two = k.constant(2);
  k.storePart(interleaved(v), k.address(pairs, type, k.mul(place, two)), k.mul(valid, two));
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
    line.roots = table(f.function, name, values);
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
