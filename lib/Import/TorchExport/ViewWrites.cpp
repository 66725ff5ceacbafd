//===- ViewWrites.cpp - Writing through a view ----------------------------===//
//
// One case for each way of undoing a view (OpSemantics.h, WriteBack). What is
// made are ATen's own functional operators, `select_scatter` and the like, so
// that the decomposition rules need nothing special.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/Aliases.h"
#include "Import/TorchExport/OpSemantics.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;

namespace tcc::torchexport {

graph::NodeOp makeAten(OpBuilder &builder, Location loc, StringRef target, ValueRange operands,
                       ArrayRef<NamedAttribute> attrs, TypeRange results) {
  return graph::NodeOp::create(builder, loc, results, "aten", target, operands,
                               /*version=*/uint64_t(0), builder.getDictionaryAttr(attrs),
                               /*outs=*/ArrayAttr(),
                               /*regionNames=*/ArrayAttr(), /*bodiesCount=*/0);
}

namespace {

class ViewWriter {
public:
  ViewWriter(OpBuilder &b, graph::NodeOp view, unsigned operand, unsigned result, Value source,
             Value updated)
      : b(b), view(view), operand(operand), result(result), source(source), updated(updated) {}

  llvm::Expected<Value> run(WriteBack how);

private:
  Value make(StringRef target, ValueRange operands, ArrayRef<NamedAttribute> attrs) {
    return makeAten(b, view.getLoc(), target, operands, attrs, source.getType()).getResult(0);
  }
  NamedAttribute attr(StringRef name, Attribute value) { return b.getNamedAttr(name, value); }
  NamedAttribute attr(StringRef name, int64_t value) {
    return attr(name, b.getI64IntegerAttr(value));
  }
  NamedAttribute ref(StringRef name, unsigned index) {
    return attr(name, graph::OperandAttr::get(b.getContext(), index));
  }
  int64_t intArg(StringRef name, int64_t otherwise) {
    auto value = dyn_cast_or_null<IntegerAttr>(view.attr(name));
    return value ? value.getInt() : otherwise;
  }
  /// `target(source, updated, the view's other arguments)`.
  Value scatter(StringRef target);
  Value undo();
  llvm::Expected<Value> split();
  llvm::Error refuse() {
    return userError("a write through '" + view.getTarget() + "' is not supported");
  }

  OpBuilder &b;
  graph::NodeOp view;
  unsigned operand, result;
  Value source, updated;
};

} // namespace

Value ViewWriter::scatter(StringRef target) {
  SmallVector<Value> operands = llvm::to_vector(view.getInputs());
  operands[operand] = source;
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute a : view.getAttrsAttr())
    if (a.getName() != "input")
      attrs.push_back(a);
    else
      attrs.push_back(attr("self", a.getValue()));
  attrs.push_back(ref("src", operands.size()));
  operands.push_back(updated);
  return make(target, operands, attrs);
}

/// The inverse of `permute` and `movedim`: the same operator with its axis lists
/// inverted or exchanged.
Value ViewWriter::undo() {
  auto again = cast<graph::NodeOp>(b.clone(*view));
  again->setOperand(operand, updated);
  again.getResult(0).setType(source.getType());
  SmallVector<NamedAttribute> attrs = llvm::to_vector(view.getAttrsAttr().getValue());
  for (NamedAttribute &a : attrs) {
    if (a.getName() == "source")
      a.setValue(view.attr("destination"));
    else if (a.getName() == "destination")
      a.setValue(view.attr("source"));
    else if (auto dims = dyn_cast<ArrayAttr>(a.getValue()); dims && a.getName() == "dims") {
      SmallVector<int64_t> inverse(dims.size(), 0);
      for (auto [i, d] : llvm::enumerate(dims.getAsValueRange<IntegerAttr>())) {
        int64_t at = d.getSExtValue() < 0 ? d.getSExtValue() + dims.size() : d.getSExtValue();
        if (at >= 0 && at < static_cast<int64_t>(dims.size()))
          inverse[at] = i;
      }
      a.setValue(b.getI64ArrayAttr(inverse));
    }
  }
  again.setAttrsAttr(b.getDictionaryAttr(attrs));
  return again.getResult(0);
}

