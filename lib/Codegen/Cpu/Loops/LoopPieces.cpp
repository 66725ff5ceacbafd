//===- LoopPieces.cpp - Rows that are put together ------------------------===//
//
// A point of a concatenation along the last axis comes from one of its operands, a point of a
// pad from inside or from the border, and windows of a pool lie inside or reach over it. Asked at
// every vector, which one costs masked loads of all of them; so a row is cut where the answer
// changes, and each piece reads one.
//
// The places are found by going back from what is stored, through operators whose last index is
// the loop's, forward or backward, plus a constant.
//
//===----------------------------------------------------------------------===//
#include "LoopPieces.h"
#include "Moves.h"
#include "tcc/Analysis/PlanarConv.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

namespace {

/// The index along a value's last axis: sign * i + shift.
struct LastIndex {
  int64_t sign = 1, shift = 0;
  LastIndex plus(int64_t offset) const { return {sign, shift + offset}; }
  LastIndex backward(int64_t extent) const { return {-sign, extent - 1 - shift}; }
  /// The first i of the piece that `index` begins or, backward, ends.
  int64_t pieceAt(int64_t index) const { return sign > 0 ? index - shift : shift - index + 1; }
};

class PieceWalk {
public:
  void visit(Value value, LastIndex at);
  std::set<int64_t> begins;
  unsigned visited = 0;

private:
  void visitView(Operation *op, LastIndex at);
  void visitWindows(int64_t extent, int64_t stride, int64_t width, int64_t low, LastIndex at);
};

} // namespace

void PieceWalk::visit(Value value, LastIndex at) {
  constexpr unsigned kMost = 64;
  Operation *op = value.getDefiningOp();
  if (!op || tensorType(value).getRank() == 0 ||
      tensorType(value).isDynamicDim(tensorType(value).getRank() - 1) || ++visited > kMost)
    return;
  if (!prim::isElementwise(op))
    return visitView(op, at);
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      visit(operand, at);
}

/// Windows in the middle of a row have all of their points; each reaches `width` further than its
/// first.
void PieceWalk::visitWindows(int64_t extent, int64_t stride, int64_t width, int64_t low,
                             LastIndex at) {
  if (ShapedType::isDynamic(extent))
    return;
  begins.insert(at.pieceAt(llvm::divideCeil(low, stride)));
  if (extent + low >= width + 1)
    begins.insert(at.pieceAt((extent + low - width - 1) / stride + 1));
}

void PieceWalk::visitView(Operation *op, LastIndex at) {
  auto type = tensorType(op->getResult(0));
  int64_t last = type.getRank() - 1, extent = type.getShape().back();
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](prim::BroadcastOp o) {
        auto x = tensorType(o.getX());
        if (x.getRank() > 0 && o.getAxes().back() == last && x.getShape().back() == extent)
          visit(o.getX(), at);
      })
      .Case([&](prim::TransposeOp o) {
        if (o.getPermutation().back() == last)
          visit(o.getX(), at);
      })
      .Case([&](prim::ReshapeOp o) {
        auto x = tensorType(o.getX());
        if (x.getRank() > 0 && x.getShape().back() == extent)
          visit(o.getX(), at);
      })
      .Case([&](prim::SliceOp o) {
        auto start = getConstantIntValue(o.getMixedStarts().back());
        if (start && o.getSteps().back() == 1)
          visit(o.getX(), at.plus(*start));
      })
      .Case([&](prim::ReverseOp o) {
        visit(o.getX(), llvm::is_contained(o.getAxes(), last) ? at.backward(extent) : at);
      })
      .Case([&](prim::TakeOp o) {
        if (static_cast<int64_t>(o.getAxis()) + 1 < tensorType(o.getX()).getRank())
          visit(o.getX(), at);
      })
      .Case([&](prim::PoolOp o) {
        if (!o.getChannelsLast())
          visitWindows(tensorType(o.getX()).getShape().back(), o.getStrides().back(),
                       (o.getWindow().back() - 1) * o.getDilations().back(), o.getLow().back(), at);
      })
      .Case([&](prim::ConvOp o) {
        if (isPlanar(o))
          visitWindows(tensorType(o.getX()).getShape().back(), o.getStrides().back(),
                       (tensorType(o.getW()).getShape().back() - 1) * o.getDilations().back(),
                       o.getLow().back(), at);
      })
      .Case([&](prim::ConcatOp o) {
        bool along = static_cast<int64_t>(o.getAxis()) == last;
        int64_t begin = 0;
        for (Value input : o.getInputs()) {
          int64_t size = tensorType(input).getShape().back();
          if (ShapedType::isDynamic(size))
            return;
          visit(input, along ? at.plus(-begin) : at);
          begin += along ? size : 0;
          if (along)
            begins.insert(at.pieceAt(begin));
        }
      })
      .Case([&](prim::PadOp o) {
        auto low = getConstantIntValue(o.getMixedLow().back());
        int64_t size = tensorType(o.getX()).getShape().back();
        if (!low || o.getInterior().back() != 0 || ShapedType::isDynamic(size))
          return;
        begins.insert(at.pieceAt(*low));
        begins.insert(at.pieceAt(*low + size));
        visit(o.getX(), at.plus(-*low));
      });
}

