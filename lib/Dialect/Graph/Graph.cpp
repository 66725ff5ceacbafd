#include "tcc/Dialect/Graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc::graph;

#include "tcc/Dialect/Graph/GraphDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Graph/GraphAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "tcc/Dialect/Graph/GraphTypes.cpp.inc"
#define GET_OP_CLASSES
#include "tcc/Dialect/Graph/GraphOps.cpp.inc"

void GraphDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tcc/Dialect/Graph/GraphAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "tcc/Dialect/Graph/GraphTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "tcc/Dialect/Graph/GraphOps.cpp.inc"
      >();
}

Attribute NodeOp::attr(StringRef name) {
  DictionaryAttr dict = getAttrsAttr();
  return dict ? dict.get(name) : Attribute();
}

Region *NodeOp::body(StringRef name) {
  if (ArrayAttr names = getRegionNamesAttr())
    for (auto [attr, region] : llvm::zip(names, getBodies()))
      if (cast<StringAttr>(attr).getValue() == name)
        return &region;
  return nullptr;
}

LogicalResult NodeOp::verify() {
  size_t names = getRegionNamesAttr() ? getRegionNamesAttr().size() : 0;
  if (names != getBodies().size())
    return emitOpError("has ") << getBodies().size() << " subgraphs but " << names
                               << " names for them";
  if (ArrayAttr outs = getOutsAttr(); outs && outs.size() != getNumResults())
    return emitOpError("has ") << getNumResults() << " results but " << outs.size()
                               << " names for them";
  return success();
}