/// Part number `result` of a split starts after the parts before it.
llvm::Expected<Value> ViewWriter::split() {
  auto sourceType = dyn_cast<RankedTensorType>(source.getType());
  if (!sourceType)
    return refuse();
  int64_t axis = intArg("dim", 0);
  StringRef op = view.getTarget().split('.').first;
  if (op == "hsplit")
    axis = sourceType.getRank() == 1 ? 0 : 1;
  else if (op == "dsplit")
    axis = 2;
  axis += axis < 0 ? sourceType.getRank() : 0;
  if (axis < 0 || axis >= sourceType.getRank())
    return refuse();
  int64_t start = 0, end = 0;
  for (unsigned i = 0; i <= result; ++i) {
    int64_t extent = cast<RankedTensorType>(view.getResult(i).getType()).getDimSize(axis);
    if (ShapedType::isDynamic(extent)) {
      auto size = dyn_cast_or_null<IntegerAttr>(view.attr("split_size"));
      if (!size)
        return refuse();
      extent = size.getInt(); // the last part may be shorter: slices clamp
    }
    start = end;
    end += extent;
  }
  return make(
      "slice_scatter.default", {source, updated},
      {ref("self", 0), ref("src", 1), attr("dim", axis), attr("start", start), attr("end", end)});
}

llvm::Expected<Value> ViewWriter::run(WriteBack how) {
  switch (how) {
  case WriteBack::Identity:
    return updated;
  case WriteBack::Reshape:
    if (view.getTarget() == "view.dtype") {
      Type element = cast<ShapedType>(source.getType()).getElementType();
      StringRef name = dtypeName(prim::dtypeOf(element).value_or(DType::F32));
      return make("view.dtype", updated, {ref("self", 0), attr("dtype", b.getStringAttr(name))});
    }
    return make("view_as.default", {updated, source}, {ref("self", 0), ref("other", 1)});
  case WriteBack::Inverse:
  case WriteBack::Again:
    return undo();
  case WriteBack::SelectScatter:
    return scatter("select_scatter.default");
  case WriteBack::SliceScatter:
    return scatter("slice_scatter.default");
  case WriteBack::DiagonalScatter:
    return scatter("diagonal_scatter.default");
  case WriteBack::StridedScatter:
    return scatter("as_strided_scatter.default");
  case WriteBack::NarrowScatter: {
    auto start = dyn_cast_or_null<IntegerAttr>(view.attr("start"));
    auto length = dyn_cast_or_null<IntegerAttr>(view.attr("length"));
    if (!start || !length)
      return refuse();
    return make("slice_scatter.default", {source, updated},
                {ref("self", 0), ref("src", 1), attr("dim", intArg("dim", 0)), attr("start", start),
                 attr("end", start.getInt() + length.getInt())});
  }
  case WriteBack::UnfoldScatter: // no operator of ATen: a rule beside that of unfold
    return scatter("unfold_scatter.default");
  case WriteBack::UnbindScatter:
    return make("select_scatter.default", {source, updated},
                {ref("self", 0), ref("src", 1), attr("dim", intArg("dim", 0)),
                 attr("index", static_cast<int64_t>(result))});
  case WriteBack::SplitScatter:
    return split();
  case WriteBack::AsComplex:
    return make("view_as_complex.default", updated, {ref("self", 0)});
  case WriteBack::AsReal:
    return make("view_as_real.default", updated, {ref("self", 0)});
  case WriteBack::RealPart:
  case WriteBack::ImaginaryPart: {
    bool real = how == WriteBack::RealPart;
    Value other = makeAten(b, view.getLoc(), real ? "imag.default" : "real.default", source,
                           {ref("self", 0)}, updated.getType())
                      .getResult(0);
    return make("complex.default", {real ? updated : other, real ? other : updated},
                {ref("real", 0), ref("imag", 1)});
  }
  case WriteBack::Refused:
    break;
  }
  return refuse();
}

llvm::Expected<Value> writeThrough(OpBuilder &builder, graph::NodeOp view, unsigned operand,
                                   unsigned result, Value source, Value updated) {
  auto semantics = viewSemantics(view.getTarget().split('.').first);
  ViewWriter writer(builder, view, operand, result, source, updated);
  return writer.run(semantics ? semantics->write : WriteBack::Refused);
}

} // namespace tcc::torchexport
