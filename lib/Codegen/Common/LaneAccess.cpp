//===- LaneAccess.cpp - Neighbouring points in memory ---------------------===//
#include "tcc/Codegen/Common/LaneAccess.h"
#include "LikeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/NarrowTypes.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

Type tcc::codegen::computeType(Type e) {
  Builder b(e.getContext());
  if (auto f = dyn_cast<FloatType>(e))
    return f.getWidth() < 32 ? b.getF32Type() : e;
  if (auto i = dyn_cast<IntegerType>(e))
    return i.getWidth() == 1 ? b.getI1Type() : b.getIntegerType(std::max(8u, i.getWidth()));
  return e;
}

Type tcc::codegen::storageType(Type e) {
  Builder b(e.getContext());
  if (e.isF16() || e.isBF16() || e.isF32() || e.isF64())
    return e;
  if (isa<FloatType>(e))
    return b.getI8Type();
  if (auto i = dyn_cast<IntegerType>(e))
    return b.getIntegerType(std::max(8u, i.getWidth()));
  return e;
}

//===----------------------------------------------------------------------===//
// Index arithmetic
//===----------------------------------------------------------------------===//

Value LaneAccess::index(int64_t v) { return arith::ConstantIndexOp::create(b, v); }

Value LaneAccess::addIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return index(*cx + *cy);
  if (cx == 0)
    return y;
  return cy == 0 ? x : Value(arith::AddIOp::create(b, x, y));
}

Value LaneAccess::subIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return index(*cx - *cy);
  return cy == 0 ? x : Value(arith::SubIOp::create(b, x, y));
}

Value LaneAccess::mulIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return index(*cx * *cy);
  if (cx == 0 || cy == 0)
    return index(0);
  if (cx == 1)
    return y;
  return cy == 1 ? x : Value(arith::MulIOp::create(b, x, y));
}

Value LaneAccess::divIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy && *cy != 0)
    return index(*cx / *cy);
  return cy == 1 ? x : Value(arith::DivUIOp::create(b, x, y));
}

Value LaneAccess::remIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy && *cy != 0)
    return index(*cx % *cy);
  return cy == 1 ? index(0) : Value(arith::RemUIOp::create(b, x, y));
}

bool LaneAccess::alignedToLanes(Value v) const {
  if (aligned.contains(v))
    return true;
  if (auto constant = getConstantIntValue(v))
    return *constant % numLanes == 0;
  if (auto sum = v.getDefiningOp<arith::AddIOp>())
    return alignedToLanes(sum.getLhs()) && alignedToLanes(sum.getRhs());
  if (auto product = v.getDefiningOp<arith::MulIOp>())
    return alignedToLanes(product.getLhs()) || alignedToLanes(product.getRhs());
  if (auto rest = v.getDefiningOp<arith::RemUIOp>())
    return alignedToLanes(rest.getLhs()) && alignedToLanes(rest.getRhs());
  return false;
}

bool LaneAccess::placedForLanes(Value linear) const {
  if (alignedToLanes(linear))
    return true;
  LinearForm form;
  form.add(linear, 1, Value());
  return form.constant % int64_t(numLanes) == 0 && llvm::all_of(form.terms, [&](auto term) {
           return term.second % int64_t(numLanes) == 0 || alignedToLanes(term.first);
         });
}

std::optional<std::pair<Value, int64_t>> LaneAccess::quotient(Value v, int64_t divisor) {
  int64_t rest = 0;
  while (auto sum = v.getDefiningOp<arith::AddIOp>()) {
    auto more = getConstantIntValue(sum.getRhs());
    if (!more)
      return std::nullopt;
    rest += *more;
    v = sum.getLhs();
  }
  auto product = v.getDefiningOp<arith::MulIOp>();
  if (!product || getConstantIntValue(product.getRhs()) != divisor)
    return std::nullopt;
  int64_t whole = llvm::divideFloorSigned(rest, divisor);
  return std::pair(addIndex(product.getLhs(), index(whole)), rest - whole * divisor);
}

std::optional<std::pair<int64_t, int64_t>> LaneAccess::rangeOf(const Coord &c) const {
  if (c.vector)
    return std::nullopt;
  if (auto first = getConstantIntValue(c.base)) {
    int64_t last = *first + c.step * (int64_t(numLanes) - 1);
    return std::pair(std::min(*first, last), std::max(*first, last) + 1);
  }
  if (ranges.empty())
    return std::nullopt;
  LinearForm form;
  form.add(c.base, 1, Value());
  if (form.terms.size() != 1)
    return std::nullopt;
  auto [index, factor] = form.terms[0];
  auto known = ranges.find(index);
  bool follows = numLanes == 1 || c.step == factor || c.step == 0; // 0: the point itself
  if (known == ranges.end() || factor == 0 || !follows)
    return std::nullopt;
  auto [low, high] = known->second;
  int64_t first = form.constant + factor * low, last = form.constant + factor * (high - 1);
  return std::pair(std::min(first, last), std::max(first, last) + 1);
}

