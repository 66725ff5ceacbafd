//===- PackedSequence.cpp - Sequences of unknown length -------------------===//
//
// A record of the table is (begin, extents ..., 1 ...), of one width for every
// rank: so an empty sequence has a table before it is known what it will hold.
// The elements are kept in the sequence's order: its concatenation along the
// first axis is a reshape.
//
//===----------------------------------------------------------------------===//
#include "Decompose/Onnx/PackedSequence.h"
#include "Decompose/Onnx/Operands.h"

using namespace mlir;
using namespace tcc;
using Cmp = arith::CmpIPredicate;
using K = prim::ReduceKind;

static constexpr int64_t kMaxRank = 8, kRecord = kMaxRank + 1;

static Lowered packedFrom(Value flat, Value table, ShapedType holds) {
  Lowered list = Lowered::sequence({Lowered::tensor(flat), Lowered::tensor(table)});
  list.elementType = holds;
  return list;
}

static Value flatOf(const Lowered &list) { return list.elements[0].value; }
static Value tableOf(const Lowered &list) { return list.elements[1].value; }
static ShapedType held(const Lowered &list) { return cast<ShapedType>(list.elementType); }

/// The type of tensors of which only the rank is known.
static ShapedType ofRank(int64_t rank, Type elementType) {
  return RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), elementType);
}

bool tcc::isPacked(const Lowered &list) {
  return list.kind == Lowered::Kind::Sequence && isa_and_nonnull<ShapedType>(list.elementType);
}

bool tcc::canPack(PrimBuilder &b, const Lowered &list) {
  if (isPacked(list))
    return true;
  if (list.kind != Lowered::Kind::Sequence || (list.elements.empty() && !list.elementType))
    return false;
  return llvm::all_of(list.elements, [&](const Lowered &element) {
    const Lowered &first = list.elements.front();
    return element.kind == Lowered::Kind::Tensor && b.rank(element.value) <= kMaxRank &&
           b.rank(element.value) == b.rank(first.value) &&
           b.elem(element.value) == b.elem(first.value);
  });
}

Lowered tcc::packed(PrimBuilder &b, const Lowered &list) {
  if (isPacked(list))
    return list;
  Type elementType = list.elements.empty() ? list.elementType : b.elem(list.elements.front().value);
  Lowered result = packedFrom(b.full({b.dim(0)}, 0, elementType),
                              b.full({b.dim(0)}, 0, b.builder().getI64Type()),
                              UnrankedTensorType::get(elementType));
  for (const Lowered &element : list.elements)
    result = *packedAppend(b, result, element.value);
  return result;
}

Lowered tcc::packedParts(PrimBuilder &b, Value x, int64_t axis, Dim size, bool drop) {
  Type index = b.builder().getI64Type();
  int64_t rank = b.rank(x);
  Dims part = b.dims(x);
  Dim extent = part[axis];
  part[axis] = size;
  Dim count = b.ceilDivDims(extent, size);
  Value start = b.mul(b.iota({count}, 0, index), scalarOf(b, size, index));
  Value have = b.minimum(b.sub(scalarOf(b, extent, index), start), scalarOf(b, size, index));
  part[axis] = b.dim(1);
  Value begin = b.mul(start, scalarOf(b, b.productOf(part), index));
  SmallVector<Value> columns = {begin};
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      columns.push_back(b.full({count}, scalarOf(b, part[i], index)));
    else if (!drop)
      columns.push_back(have);
  while (static_cast<int64_t>(columns.size()) < kRecord)
    columns.push_back(b.full({count}, 1, index));
  for (Value &column : columns)
    column = b.unsqueeze(column, {1});
  SmallVector<int64_t> order = {axis};
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis)
      order.push_back(i);
  Value flat = b.reshape(axis == 0 ? x : b.transpose(x, order), {b.productOf(b.dims(x))});
  Value table = b.reshape(b.concat(columns, 1), {b.mulDims(count, b.dim(kRecord))});
  return packedFrom(flat, table, ofRank(rank - drop, b.elem(x)));
}

Dim tcc::packedLength(PrimBuilder &b, const Lowered &list) {
  return b.floorDivDims(b.dim(tableOf(list), 0), b.dim(kRecord));
}

