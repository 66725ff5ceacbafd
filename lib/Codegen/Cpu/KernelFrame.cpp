#include "KernelFrame.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// Reads the kernel's arguments one after the other.
class ArgumentReader {
public:
  ArgumentReader(ImplicitLocOpBuilder &b, Value args) : b(b), args(args) {}

  Value word(Type type) {
    Value at = LLVM::GEPOp::create(b, args.getType(), b.getI64Type(), args,
                                   ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(next++)});
    auto load = LLVM::LoadOp::create(b, type, at, 8);
    load.setInvariant(true);
    return load;
  }
  Value scalar(Type type) {
    if (isa<FloatType>(type)) {
      Value bits = word(b.getI64Type());
      Type narrow = b.getIntegerType(type.getIntOrFloatBitWidth());
      if (narrow != bits.getType())
        bits = arith::TruncIOp::create(b, narrow, bits);
      return arith::BitcastOp::create(b, type, bits);
    }
    Value v = word(b.getI64Type());
    if (type.isIndex())
      return arith::IndexCastOp::create(b, type, v);
    return type.isInteger(64) ? v : Value(arith::TruncIOp::create(b, type, v));
  }
  Memory tensor(RankedTensorType type) {
    Memory memory{word(LLVM::LLVMPointerType::get(b.getContext())), {}, type.getElementType()};
    for (int64_t d : type.getShape())
      memory.extents.push_back(ShapedType::isDynamic(d)
                                   ? scalar(b.getIndexType())
                                   : Value(arith::ConstantIndexOp::create(b, d)));
    return memory;
  }

private:
  ImplicitLocOpBuilder &b;
  Value args;
  unsigned next = 0;
};

} // namespace

KernelFrame::KernelFrame(kernel::LaunchOp launch, func::FuncOp function, const CpuTarget &cpu)
    : launch(launch), function(function), cpu(cpu), b(launch.getLoc(), launch.getContext()),
      e(b, 1) {
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  begin = entry->getArgument(1);
  end = entry->getArgument(2);
  ArgumentReader reader(b, entry->getArgument(0));
  for (BlockArgument argument : launch.getBody().getArguments()) {
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      e.bindMemory(argument, reader.tensor(type));
    else
      e.bindScalar(argument, reader.scalar(argument.getType()));
  }
  for (Type type : launch.getResultTypes())
    results.push_back(reader.tensor(cast<RankedTensorType>(type)));
}

void KernelFrame::loop(Value low, Value high, int64_t step, function_ref<void(Value)> body) {
  auto loopOp = scf::ForOp::create(b, low, high, e.index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loopOp.getBody());
  e.nested([&] { body(loopOp.getInductionVar()); });
}

void KernelFrame::vectorLoop(Value low, Value high, unsigned lanes, bool lowAligned,
                             function_ref<void(Value)> body) {
  Value middle = low;
  if (lanes > 1) {
    Value n = e.index(lanes), length = e.subIndex(high, low);
    middle = e.addIndex(low, e.mulIndex(e.divIndex(length, n), n));
    e.setLanes(lanes);
    loop(low, middle, lanes, [&](Value i) {
      if (lowAligned)
        e.bindAligned(i);
      body(i);
    });
    e.setLanes(1);
  }
  auto cl = getConstantIntValue(middle), ch = getConstantIntValue(high);
  if (cl && ch && *cl == *ch)
    return;
  loop(middle, high, 1, body);
}

SmallVector<Value> KernelFrame::delinearize(Value linear, ValueRange extents) {
  SmallVector<Value> indices(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    if (i == 0) {
      indices[i] = linear;
      break;
    }
    indices[i] = e.remIndex(linear, extents[i]);
    linear = e.divIndex(linear, extents[i]);
  }
  return indices;
}

Value KernelFrame::minIndex(Value x, Value y) {
  auto cx = getConstantIntValue(x), cy = getConstantIntValue(y);
  if (cx && cy)
    return e.index(std::min(*cx, *cy));
  return arith::MinSIOp::create(b, x, y);
}

unsigned tcc::codegen::lanesFor(unsigned most, int64_t extent) {
  unsigned lanes = most;
  if (ShapedType::isDynamic(extent))
    return lanes;
  while (lanes > 1 && extent < lanes)
    lanes /= 2;
  return lanes < 4 ? 1 : lanes;
}

int64_t tcc::codegen::pointsAfter(RankedTensorType type, unsigned axis) {
  int64_t points = 1;
  for (int64_t extent : type.getShape().drop_front(std::min<size_t>(axis + 1, type.getRank())))
    points *= extent;
  return points;
}
