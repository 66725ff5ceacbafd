#include "Decompose/Idioms/Sampling.h"
#include "Decompose/Idioms/Axes.h"

using namespace mlir;
using namespace tcc;
using P = prim::ComparePredicate;

Value tcc::sampleAt(PrimBuilder &b, Value x, ArrayRef<SmallVector<SampleTap>> taps,
                    prim::ReduceKind kind) {
  Dims have = b.dims(x);
  int64_t spatial = taps.size();
  Dims lead(have.begin(), have.end() - spatial);
  Dim pixels = b.productOf(ArrayRef(have).take_back(spatial));
  Dims positions = b.dims(taps[0][0].position); // [N, ...]
  Dims places(positions.begin() + 1, positions.end());
  Dim count = b.productOf(places);
  Type type = b.elem(taps[0][0].position);
  Dims flat = lead;
  flat.push_back(pixels);
  Value image = b.reshape(x, flat);
  // One flat position for each batch entry, the same for all that lies between.
  Dims vector(lead.size() + 1, b.dim(1));
  vector.front() = positions[0];
  vector.back() = count;
  Dims full = lead;
  full.push_back(count);
  Value sum;
  SmallVector<size_t> corner(spatial, 0);
  while (true) {
    Value index, weight;
    for (int64_t i = 0; i < spatial; ++i) {
      const SampleTap &tap = taps[i][corner[i]];
      index = index ? b.add(b.mul(index, scalarOf(b, have[lead.size() + i], type)), tap.position)
                    : tap.position;
      weight = weight ? b.mul(weight, tap.weight) : tap.weight;
    }
    Value read = b.takeAlong(image, b.broadcastTo(b.reshape(index, vector), full), lead.size());
    Value part = b.mul(read, b.reshape(b.broadcastTo(weight, positions), vector));
    sum = !sum ? part : kind == prim::ReduceKind::sum ? b.add(sum, part) : b.maximum(sum, part);
    int64_t i = spatial - 1;
    while (i >= 0 && ++corner[i] == taps[i].size())
      corner[i--] = 0;
    if (i < 0)
      break;
  }
  Dims result = lead;
  result.append(places);
  return b.reshape(sum, result);
}

SmallVector<SampleTap> tcc::linearTaps(PrimBuilder &b, Value position, Dim extent, bool zeros) {
  Type t = b.elem(position), i64 = b.builder().getI64Type();
  Value size = scalarOf(b, extent, t), last = b.sub(size, 1.0), zero = b.scalar(0, t);
  auto between = [&](Value v, Value low, Value high) {
    return b.binary<prim::AndOp>(b.compare(P::ge, v, low), b.compare(P::le, v, high));
  };
  auto clamped = [&](Value v) { return b.cast(b.minimum(b.maximum(v, 0.0), last), i64); };
  if (zeros) {
    Value base = b.unary<prim::FloorOp>(position), f = b.sub(position, base);
    Value next = b.add(base, 1.0), g = b.sub(b.scalar(1, t), f);
    return {{clamped(base), b.select(between(base, zero, last), g, zero)},
            {clamped(next), b.select(between(next, zero, last), f, zero)}};
  }
  Value valid = between(position, b.scalar(-1, t), size);
  Value at = b.minimum(b.maximum(position, 0.0), last);
  Value base = b.unary<prim::FloorOp>(at), f = b.sub(at, base);
  return {{clamped(base), b.select(valid, b.sub(b.scalar(1, t), f), zero)},
          {clamped(b.add(base, 1.0)), b.select(valid, f, zero)}};
}
