//===- CollapsedRows.cpp - Rows of several axes as lines ------------------===//
//
// A row that is reduced along several axes (the pixels of a channel, a group of channels) lies in
// memory as one line. Walked axis by axis, each of its lines ends in a part of a vector, and is too
// short for several sums that do not wait for each other. The last axes of the row, as many as the
// kernel's operators do not tell apart, are one axis: all of them, or those of a channel where
// each has a scale.
//
//===----------------------------------------------------------------------===//
#include "CollapsedRows.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tcc;

namespace {

class Collapse {
public:
  explicit Collapse(kernel::LaunchOp launch)
      : launch(launch), rows(*launch.getRows()), first(rows) {
    auto reduce = *launch.getBody().front().getOps<prim::ReduceOp>().begin();
    shape.assign(tensorType(reduce.getX()).getShape());
  }
  /// Whether any axes are one, the most possible from here on.
  bool applies();
  void apply();
  int64_t length() const {
    int64_t product = 1;
    for (int64_t d : ArrayRef(shape).drop_front(first))
      product *= d;
    return product;
  }

private:
  /// The axes from the first on, each of one element, or another shape, in which they do not occur.
  enum class Form { Full, Unit, Other };
  Form formOf(Value v);
  bool applies(Operation *op);
  Type collapsed(Value v);

  kernel::LaunchOp launch;
  size_t rows, first; ///< axes before those of a row, and before those that become one
  SmallVector<int64_t> shape;
};

} // namespace

Collapse::Form Collapse::formOf(Value v) {
  ArrayRef<int64_t> own = tensorType(v).getShape();
  if (own.size() != shape.size())
    return Form::Other;
  ArrayRef<int64_t> inner = own.drop_front(first);
  if (inner == ArrayRef(shape).drop_front(first))
    return Form::Full;
  return llvm::all_of(inner, [](int64_t d) { return d == 1; }) ? Form::Unit : Form::Other;
}

Type Collapse::collapsed(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  if (!type || formOf(v) == Form::Other)
    return v.getType();
  SmallVector<int64_t> own(type.getShape().take_front(first));
  own.push_back(formOf(v) == Form::Full ? length() : 1);
  return type.clone(own);
}

bool Collapse::applies(Operation *op) {
  for (Value v : op->getOperands())
    if (!isa<RankedTensorType>(v.getType()) || !tensorType(v).hasStaticShape())
      return false;
  if (isa<kernel::YieldOp>(op) || prim::isElementwise(op))
    return true;
  auto hasAxes = [&](Value v) { return formOf(v) != Form::Other; };
  if (auto reduce = dyn_cast<prim::ReduceOp>(op))
    return formOf(reduce.getX()) == Form::Full &&
           llvm::equal(reduce.getAxes(), llvm::seq<int64_t>(rows, shape.size()));
  if (auto constant = dyn_cast<prim::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getElements());
    return !hasAxes(constant.getResult()) || (dense && dense.isSplat());
  }
  if (auto reshape = dyn_cast<prim::ReshapeOp>(op))
    return isa<BlockArgument>(reshape.getX()) || formOf(reshape.getX()) != Form::Full;
  auto broadcast = dyn_cast<prim::BroadcastOp>(op);
  if (!broadcast)
    return false;
  if (hasAxes(broadcast.getX()))
    return llvm::equal(broadcast.getAxes(), llvm::seq<int64_t>(0, shape.size()));
  return llvm::all_of(broadcast.getAxes(),
                      [&](int64_t axis) { return axis < static_cast<int64_t>(first); });
}

bool Collapse::applies() {
  if (llvm::is_contained(shape, ShapedType::kDynamic))
    return false;
  for (first = rows; first + 2 <= shape.size() && length() > 1; ++first)
    if (llvm::all_of(launch.getBody().front(), [&](Operation &op) { return applies(&op); }))
      return true;
  return false;
}

void Collapse::apply() {
  Builder b(launch.getContext());
  // Types say what form a value has: they change when nobody asks any more.
  SmallVector<std::pair<Value, Type>> types;
  Block &body = launch.getBody().front();
  for (Value v : body.getArguments())
    types.push_back({v, collapsed(v)});
  for (Operation &op : body) {
    for (Value v : op.getResults())
      types.push_back({v, collapsed(v)});
    if (auto reduce = dyn_cast<prim::ReduceOp>(op))
      reduce.setAxes(llvm::to_vector(llvm::seq<int64_t>(rows, first + 1)));
    else if (auto broadcast = dyn_cast<prim::BroadcastOp>(op);
             broadcast && formOf(broadcast.getX()) != Form::Other)
      broadcast.setAxes(llvm::to_vector(llvm::seq<int64_t>(0, first + 1)));
    else if (auto constant = dyn_cast<prim::ConstantOp>(op);
             constant && formOf(constant.getResult()) != Form::Other)
      constant.setValueAttr(cast<DenseElementsAttr>(constant.getElements())
                                .resizeSplat(cast<ShapedType>(collapsed(constant.getResult()))));
  }
  for (Value v : launch.getResults())
    types.push_back({v, collapsed(v)});
  for (auto [value, type] : types)
    value.setType(type);
}

std::optional<int64_t> tcc::codegen::collapsedLength(kernel::LaunchOp launch) {
  Collapse collapse(launch);
  return collapse.applies() ? std::optional(collapse.length()) : std::nullopt;
}

void tcc::codegen::collapseRows(kernel::LaunchOp launch) {
  if (Collapse collapse(launch); collapse.applies())
    collapse.apply();
}
