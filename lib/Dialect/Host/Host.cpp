//===- Host.cpp - The host dialect ---------------------------------------===//
//
// Code generation translates a host program operator by operator without a check of its own; what
// it relies on is verified here: places inside their arenas, sizes for every open extent, memory
// spaces that agree, and kernels that are given what they take.
//
//===----------------------------------------------------------------------===//
#include "tcc/Dialect/Host/Host.h"
#include "Runtime/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::host;

#include "tcc/Dialect/Host/HostDialect.cpp.inc"
#include "tcc/Dialect/Host/HostEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Host/HostAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "tcc/Dialect/Host/HostTypes.cpp.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Host/HostOps.cpp.inc"

void HostDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tcc/Dialect/Host/HostAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "tcc/Dialect/Host/HostTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tcc/Dialect/Host/HostOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool host::isCompact(MemRefType type) {
  Attribute space = type.getMemorySpace();
  return type.getLayout().isIdentity() && (!space || isa<MemorySpaceAttr>(space));
}

MemorySpace host::memorySpace(MemRefType type) {
  auto space = cast_or_null<MemorySpaceAttr>(type.getMemorySpace());
  return space ? space.getValue() : MemorySpace::host;
}

RankedTensorType host::tensorType(MemRefType type) {
  return RankedTensorType::get(type.getShape(), type.getElementType());
}