Value LaneAccess::splat(Value scalar, unsigned n) {
  return vector::BroadcastOp::create(b, VectorType::get({n}, scalar.getType()), scalar);
}

Value LaneAccess::coordValue(const Coord &c) {
  if (c.vector)
    return c.vector;
  if (c.step == 0 || numLanes == 1)
    return c.base;
  SmallVector<int64_t> steps;
  for (unsigned i = 0; i < numLanes; ++i)
    steps.push_back(i * c.step);
  auto type = VectorType::get({numLanes}, b.getIndexType());
  Value lanes = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(steps)));
  return arith::AddIOp::create(b, splat(c.base, numLanes), lanes);
}

Coord LaneAccess::addCoord(const Coord &c, Value offset) {
  if (c.vector) {
    Value sum = arith::AddIOp::create(b, c.vector, splat(offset, numLanes));
    return Coord::any(keepWindow(c.vector, offset, sum));
  }
  return Coord::affine(addIndex(c.base, offset), c.step);
}

Coord LaneAccess::scaleCoord(const Coord &c, int64_t factor) {
  if (factor == 1)
    return c;
  if (c.vector)
    return Coord::any(arith::MulIOp::create(b, c.vector, splat(index(factor), numLanes)));
  return Coord::affine(mulIndex(c.base, index(factor)), c.step * factor);
}

Value LaneAccess::widen(Value x, bool vector) {
  return vector && !isa<VectorType>(x.getType()) ? splat(x, numLanes) : x;
}

Value LaneAccess::andMasks(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  bool vector = isa<VectorType>(x.getType()) || isa<VectorType>(y.getType());
  return arith::AndIOp::create(b, widen(x, vector), widen(y, vector));
}

/// Row-major position: sum of index times stride, affine wherever it can be.
Coord LaneAccess::linearIndex(ValueRange extents, ArrayRef<Coord> at) {
  Coord sum = Coord::uniform(index(0));
  Value stride = index(1);
  for (int64_t i = static_cast<int64_t>(at.size()) - 1; i >= 0; --i) {
    const Coord &c = at[i];
    auto known = getConstantIntValue(stride);
    if (!c.vector && (c.step == 0 || known)) {
      Value part = mulIndex(c.base, stride);
      int64_t step = c.step * known.value_or(0);
      if (sum.vector) {
        Coord term = Coord::affine(part, step);
        sum = step == 0 ? addCoord(sum, part)
                        : Coord::any(arith::AddIOp::create(b, sum.vector, coordValue(term)));
      } else {
        sum.base = addIndex(sum.base, part);
        sum.step += step;
      }
    } else {
      Value term = arith::MulIOp::create(b, widen(coordValue(c), true), splat(stride, numLanes));
      Value so = widen(coordValue(sum), true);
      bool alone = c.vector && sum.isUniform() && known == 1;
      Value all = arith::AddIOp::create(b, so, term);
      sum = Coord::any(alone ? keepWindow(c.vector, sum.base, all) : all);
    }
    stride = mulIndex(stride, extents[i]);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value LaneAccess::pointerAt(const Memory &memory, Value linear) {
  Type element = storageType(memory.elementType);
  Type pointer = memory.pointer.getType();
  Value offset = arith::IndexCastOp::create(b, likeType(b.getI64Type(), linear), linear);
  return LLVM::GEPOp::create(b, likeType(pointer, linear), element, memory.pointer,
                             ArrayRef<LLVM::GEPArg>{offset}, LLVM::GEPNoWrapFlags::inbounds);
}

unsigned LaneAccess::alignmentAt(const Memory &memory, Value base) const {
  unsigned element =
      std::max<unsigned>(1, storageType(memory.elementType).getIntOrFloatBitWidth() / 8);
  bool whole = numLanes > 1 && memory.alignment > element && placedForLanes(base);
  return whole ? std::min(memory.alignment, element * numLanes) : element;
}

Value LaneAccess::loadLinear(const Memory &memory, const Coord &linear) {
  Type element = storageType(memory.elementType);
  auto vectorType = VectorType::get({numLanes}, element);
  unsigned align = std::max<unsigned>(1, element.getIntOrFloatBitWidth() / 8);
  if (recorder)
    return recordPlace(memory, linear);
  if (linear.isUniform() || numLanes == 1) {
    Value v = LLVM::LoadOp::create(
        b, element, pointerAt(memory, linear.base ? linear.base : linear.vector), align);
    return fromStorage(b, v, memory.elementType);
  }
  if (!linear.vector && linear.step == 1) {
    Value pointer = pointerAt(memory, linear.base);
    Value v =
        mask
            ? maskedLoad(vectorType, pointer, align)
            : Value(LLVM::LoadOp::create(b, vectorType, pointer, alignmentAt(memory, linear.base)));
    return fromStorage(b, v, memory.elementType);
  }
  if (Value v = loadStrided(memory, linear))
    return fromStorage(b, v, memory.elementType);
  if (Value v = loadFromWindow(memory, linear))
    return fromStorage(b, v, memory.elementType);
  return fromStorage(b, gather(memory, linear), memory.elementType);
}

/// Halves as integers: without an instruction for it LLVM loads each lane, and computes to insert
/// a bf16.
Value LaneAccess::maskedLoad(VectorType type, Value pointer, unsigned align) {
  bool halves = type.getElementType().isF16() || type.getElementType().isBF16();
  VectorType loaded = halves ? type.clone(b.getI16Type()) : type;
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(loaded)));
  Value v = LLVM::MaskedLoadOp::create(b, loaded, pointer, mask, zero, b.getI32IntegerAttr(align));
  return halves ? Value(arith::BitcastOp::create(b, type, v)) : v;
}