std::optional<Lowered> tcc::packedAppend(PrimBuilder &b, const Lowered &list, Value x) {
  int64_t rank = b.rank(x);
  ShapedType holds = ofRank(rank, b.elem(x));
  if (rank > kMaxRank || b.elem(x) != held(list).getElementType() ||
      (held(list).hasRank() && held(list) != holds))
    return std::nullopt;
  Dims record = b.dims(x);
  Value flat = b.reshape(x, {b.productOf(record)});
  record.insert(record.begin(), b.dim(flatOf(list), 0));
  record.resize(kRecord, b.dim(1));
  Value row = b.fromHost(record, {kRecord}, b.builder().getI64Type());
  return packedFrom(b.concat({flatOf(list), flat}, 0), b.concat({tableOf(list), row}, 0), holds);
}

/// `position` counted from the front, which a run finds below `end`.
static Dim countedWithin(PrimBuilder &b, Dim position, Dim length, Dim end) {
  Dim counted = b.selectDims(b.compareDims(Cmp::slt, position, b.dim(0)),
                             b.addDims(position, length), position);
  b.check(
      b.andDims(b.compareDims(Cmp::sge, counted, b.dim(0)), b.compareDims(Cmp::slt, counted, end)),
      "the position is outside of the sequence");
  return counted;
}

static Dims recordAt(PrimBuilder &b, const Lowered &list, Dim position) {
  return b.readElements(
      b.sliceAxis(tableOf(list), 0, b.mulDims(position, b.dim(kRecord)), b.dim(kRecord)));
}

/// Tensors `from` up to `to` of the sequence, whose elements lie from `begin` up to `end`, moved on
/// by `shift` elements.
static Lowered packedPart(PrimBuilder &b, const Lowered &list, Dim from, Dim to, Dim begin, Dim end,
                          Dim shift) {
  Dim count = b.subDims(to, from), width = b.dim(kRecord);
  Dims moved = {shift};
  moved.resize(kRecord, b.dim(0));
  Value rows = b.sliceAxis(tableOf(list), 0, b.mulDims(from, width), b.mulDims(count, width));
  rows = b.add(b.reshape(rows, {count, width}),
               b.fromHost(moved, {1, kRecord}, b.builder().getI64Type()));
  return packedFrom(b.sliceAxis(flatOf(list), 0, begin, b.subDims(end, begin)),
                    b.reshape(rows, {b.mulDims(count, width)}), held(list));
}

static Lowered packedJoined(PrimBuilder &b, ArrayRef<Lowered> parts, ShapedType holds) {
  SmallVector<Value> flats, tables;
  for (const Lowered &part : parts) {
    flats.push_back(flatOf(part));
    tables.push_back(tableOf(part));
  }
  return packedFrom(b.concat(flats, 0), b.concat(tables, 0), holds);
}

FailureOr<Lowered> tcc::packedInsert(NodeContext &c, const Lowered &list, Value x, Dim position) {
  PrimBuilder &b = c.b;
  auto longer = packedAppend(b, list, x);
  if (!longer)
    return c.fail("the elements differ in rank or type");
  Dim length = packedLength(b, list), all = b.dim(flatOf(list), 0), zero = b.dim(0);
  Dim at = countedWithin(b, position, length, b.addDims(length, b.dim(1)));
  // Behind the last the tensor that was appended begins.
  Dim begin = recordAt(b, *longer, at)[0], size = b.productOf(b.dims(x));
  Lowered alone = packedPart(b, *longer, length, b.addDims(length, b.dim(1)), all,
                             b.addDims(all, size), b.subDims(begin, all));
  return packedJoined(b,
                      {packedPart(b, list, zero, at, zero, begin, zero), alone,
                       packedPart(b, list, at, length, begin, all, size)},
                      held(*longer));
}

FailureOr<Lowered> tcc::packedErase(NodeContext &c, const Lowered &list, Dim position) {
  PrimBuilder &b = c.b;
  if (!held(list).hasRank())
    return c.fail("erases from a sequence before anything is in it");
  Dim length = packedLength(b, list), zero = b.dim(0);
  Dim at = countedWithin(b, position, length, length);
  Dims record = recordAt(b, list, at);
  Dim begin = record[0];
  Dim size = b.productOf(ArrayRef<Dim>(record).slice(1, held(list).getRank()));
  return packedJoined(b,
                      {packedPart(b, list, zero, at, zero, begin, zero),
                       packedPart(b, list, b.addDims(at, b.dim(1)), length, b.addDims(begin, size),
                                  b.dim(flatOf(list), 0), b.subDims(zero, size))},
                      held(list));
}