SmallVector<int64_t> tcc::codegen::piecesOf(kernel::LaunchOp launch) {
  // Each piece has code of its own for all operators.
  constexpr size_t kMostOperators = 64, kMostCode = 17 * kMostOperators, kMostPieces = 256;
  auto type = cast<RankedTensorType>(launch.getResultTypes()[0]);
  Block &body = launch.getBody().front();
  size_t operators = body.getOperations().size();
  if (type.getRank() == 0 || ShapedType::isDynamic(type.getShape().back()) ||
      operators > kMostOperators)
    return {};
  PieceWalk walk;
  for (Value value : cast<kernel::YieldOp>(body.getTerminator()).getValues())
    walk.visit(value, {});
  SmallVector<int64_t> begins;
  for (int64_t begin : walk.begins)
    if (begin > 0 && begin < type.getShape().back())
      begins.push_back(begin);
  size_t most = std::min(kMostPieces, kMostCode / operators);
  return begins.size() < most ? begins : SmallVector<int64_t>();
}

std::optional<RowRange> tcc::codegen::innerRows(kernel::LaunchOp launch) {
  std::optional<RowRange> inner;
  for (auto conv : launch.getBody().getOps<prim::ConvOp>()) {
    size_t axis = conv.getStrides().size();
    if (!isPlanar(conv) || axis < 2)
      continue;
    int64_t stride = conv.getStrides()[axis - 2], low = conv.getLow()[axis - 2];
    int64_t reach = (tensorType(conv.getW()).getDimSize(axis) - 1) * conv.getDilations()[axis - 2];
    int64_t rows = tensorType(conv.getX()).getDimSize(axis);
    if (ShapedType::isDynamic(rows))
      return std::nullopt;
    int64_t most = tensorType(conv.getResult()).getDimSize(axis);
    RowRange here{llvm::divideCeil(low, stride),
                  rows + low > reach ? std::min((rows + low - reach - 1) / stride + 1, most) : 0};
    inner = inner
                ? RowRange{std::max(inner->first, here.first), std::min(inner->second, here.second)}
                : here;
  }
  return inner && inner->first < inner->second ? inner : std::nullopt;
}