/// As stored, lane by lane.
Value LaneAccess::gather(const Memory &memory, const Coord &linear) {
  Type element = storageType(memory.elementType);
  auto vectorType = VectorType::get({numLanes}, element);
  unsigned align = std::max<unsigned>(1, element.getIntOrFloatBitWidth() / 8);
  Value pointers = pointerAt(memory, coordValue(linear));
  Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(vectorType)));
  Value lanesMask =
      mask ? mask
           : Value(arith::ConstantOp::create(
                 b, DenseElementsAttr::get(VectorType::get({numLanes}, b.getI1Type()), true)));
  return LLVM::masked_gather::create(b, vectorType, pointers, lanesMask, zero,
                                     b.getI32IntegerAttr(align));
}

/// Stands for a load while readingOf looks where it would be.
Value LaneAccess::recordPlace(const Memory &memory, const Coord &linear) {
  Type element = storageType(memory.elementType);
  bool one = numLanes == 1 || linear.isUniform();
  Type type = one ? element : Type(VectorType::get({numLanes}, element));
  Value v = fromStorage(b, LLVM::PoisonOp::create(b, type), memory.elementType);
  bool run = numLanes == 1 || (!linear.vector && linear.step == 1);
  recorder->reading.neighbours &= run || one;
  if (run && !mask) {
    recorder->reading.place = {pointerAt(memory, linear.base), alignmentAt(memory, linear.base),
                               memory.elementType};
    recorder->read = v;
  }
  return v;
}

std::optional<LaneAccess::Place> LaneAccess::placeOf(const Memory &memory, ArrayRef<Coord> at) {
  Coord linear = linearIndex(memory.extents, at);
  if (linear.vector || linear.step != 1)
    return std::nullopt;
  return Place{pointerAt(memory, linear.base), alignmentAt(memory, linear.base),
               memory.elementType};
}

Value LaneAccess::load(const Memory &memory, ArrayRef<Coord> at) {
  if (Value row = loadFromRows(memory, at))
    return row;
  return loadLinear(memory, linearIndex(memory.extents, at));
}

void LaneAccess::store(const Memory &memory, ArrayRef<Coord> at, Value element) {
  Coord linear = linearIndex(memory.extents, at);
  unsigned align =
      std::max<unsigned>(1, storageType(memory.elementType).getIntOrFloatBitWidth() / 8);
  bool vector = numLanes > 1 && !linear.isUniform();
  Value v = toStorage(b, widen(element, vector), memory.elementType);
  if (vector && mask && !linear.vector && linear.step == 1) {
    LLVM::MaskedStoreOp::create(b, v, pointerAt(memory, linear.base), mask,
                                b.getI32IntegerAttr(align));
    return;
  }
  if (!vector || (!linear.vector && linear.step == 1)) {
    LLVM::StoreOp::create(b, v, pointerAt(memory, linear.base ? linear.base : linear.vector),
                          vector ? alignmentAt(memory, linear.base) : align);
    return;
  }
  auto maskType = VectorType::get({numLanes}, b.getI1Type());
  Value all =
      mask ? mask : Value(arith::ConstantOp::create(b, DenseElementsAttr::get(maskType, true)));
  LLVM::masked_scatter::create(b, v, pointerAt(memory, coordValue(linear)), all,
                               b.getI32IntegerAttr(align));
}
