//===- RowParts.cpp - What kernels of rows are put together from ----------===//
#include "RowParts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "tcc/Codegen/Common/RowStages.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;
using namespace tcc::codegen::device;

bool RowWalk::pays(ValueRange extents) {
  return extents.size() > 1 && llvm::any_of(extents.drop_front(), [](Value extent) {
           return !getConstantIntValue(extent);
         });
}

RowWalk::RowWalk(KernelFrame &f, ValueRange extents, Value apart) : f(f) {
  // Rows without any elements are walked as well, by no steps.
  for (Value extent : extents)
    this->extents.push_back(getConstantIntValue(extent)
                                ? extent
                                : Value(arith::MaxUIOp::create(f.b, extent, f.e.index(1))));
  step = at(apart);
}

SmallVector<Value> RowWalk::at(Value index) const { return f.delinearize(index, extents); }

SmallVector<Value> RowWalk::next(ValueRange place) const {
  SmallVector<Value> next(place);
  Value carry = f.e.index(0);
  for (size_t axis = place.size(); axis-- > 0;) {
    Value sum = f.e.addIndex(f.e.addIndex(place[axis], step[axis]), carry);
    if (axis == 0) {
      next[axis] = sum;
      break;
    }
    Value fits = f.less(sum, extents[axis]);
    next[axis] = arith::SelectOp::create(f.b, fits, sum, f.e.subIndex(sum, extents[axis]));
    carry = arith::SelectOp::create(f.b, fits, f.e.index(0), f.e.index(1));
  }
  return next;
}

Value device::foldLanes(ImplicitLocOpBuilder &b, Value v, prim::ReduceOp reduce) {
  auto vector = dyn_cast<VectorType>(v.getType());
  if (!vector)
    return v;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < vector.getDimSize(0); ++i)
    parts.push_back(vector::ExtractOp::create(b, v, i));
  Type e = tensorType(reduce.getX()).getElementType();
  for (; parts.size() > 1; parts.resize(parts.size() / 2))
    for (size_t i = 0, half = parts.size() / 2; i < half; ++i)
      parts[i] = emitCombine(b, reduce.getKind(), e, parts[i], parts[i + half]);
  return parts[0];
}

Value device::reduceBlock(KernelFrame &f, Value v, prim::ReduceOp reduce, Value lane,
                          unsigned threads, const Twine &name) {
  ImplicitLocOpBuilder &b = f.b;
  Type e = tensorType(reduce.getX()).getElementType();
  unsigned warps = threads / GpuArch::warp;
  Type stored = f.asStored(v.getType());
  Value partials = f.shared(stored, warps, name.str());
  Value inWarp = f.e.remIndex(lane, f.e.index(GpuArch::warp));
  Value warp = f.e.divIndex(lane, f.e.index(GpuArch::warp));
  Value zero = f.e.index(0);
  Value leads = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, inWarp, zero);
  f.when(leads, [&] { LLVM::StoreOp::create(b, f.asStored(v), f.at(partials, stored, warp)); });
  f.barrier();
  Value slot = f.e.remIndex(inWarp, f.e.index(warps));
  Value read = LLVM::LoadOp::create(b, stored, f.at(partials, stored, slot));
  Value part = f.asComputed(read, v.getType());
  for (unsigned distance = warps / 2; distance; distance /= 2)
    part = emitCombine(b, reduce.getKind(), e, part, exchangeLanes(b, part, distance));
  return part;
}