/// The phases that `v` is a part of, `first` points after its line's first.
static std::optional<PhasedLines> phasesOf(Value v, int64_t first, unsigned depth = 8) {
  constexpr int64_t fewest = 2, most = 4; // as are stored together
  Operation *op = v.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (prim::isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (auto found = phasesOf(operand, first, depth - 1))
        return found;
    return std::nullopt;
  }
  if (auto slice = dyn_cast<prim::SliceOp>(op)) {
    auto start = getConstantIntValue(slice.getMixedStarts().back());
    return start ? phasesOf(slice.getX(), first + *start, depth - 1) : std::nullopt;
  }
  auto joined = dyn_cast<prim::ReshapeOp>(op);
  auto turned = joined ? joined.getX().getDefiningOp<prim::TransposeOp>() : prim::TransposeOp();
  if (!turned)
    return std::nullopt;
  ArrayRef<int64_t> order = turned.getPermutation(), from = tensorType(turned).getShape();
  int64_t rank = order.size(), line = tensorType(joined).getShape().back();
  bool liesAlong = rank > 1 && order[rank - 2] == rank - 1;
  if (!liesAlong || from[rank - 1] < fewest || from[rank - 1] > most ||
      from[rank - 2] * from[rank - 1] != line)
    return std::nullopt;
  constexpr size_t mostPieces = 4; // each has code of its own for all phases
  PieceWalk walk;
  walk.visit(turned.getX(), {});
  PhasedLines lines{from[rank - 1], first, {0}};
  for (int64_t begin : walk.begins)
    if (begin > 0 && begin < from[rank - 2] && walk.begins.size() < mostPieces)
      lines.pieces.push_back(begin);
  lines.pieces.push_back(from[rank - 2]);
  return lines;
}

std::optional<PhasedLines> tcc::codegen::phasedLines(kernel::LaunchOp launch) {
  constexpr int64_t leastPoints = 8;
  std::optional<PhasedLines> found;
  for (Operation &op : launch.getBody().front()) {
    bool keepsLines = isa<kernel::YieldOp>(op) || prim::isElementwise(&op) ||
                      moves(&op, Move::Reshape, Move::Transpose, Move::Repeat, Move::Constant,
                            Move::Cut, Move::Border);
    if (!keepsLines)
      return std::nullopt;
    for (Value result : op.getResults())
      if (!tensorType(result).hasStaticShape())
        return std::nullopt;
  }
  auto yield = cast<kernel::YieldOp>(launch.getBody().front().getTerminator());
  for (Value stored : yield.getValues()) {
    ArrayRef<int64_t> shape = tensorType(stored).getShape();
    auto own = shape.empty() ? std::nullopt : phasesOf(stored, 0);
    if (!own || shape.back() < leastPoints * own->count ||
        (found && (found->count != own->count || (found->first - own->first) % own->count)))
      return std::nullopt;
    found = found.value_or(*own);
  }
  return found;
}

prim::ConcatOp tcc::codegen::openPiecesOf(kernel::LaunchOp launch) {
  constexpr size_t kMostOperators = 64, kMostPieces = 16;
  Block &body = launch.getBody().front();
  prim::ConcatOp found;
  for (auto concat : body.getOps<prim::ConcatOp>()) {
    RankedTensorType type = tensorType(concat.getResult());
    bool isLast = static_cast<int64_t>(concat.getAxis()) + 1 == type.getRank();
    bool isOpen = isLast && llvm::any_of(concat.getInputs(), [](Value v) {
                    return ShapedType::isDynamic(tensorType(v).getShape().back());
                  });
    auto stored = cast<RankedTensorType>(launch.getResultTypes()[0]);
    if (!isOpen || type.getShape() != stored.getShape() || found)
      return nullptr;
    found = concat;
  }
  if (!found ||
      found.getInputs().size() * body.getOperations().size() > kMostPieces * kMostOperators)
    return nullptr;
  llvm::SmallSetVector<Value, 8> made;
  made.insert(found.getResult());
  for (size_t i = 0; i < made.size(); ++i)
    for (Operation *user : made[i].getUsers()) {
      if (!isa<kernel::YieldOp>(user) && !prim::isElementwise(user))
        return nullptr;
      made.insert(user->result_begin(), user->result_end());
    }
  return found;
}