MemRefType host::memoryType(RankedTensorType type, MemorySpace space) {
  type = prim::storedType(type);
  Attribute attribute =
      space == MemorySpace::host ? Attribute() : MemorySpaceAttr::get(type.getContext(), space);
  return MemRefType::get(type.getShape(), type.getElementType(), MemRefLayoutAttrInterface(),
                         attribute);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// `sizes` must give exactly the dims of `type` that are `?`.
static LogicalResult verifySizes(Operation *op, ValueRange sizes, MemRefType type) {
  if (sizes.size() != type.getNumDynamicDims())
    return op->emitOpError("has ")
           << sizes.size() << " sizes for " << type.getNumDynamicDims() << " dims that are ?";
  return success();
}

static LogicalResult verifySpace(Operation *op, MemorySpace from, MemorySpace to) {
  if (from != to)
    return op->emitOpError("gives memory of space ")
           << stringifyMemorySpace(to) << " in space " << stringifyMemorySpace(from);
  return success();
}

LogicalResult AllocArenaOp::verify() {
  if (getExtents().empty())
    return emitOpError("needs an extent: an arena of known size is host.arena");
  return success();
}

LogicalResult SliceOp::verify() {
  MemRefType type = getResult().getType();
  constexpr int64_t alignment = TCC_ALIGNMENT;
  auto offset = static_cast<int64_t>(getOffset());
  if (failed(verifySpace(*this, getArena().getType().getSpace(), memorySpace(type))) ||
      failed(verifySizes(*this, getSizes(), type)))
    return failure();
  if (offset % alignment)
    return emitOpError("has offset ") << offset << ", which is no multiple of " << alignment;
  auto arena = getArena().getDefiningOp<ArenaOp>();
  if (!arena)
    return success();
  if (!type.hasStaticShape())
    return emitOpError("puts a tensor of unknown size in an arena of known size");
  if (offset + tensorBytes(type) > static_cast<int64_t>(arena.getBytes()))
    return emitOpError("ends at byte ")
           << offset + tensorBytes(type) << " of an arena of " << arena.getBytes() << " bytes";
  return success();
}

LogicalResult AllocOp::verify() { return verifySizes(*this, getSizes(), getResult().getType()); }

LogicalResult OutputOp::verify() { return verifySizes(*this, getSizes(), getResult().getType()); }

LogicalResult FreeOp::verify() {
  Value memory = getBlock();
  while (auto view = memory.getDefiningOp<ViewOp>())
    memory = view.getMemory();
  Operation *from = memory.getDefiningOp();
  if (isa_and_nonnull<ArenaOp, SliceOp, PartOp, OutputOp, WeightOp, ConstantOp, FlagOp>(from))
    return emitOpError("frees what '") << from->getName() << "' gave: it is no block of the heap";
  auto argument = dyn_cast<BlockArgument>(memory);
  if (argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return emitOpError("frees an argument of the model");
  return success();
}

LogicalResult WeightOp::verify() {
  if (!getResult().getType().hasStaticShape())
    return emitOpError("has unknown extents");
  return success();
}

LogicalResult ConstantOp::verify() {
  auto type = cast<ShapedType>(getElements().getType());
  MemRefType result = getResult().getType();
  if (type.getShape() != result.getShape() || type.getElementType() != result.getElementType())
    return emitOpError("gives elements of ") << type << " as " << result;
  return success();
}

LogicalResult ViewOp::verify() {
  MemRefType from = getMemory().getType(), to = getResult().getType();
  if (failed(verifySpace(*this, memorySpace(from), memorySpace(to))) ||
      failed(verifySizes(*this, getSizes(), to)))
    return failure();
  if (from.hasStaticShape() && to.hasStaticShape() && tensorBytes(to) > tensorBytes(from))
    return emitOpError("is larger than its memory: ")
           << tensorBytes(to) << " bytes of " << tensorBytes(from);
  return success();
}

LogicalResult PartOp::verify() {
  MemRefType from = getMemory().getType(), to = getResult().getType();
  if (failed(verifySpace(*this, memorySpace(from), memorySpace(to))) ||
      failed(verifySizes(*this, {}, to)))
    return failure();
  if (from.getElementType() != to.getElementType())
    return emitOpError("gives elements of ") << from.getElementType() << " as " << to;
  if (from.hasStaticShape() && tensorBytes(to) > tensorBytes(from))
    return emitOpError("is larger than its memory: ")
           << tensorBytes(to) << " bytes of " << tensorBytes(from);
  return success();
}

LogicalResult DimOp::verify() {
  auto axis = static_cast<int64_t>(getAxis());
  if (axis < 0 || axis >= getMemory().getType().getRank())
    return emitOpError("has no axis ") << axis << " in " << getMemory().getType();
  if (!getMemory().getType().isDynamicDim(axis))
    return emitOpError("asks for axis ") << axis << ", which is known in " << getMemory().getType();
  return success();
}

//===----------------------------------------------------------------------===//
// What is done
//===----------------------------------------------------------------------===//

LogicalResult CopyOp::verify() {
  MemRefType from = getFrom().getType(), to = getTo().getType();
  if (from.getElementType() != to.getElementType() ||
      failed(verifyCompatibleShape(from.getShape(), to.getShape())))
    return emitOpError("copies ") << from << " to " << to;
  return success();
}

LogicalResult ReadOp::verify() {
  MemRefType type = getMemory().getType();
  auto position = static_cast<int64_t>(getPosition());
  if (position < 0 || (type.hasStaticShape() && position >= type.getNumElements()))
    return emitOpError("has no element ") << position << " in " << type;
  return success();
}

LogicalResult FlagOp::verify() {
  MemRefType type = getResult().getType();
  if (!type.hasStaticShape() || type.getNumElements() != 1 || !type.getElementType().isInteger(1) ||
      memorySpace(type) != MemorySpace::pinned)
    return emitOpError("is no truth value that host and device share: ") << type;
  return success();
}

KernelOp LaunchOp::getKernelOp() {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
}

/// What a launch's operand is in memory, as a tensor.
static Type givenType(Type type) {
  auto memory = dyn_cast<MemRefType>(type);
  return memory ? tensorType(memory) : type;
}

/// The same of what a kernel takes.
static SmallVector<Type> storedTypes(TypeRange types) {
  return llvm::map_to_vector(types, [](Type type) -> Type {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? prim::storedType(tensor) : type;
  });
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("starts ") << getKernelAttr() << ", which is no host.kernel";
  SmallVector<Type> arguments, results;
  for (Type type : getInputs().getTypes())
    arguments.push_back(givenType(type));
  for (Type type : getOuts().getTypes()) {
    results.push_back(givenType(type));
    arguments.append(cast<MemRefType>(type).getNumDynamicDims(), IndexType::get(getContext()));
  }
  if (storedTypes(kernel.getBody().getArgumentTypes()) != arguments)
    return emitOpError("gives ") << getKernelAttr() << " (" << arguments << "), it takes ("
                                 << kernel.getBody().getArgumentTypes() << ")";
  TypeRange given = kernel.getBody().front().getTerminator()->getOperandTypes();
  if (given != TypeRange(results))
    return emitOpError("takes (") << results << ") from " << getKernelAttr() << ", it gives ("
                                  << given << ")";
  return success();
}

kernel::LaunchOp KernelOp::getKernelLaunch() {
  auto launches = getBody().getOps<kernel::LaunchOp>();
  return llvm::hasSingleElement(launches) ? *launches.begin() : kernel::LaunchOp();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (block.empty() || !isa<YieldOp>(block.back()))
    return emitOpError("must end with host.yield");
  if (block.getOps<kernel::LaunchOp>().empty())
    return emitOpError("has no kernel.launch");
  return success();
}
