//===- HostMemory.cpp - Memory of the host program ------------------------===//
//
// Memory of a host program as code: arguments from the frame, slices of arenas, blocks of the
// heap. Sizes that depend on the run are multiplied by the runtime, which tells an overflow from a
// large tensor.
//
//===----------------------------------------------------------------------===//
#include "HostEmitter.h"
#include "RuntimeLayout.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Signedness.h"
#include "tcc/Signature/Signature.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

static MemRefType typeOf(Value v) { return cast<MemRefType>(v.getType()); }

static bool onDevice(Type type) {
  if (auto arena = dyn_cast<host::ArenaType>(type))
    return arena.getSpace() == host::MemorySpace::device;
  return host::memorySpace(cast<MemRefType>(type)) == host::MemorySpace::device;
}

/// A word of the frame, read where the program starts.
Value HostEmitter::frameWord(int64_t offset) {
  Value &known = frameWords[offset];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfterValue(code.frame);
  return known = code.loadField(code.frame, offset, code.pointer);
}

Value HostEmitter::weightsIn(MemRefType type) {
  return frameWord(onDevice(type) ? kFrameDeviceWeights : kFrameWeights);
}

void HostEmitter::emitArena(host::ArenaOp op) {
  memory[op] = {frameWord(onDevice(op.getType()) ? kFrameDeviceArena : kFrameArena), {}};
}

SmallVector<Value, 2> HostEmitter::scalarsOf(ValueRange sizes) const {
  SmallVector<Value, 2> values;
  for (Value size : sizes)
    values.push_back(scalarOf(size));
  return values;
}

SmallVector<Value> HostEmitter::extents(Value v) {
  SmallVector<Value> all;
  const auto *open = memoryOf(v).open.begin();
  for (int64_t d : typeOf(v).getShape())
    all.push_back(ShapedType::isDynamic(d) ? *open++ : arith::ConstantIndexOp::create(b, d));
  return all;
}

Value HostEmitter::byteSize(Value v) {
  if (typeOf(v).hasStaticShape())
    return code.constant(tensorBytes(typeOf(v)));
  Value size = arith::ConstantIndexOp::create(b, elementBytes(typeOf(v).getElementType()));
  for (Value d : extents(v))
    size = arith::MulIOp::create(b, size, d);
  return code.toI64(size);
}

Value HostEmitter::dimsOnStack(ValueRange extents) {
  return code.onStack(llvm::map_to_vector(extents, [&](Value d) { return code.toI64(d); }));
}

void HostEmitter::emitAllocArena(host::AllocArenaOp op) {
  SmallVector<Value> extents;
  Value unit = code.constant(1);
  for (Value d : scalarsOf(op.getExtents())) {
    extents.push_back(code.toI64(d));
    unit = arith::MulIOp::create(b, unit, extents.back());
  }
  Value dims = code.onStack(extents);
  Value block = code.call(
      onDevice(op.getType()) ? "tcc_rt_device_alloc_tensor" : "tcc_rt_alloc_tensor", code.pointer,
      {code.frame, code.constant(op.getUnits()), code.constant(extents.size()), dims});
  memory[op] = {block, {unit}};
}