FailureOr<Value> tcc::packedAt(NodeContext &c, const Lowered &list, Dim position) {
  PrimBuilder &b = c.b;
  if (!held(list).hasRank())
    return c.fail("reads a sequence before anything is in it");
  Dim length = packedLength(b, list);
  Dims record = recordAt(b, list, countedWithin(b, position, length, length));
  ArrayRef<Dim> extents = ArrayRef<Dim>(record).slice(1, held(list).getRank());
  return b.reshape(b.sliceAxis(flatOf(list), 0, record[0], b.productOf(extents)), extents);
}

/// The extents that all tensors of the sequence have, from axis `first` on; a run
/// in which they differ stops.
static Dims commonExtents(PrimBuilder &b, const Lowered &list, Value records, int64_t first) {
  Dims extents;
  for (int64_t i = first; i < held(list).getRank(); ++i) {
    Value column = b.sliceAxis(records, 1, b.dim(1 + i), b.dim(1));
    Dim most = b.readElements(b.reduce(K::max, column, {0, 1}, false))[0];
    Dim least = b.readElements(b.reduce(K::min, column, {0, 1}, false))[0];
    b.check(b.compareDims(Cmp::eq, most, least), "the sequence's tensors do not fit together");
    extents.push_back(most);
  }
  return extents;
}

FailureOr<Value> tcc::packedConcat(NodeContext &c, const Lowered &list, int64_t axis,
                                   bool newAxis) {
  PrimBuilder &b = c.b;
  if (!held(list).hasRank())
    return c.fail("there is nothing to concatenate");
  auto at = axisWithin(c, axis, held(list).getRank() + newAxis);
  if (failed(at))
    return failure();
  Dim length = packedLength(b, list);
  b.check(b.compareDims(Cmp::sgt, length, b.dim(0)), "there is nothing to concatenate");
  Value records = b.reshape(tableOf(list), {length, b.dim(kRecord)});
  if (!newAxis && *at == 0) { // extents along it may differ
    Dims extents = commonExtents(b, list, records, 1);
    Value column = b.sliceAxis(records, 1, b.dim(1), b.dim(1));
    extents.insert(extents.begin(), b.readElements(b.reduce(K::sum, column, {0, 1}, false))[0]);
    return b.reshape(flatOf(list), extents);
  }
  Dims extents = commonExtents(b, list, records, 0);
  Dims stacked = extents;
  stacked.insert(stacked.begin(), length);
  SmallVector<int64_t> order = axesFrom(1, held(list).getRank() + 1);
  order.insert(order.begin() + *at, 0);
  Value result = b.transpose(b.reshape(flatOf(list), stacked), order);
  if (newAxis)
    return result;
  extents[*at] = b.mulDims(length, extents[*at]);
  return b.reshape(result, extents);
}

std::optional<SmallVector<Value>> tcc::carried(ArrayRef<Lowered> list) {
  SmallVector<Value> values;
  for (const Lowered &l : list) {
    if (l.kind == Lowered::Kind::Tensor)
      values.push_back(l.value);
    else if (isPacked(l))
      values.append({flatOf(l), tableOf(l)});
    else
      return std::nullopt;
  }
  return values;
}

std::vector<Lowered> tcc::uncarried(ArrayRef<Lowered> like, ValueRange values) {
  std::vector<Lowered> list;
  for (const Lowered &l : like) {
    bool packs = isPacked(l);
    list.push_back(packs ? packedFrom(values[0], values[1], held(l)) : Lowered::tensor(values[0]));
    values = values.drop_front(packs ? 2 : 1);
  }
  return list;
}

bool tcc::mergeRanks(MutableArrayRef<Lowered> list, ArrayRef<Lowered> other) {
  if (list.size() != other.size())
    return false;
  for (auto [mine, theirs] : llvm::zip(list, other)) {
    if (isPacked(mine) != isPacked(theirs))
      return false;
    if (!isPacked(mine))
      continue;
    if (!held(mine).hasRank())
      mine.elementType = theirs.elementType;
    if (held(theirs).hasRank() && held(mine) != held(theirs))
      return false;
  }
  return true;
}
