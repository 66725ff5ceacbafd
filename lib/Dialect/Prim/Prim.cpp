#include "tcc/Dialect/Prim/Prim.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc::prim;

#include "tcc/Dialect/Prim/PrimDialect.cpp.inc"
#include "tcc/Dialect/Prim/PrimEnums.cpp.inc"
#include "tcc/Dialect/Prim/PrimInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Prim/PrimAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Prim/PrimOps.cpp.inc"

void PrimDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tcc/Dialect/Prim/PrimAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tcc/Dialect/Prim/PrimOps.cpp.inc"
      >();
}

Operation *PrimDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                            Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value); elements && isa<RankedTensorType>(type))
    return ConstantOp::create(builder, loc, type, elements);
  if (isa<IndexType, IntegerType, FloatType>(type))
    return arith::ConstantOp::create(builder, loc, type, cast<TypedAttr>(value));
  return nullptr;
}

bool tcc::prim::isElementwise(Operation *op) {
  return isa<PrimDialect>(op->getDialect()) && op->hasTrait<OpTrait::Elementwise>();
}

StorageLayout tcc::prim::layoutOf(RankedTensorType type) {
  return dyn_cast_if_present<StorageLayout>(type.getEncoding());
}

RankedTensorType tcc::prim::storedType(RankedTensorType type) {
  StorageLayout layout = layoutOf(type);
  return layout
             ? RankedTensorType::get(layout.getStorageShape(type.getShape()), type.getElementType())
             : type;
}

Type tcc::prim::elementType(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::F32:
    return b.getF32Type();
  case DType::F64:
    return b.getF64Type();
  case DType::F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case DType::F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case DType::F8E5M2:
    return Float8E5M2Type::get(context);
  case DType::F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case DType::F8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case DType::F4E2M1FN:
    return Float4E2M1FNType::get(context);
  case DType::I2:
  case DType::I4:
  case DType::I8:
  case DType::I16:
  case DType::I32:
  case DType::I64:
    return b.getIntegerType(bitWidth(dtype));
  case DType::U2:
  case DType::U4:
  case DType::U8:
  case DType::U16:
  case DType::U32:
  case DType::U64:
    return b.getIntegerType(bitWidth(dtype), /*isSigned=*/false);
  case DType::Bool:
    return b.getI1Type();
  case DType::C64:
    return ComplexType::get(b.getF32Type());
  case DType::C128:
    return ComplexType::get(b.getF64Type());
  }
  llvm_unreachable("all element types are handled above");
}

std::optional<tcc::DType> tcc::prim::dtypeOf(Type type) {
  for (unsigned i = 0; i <= static_cast<unsigned>(DType::C128); ++i)
    if (elementType(type.getContext(), static_cast<DType>(i)) == type)
      return static_cast<DType>(i);
  return std::nullopt;
}
