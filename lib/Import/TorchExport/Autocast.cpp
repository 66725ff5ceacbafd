//===- Autocast.cpp - Regions under torch.autocast ------------------------===//
//
// In a region under autocast torch casts what some operators are given: products
// are computed in the low precision, losses and the like in f32. The training
// dialect does not show the casts, but the metadata have the types after them:
//
//   - a low result of operands in f32: the operator is one of the former;
//   - an f32 result of low operands only: it is one of the latter.
//
// So no list of operators per device and release is needed. What takes its type
// from elsewhere (conversions, an explicit dtype, in-place operators) is left as
// it is, and so are normalizations, which have f32 weights beside low operands.
// One element takes no part in type promotion and says nothing.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/GraphImporter.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace tcc::torchexport {

static bool isLow(Type element) { return element.isF16() || element.isBF16(); }

/// Whether the types of operands and results of this operator say nothing about casts.
static bool typesApart(StringRef target) {
  StringRef op = target.split('.').first;
  return op.contains("norm") || inPlaceSemantics(target) ||
         llvm::StringSwitch<bool>(op)
             .Cases({"to", "_to_copy", "type_as", "copy", "_autocast_to_full_precision"}, true)
             .Cases({"_autocast_to_reduced_precision", "view", "result_type", "is_same_size"}, true)
             .Cases({"empty_like", "zeros_like", "ones_like", "full_like", "where"}, true)
             .Default(false);
}

void GraphImporter::castOperands(Draft &draft) {
  Attribute dtype = draft.attr("dtype");
  if (typesApart(draft.target) || (dtype && !isa<UnitAttr>(dtype)))
    return;
  Type result;
  for (Type type : draft.types)
    if (Type element = getElementTypeOrSelf(type); !result && (isLow(element) || element.isF32()))
      result = element;
  bool full = false, low = false;
  for (Value v : draft.operands) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (type && type.getRank() > 0) {
      full |= type.getElementType().isF32();
      low |= isLow(type.getElementType());
    }
  }
  if (!result || (isLow(result) ? !full : full || !low))
    return;
  auto name = b.getStringAttr(dtypeName(*prim::dtypeOf(result)));
  for (Value &v : draft.operands) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type || type.getElementType() == result ||
        !(isLow(type.getElementType()) || type.getElementType().isF32()))
      continue;
    v = makeAten(b, draft.loc, "_to_copy.default", v,
                 {b.getNamedAttr("self", graph::OperandAttr::get(b.getContext(), 0)),
                  b.getNamedAttr("dtype", name)},
                 type.clone(result))
            .getResult(0);
  }
}

} // namespace tcc::torchexport