void HostEmitter::emitSlice(host::SliceOp op) {
  const Memory &in = memoryOf(op.getArena());
  auto offset = static_cast<int64_t>(op.getOffset());
  Value at;
  if (in.open.empty()) {
    at = code.offsetPointer(in.pointer, offset);
  } else {
    Value bytes = arith::MulIOp::create(b, in.open.front(), code.constant(offset));
    at = LLVM::GEPOp::create(b, code.pointer, b.getI8Type(), in.pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
  }
  memory[op] = {at, scalarsOf(op.getSizes())};
}

void HostEmitter::emitPart(host::PartOp op) {
  int64_t bytes = elementBytes(op.getResult().getType().getElementType());
  Value offset =
      arith::MulIOp::create(b, code.toI64(scalarOf(op.getPosition())), code.constant(bytes));
  memory[op] = {LLVM::GEPOp::create(b, code.pointer, b.getI8Type(), pointerOf(op.getMemory()),
                                    ArrayRef<LLVM::GEPArg>{offset}),
                {}};
}

/// The runtime multiplies sizes that depend on the run: they may overflow.
void HostEmitter::emitAlloc(host::AllocOp op) {
  MemRefType type = op.getResult().getType();
  if (type.hasStaticShape()) {
    Value bytes = code.constant(tensorBytes(type));
    StringRef function = onDevice(type) ? "tcc_rt_device_alloc" : "tcc_rt_alloc";
    memory[op] = {code.call(function, code.pointer, {code.frame, bytes}), {}};
    return;
  }
  Memory &block = memory[op] = {{}, scalarsOf(op.getSizes())};
  SmallVector<Value> all = extents(op);
  Value dims = dimsOnStack(all);
  block.pointer =
      code.call(onDevice(type) ? "tcc_rt_device_alloc_tensor" : "tcc_rt_alloc_tensor", code.pointer,
                {code.frame, code.constant(elementBytes(type.getElementType())),
                 code.constant(all.size()), dims});
}

void HostEmitter::emitFree(host::FreeOp op) {
  bool device = onDevice(op.getBlock().getType());
  code.callVoid(device ? "tcc_rt_device_free" : "tcc_rt_free",
                {code.frame, pointerOf(op.getBlock())});
}

void HostEmitter::emitOutput(host::OutputOp op) {
  Memory &output = memory[op] = {{}, scalarsOf(op.getSizes())};
  Value dims = dimsOnStack(extents(op));
  Value number = arith::ConstantOp::create(b, b.getI32IntegerAttr(op.getNumber()));
  output.pointer = code.call("tcc_rt_output", code.pointer, {code.frame, number, dims});
}

void HostEmitter::copyBytes(Value to, Value from, Value bytes, int32_t how) {
  Value direction = arith::ConstantOp::create(b, b.getI32IntegerAttr(how));
  code.callVoid("tcc_rt_copy", {code.frame, to, from, bytes, direction});
}

void HostEmitter::emitCopy(host::CopyOp op) {
  bool from = onDevice(op.getFrom().getType()), to = onDevice(op.getTo().getType());
  if (from || to)
    return copyBytes(pointerOf(op.getTo()), pointerOf(op.getFrom()), byteSize(op.getTo()),
                     from && to ? TCC_COPY_DEVICE
                     : to       ? TCC_COPY_IN
                                : TCC_COPY_OUT);
  constexpr int64_t kShort = 4096; // that are copied where they are
  auto type = typeOf(op.getTo());
  bool isShort = type.hasStaticShape() && tensorBytes(type) <= kShort;
  Value target = pointerOf(op.getTo()), source = pointerOf(op.getFrom()),
        bytes = byteSize(op.getTo());
  if (isShort)
    LLVM::MemcpyOp::create(b, target, source, bytes, /*isVolatile=*/false);
  else
    code.callVoid("tcc_rt_copy_host", {code.frame, target, source, bytes});
}

void HostEmitter::emitRead(host::ReadOp op) {
  Type e = typeOf(op.getMemory()).getElementType(), target = op.getType();
  Type stored = e.isInteger(1) ? b.getI8Type()
                : isa<IntegerType>(e)
                    ? Type(b.getIntegerType(std::max(8u, e.getIntOrFloatBitWidth())))
                    : e;
  auto position = static_cast<int64_t>(op.getPosition());
  Value at = code.offsetPointer(pointerOf(op.getMemory()), position * elementBytes(e));
  if (onDevice(op.getMemory().getType())) {
    Value here = code.onStack({code.constant(0), code.constant(0)});
    copyBytes(here, at, code.constant(elementBytes(e)), TCC_COPY_OUT);
    at = here;
  }
  Value v = LLVM::LoadOp::create(b, stored, at, elementBytes(e));
  if (target.isIndex()) {
    v = prim::isUnsigned(e) ? Value(arith::IndexCastUIOp::create(b, target, v))
                            : Value(arith::IndexCastOp::create(b, target, v));
  } else if (target.isInteger(1)) {
    Value zero = arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(stored)));
    v = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, v, zero);
  }
  scalars.map(op.getResult(), v);
}

/// Arguments are the caller's inputs, and the state that a context keeps between runs.
LogicalResult HostEmitter::bindArguments() {
  Value inputs = code.loadField(code.frame, kFrameInputs, code.pointer);
  unsigned next = 0;
  for (BlockArgument argument : program.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      return program.emitError("argument ") << argument.getArgNumber() << " is no tensor";
    StringRef initial = Signature(program).firstValue(argument.getArgNumber());
    if (!initial.empty()) {
      if (!type.hasStaticShape())
        return program.emitError("the size of the state '") << initial << "' is not known";
      Value state = frameWord(onDevice(type) ? kFrameDeviceState : kFrameState);
      memory[argument] = {code.offsetPointer(state, callbacks.stateOffset(initial)), {}};
      continue;
    }
    int64_t input = kTensorSize * next++;
    Memory given = {code.loadField(inputs, input + kTensorData, code.pointer), {}};
    Value dims = code.loadField(inputs, input + kTensorDims, code.pointer);
    for (int64_t axis = 0, e = type.getRank(); axis < e; ++axis)
      if (type.isDynamicDim(axis)) {
        Value d = code.loadField(dims, axis * kDimSize, code.i64);
        given.open.push_back(arith::IndexCastOp::create(b, b.getIndexType(), d));
      }
    memory[argument] = given;
  }
  return success();
}
