//===- TimeModel.cpp - How long a launch takes on a CPU -------------------===//
//
// A launch is described by what it does: bytes by the cache that holds all of them, vectors of
// arithmetic by what a vector costs, multiply-adds of its register tiles, copies of its operands,
// tasks. Each has a price (Target/CpuCosts.h) that was fitted to measured times, and the sum of
// them is the prediction: what overlaps in a core is in the prices. A test holds it against a sweep
// of operators, by rank: what a choice needs is which of two is faster.
//
// Open extents count as what schedules take them for.
//
//===----------------------------------------------------------------------===//
#include "KernelFrame.h"
#include "Products/MatrixTile.h"
#include "SpecialKernel.h"
#include "tcc/Analysis/AttentionForm.h"
#include "tcc/Codegen/Cpu/ScheduleModel.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"
#include "tcc/Target/CpuCosts.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tcc;
using namespace tcc::codegen;

/// Of every element of a line until few are left to be selected from (SelectedElement.cpp).
constexpr double kSelectionLooks = 8;

static double elementsOf(Value v) { return typicalElements(tensorType(v).getShape()); }

static unsigned bitsOf(Value v) {
  Type element = storageType(tensorType(v).getElementType());
  return element.isIntOrFloat() ? std::max(8u, element.getIntOrFloatBitWidth()) : 64;
}

static double bytesOf(Value v) { return elementsOf(v) * bitsOf(v) / 8; }

namespace {

class LaunchCosts {
public:
  LaunchCosts(kernel::LaunchOp launch, const CpuTarget &cpu)
      : launch(launch), cpu(cpu), body(launch.getBody().front()) {}
  std::array<double, size_t(CpuCost::Count)> count();

private:
  double &of(CpuCost cost) { return counts[size_t(cost)]; }
  /// Vectors that hold so many elements like those of v.
  double vectors(Value v, double elements) {
    return elements / cpu.lanes(std::clamp(bitsOf(v), 32u, 64u));
  }
  void countMemory();
  void countOperator(Operation *op);
  double elementsOfWindow(prim::PoolOp pool);
  void countElementwise(Operation *op);
  void countProduct(double rows, double depth, double columns, double entries, Operation *op);
  void countDot(prim::DotOp dot);
  void countConvolution(prim::ConvOp conv);

  kernel::LaunchOp launch;
  const CpuTarget &cpu;
  Block &body;
  std::array<double, size_t(CpuCost::Count)> counts = {};
};

} // namespace

/// Of an operand from which only some elements are taken, so many bytes.
static double bytesRead(BlockArgument operand) {
  double read = 0;
  for (OpOperand &use : operand.getUses()) {
    bool part =
        use.getOperandNumber() == 0 &&
        isa<prim::TakeOp, prim::TakeAlongOp, prim::GatherNdOp, prim::SliceOp>(use.getOwner());
    if (!part)
      return bytesOf(operand);
    read += elementsOf(use.getOwner()->getResult(0)) * bitsOf(operand) / 8;
  }
  return std::min(read, bytesOf(operand));
}

void LaunchCosts::countMemory() {
  constexpr double shares = 4; // of the last cache, that a core may find to be its own
  double bytes = 0;
  for (BlockArgument operand : body.getArguments())
    if (isa<RankedTensorType>(operand.getType()))
      bytes += bytesRead(operand);
  for (Value result : launch.getResults())
    bytes += bytesOf(result);
  CpuCost where = bytes <= static_cast<double>(cpu.l2Bytes)            ? CpuCost::NearByte
                  : bytes <= shares * static_cast<double>(cpu.l3Bytes) ? CpuCost::SharedByte
                                                                       : CpuCost::FarByte;
  of(where) += bytes;
}

/// Elements that are read for each of a pool's results.
double LaunchCosts::elementsOfWindow(prim::PoolOp pool) {
  auto schedule = dyn_cast<cpu::LoopScheduleAttr>(launch.getScheduleAttr());
  if (!schedule || !schedule.getWindowLines())
    return typicalElements(pool.getWindow());
  auto last = static_cast<double>(pool.getWindow().back());
  return typicalElements(pool.getWindow().drop_back()) *
             static_cast<double>(pool.getStrides().back()) +
         last;
}

void LaunchCosts::countElementwise(Operation *op) {
  Value result = op->getResult(0);
  double elements = elementsOf(result);
  bool isFloat = isa<FloatType>(tensorType(op->getOperand(0)).getElementType());
  if (isa<prim::RemOp, prim::ModOp>(op) || (isa<prim::DivOp>(op) && !isFloat))
    of(CpuCost::Element) += elements;
  else if (isa<prim::PowOp, prim::LgammaOp, prim::DigammaOp, prim::ErfinvOp, prim::BesselI0Op,
               prim::BesselI1Op, prim::GcdOp>(op))
    of(CpuCost::LongFunction) += vectors(result, elements);
  else if (op->hasTrait<prim::VeryCostly>())
    of(CpuCost::Function) += vectors(result, elements);
  else if (op->hasTrait<prim::Costly>())
    of(CpuCost::Divide) += vectors(result, elements);
  else
    of(CpuCost::Simple) += vectors(result, elements);
}

/// `rows` x `depth` times `depth` x `columns`, `entries` times, as the schedule has it.
void LaunchCosts::countProduct(double rows, double depth, double columns, double entries,
                               Operation *op) {
  Value result = op->getResult(0);
  kernel::Schedule recorded = launch.getScheduleAttr();
  while (auto bySize = dyn_cast<kernel::BySizeAttr>(recorded))
    recorded = bySize.getLarge();
  auto schedule = dyn_cast<cpu::ContractionScheduleAttr>(recorded);
  if (!schedule && isa<cpu::LoopScheduleAttr>(launch.getScheduleAttr())) {
    of(CpuCost::Element) += rows * depth * columns * entries;
    return;
  }
  double lanes = cpu.lanes(std::max(32u, bitsOf(result)));
  double steps = schedule ? static_cast<double>(schedule.getStepBytes()) : 1;
  if (schedule && schedule.getMatrixTiles()) // a matrix unit takes a block of rows at once
    steps *= MatrixTile::blockRows;
  of(CpuCost::Product) += entries * rows * std::ceil(columns / lanes) * depth / steps;
  if (!schedule)
    return;
  double tiles = std::ceil(rows / static_cast<double>(schedule.getRows()));
  double panels = std::ceil(columns / (lanes * static_cast<double>(schedule.getVectors())));
  double taskRows = std::ceil(tiles / static_cast<double>(schedule.getTilesPerTask()));
  double taskColumns = std::ceil(panels / static_cast<double>(schedule.getPanelsPerTask()));
  of(CpuCost::Task) += entries * taskRows * taskColumns;
  if (schedule.getB() == cpu::OperandAccess::Copied)
    of(CpuCost::Packed) += entries * depth * columns * taskRows / lanes;
  if (schedule.getA() == cpu::OperandAccess::Copied)
    of(CpuCost::Packed) += entries * rows * depth * taskColumns / lanes;
}

void LaunchCosts::countDot(prim::DotOp dot) {
  double depth = 1, entries = 1;
  for (int64_t axis : dot.getRhsContract())
    depth *= typicalElements(tensorType(dot.getRhs()).getShape().slice(axis, 1));
  for (int64_t axis : dot.getRhsBatch())
    entries *= typicalElements(tensorType(dot.getRhs()).getShape().slice(axis, 1));
  double rows = elementsOf(dot.getLhs()) / depth / entries;
  countProduct(rows, depth, elementsOf(dot.getRhs()) / depth / entries, entries, dot);
}

void LaunchCosts::countConvolution(prim::ConvOp conv) {
  constexpr double savedByTiles = 2.25; // multiply-adds of 3x3 filters in tiles of 2x2
  ArrayRef<int64_t> filters = tensorType(conv.getW()).getShape();
  auto groups = static_cast<double>(conv.getGroups());
  double columns = typicalElements(filters.take_front(1)) / groups;
  double rows = elementsOf(conv.getResult()) / columns / groups;
  double depth = typicalElements(filters.drop_front(1));
  if (isa<cpu::WinogradScheduleAttr>(launch.getScheduleAttr()))
    depth /= savedByTiles;
  if (isa<cpu::LineScheduleAttr>(launch.getScheduleAttr())) // lanes are channels of all groups
    return countProduct(rows, depth, columns * groups, 1, conv);
  countProduct(rows, depth, columns, groups, conv);
}

void LaunchCosts::countOperator(Operation *op) {
  if (prim::isElementwise(op))
    return countElementwise(op);
  // Arithmetic on extents is no work of elements.
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return;
  // Attention reads the parts of its keys where they lie.
  if (isa<prim::ConcatOp>(op) && launch.getKind() == kernel::KernelKind::Attention)
    return;
  Value result = op->getResult(0);
  double elements = elementsOf(result);
  auto steps = [](double n) { return std::max(1.0, std::log2(n)); };
  TypeSwitch<Operation *>(op)
      .Case([&](prim::DotOp dot) { countDot(dot); })
      .Case([&](prim::ConvOp conv) { countConvolution(conv); })
      .Case([&](prim::ReduceOp reduce) {
        of(CpuCost::Simple) += vectors(reduce.getX(), elementsOf(reduce.getX()));
      })
      .Case([&](prim::ArgReduceOp reduce) {
        of(CpuCost::Simple) += 2 * vectors(reduce.getX(), elementsOf(reduce.getX()));
      })
      .Case([&](prim::CumulativeOp) { of(CpuCost::Divide) += vectors(result, elements); })
      .Case([&](prim::PoolOp pool) {
        of(CpuCost::Simple) += vectors(result, elements * elementsOfWindow(pool));
      })
      .Case([&](prim::TakeOp take) {
        bool single = take.getAxis() + 1 == uint64_t(tensorType(take.getX()).getRank());
        of(single ? CpuCost::Element : CpuCost::Simple) +=
            single ? elements : vectors(result, elements);
      })
      .Case<prim::TakeAlongOp, prim::GatherNdOp, prim::NonzeroOp>(
          [&](Operation *) { of(CpuCost::Element) += elements; })
      .Case([&](prim::SortOp sort) {
        double n = typicalElements(tensorType(sort.getX()).getShape().slice(sort.getAxis(), 1));
        of(CpuCost::Ordered) += elements * steps(n);
      })
      .Case([&](prim::KthOp kth) {
        of(CpuCost::Simple) += vectors(kth.getX(), kSelectionLooks * elementsOf(kth.getX()));
      })
      .Case([&](prim::TopKOp top) {
        double n = typicalElements(tensorType(top.getX()).getShape().slice(top.getAxis(), 1));
        double looked = elementsOf(top.getX());
        if (selectsFirst(top, cpu) || boundsFirst(top, cpu)) {
          double looks = boundsFirst(top, cpu) ? 1 : kSelectionLooks;
          of(CpuCost::Simple) += vectors(top.getX(), looks * looked);
          of(CpuCost::Ordered) += elements * steps(n);
        } else {
          of(CpuCost::Ordered) += looked * (sortsWords(top, cpu) ? steps(n) : 1);
        }
      })
      .Case<prim::ScatterAlongOp, prim::ScatterNdOp, prim::ScatterRunsOp>([&](Operation *) {
        Value updates = op->getOperand(op->getNumOperands() - 1);
        auto along = dyn_cast<prim::ScatterAlongOp>(op);
        int64_t indexed = along ? along.getAxis() + 1
                          : isa<prim::ScatterRunsOp>(op)
                              ? 1
                              : tensorType(op->getOperand(1)).getShape().back();
        bool vector = indexed < tensorType(result).getRank();
        of(vector ? CpuCost::Simple : CpuCost::Element) +=
            vector ? vectors(updates, elementsOf(updates)) : elementsOf(updates);
      })
      .Case([&](prim::FourierOp fourier) {
        auto n = static_cast<double>(fourier.getLength());
        double lines = std::max(elementsOf(fourier.getRe()), elements) / n;
        of(CpuCost::Fourier) += lines * n * steps(n) / cpu.lanes(bitsOf(result));
      })
      .Default([&](Operation *) {
        if (op->hasTrait<prim::MatrixFactor>()) {
          ArrayRef<int64_t> shape = tensorType(op->getOperand(0)).getShape();
          double n = typicalElements(shape.take_back(1));
          of(CpuCost::Factor) += elements * n / cpu.lanes(bitsOf(result));
          of(CpuCost::Divide) += elements / n;
        } else if (!op->hasTrait<prim::StridedView>() && !op->hasTrait<prim::ModelConstant>()) {
          of(CpuCost::Simple) += vectors(result, elements);
        }
      });
}

std::array<double, size_t(CpuCost::Count)> LaunchCosts::count() {
  of(CpuCost::Launch) = 1;
  countMemory();
  for (Operation &op : body.without_terminator())
    countOperator(&op);
  return counts;
}

SmallVector<ScheduleModel::TimePart> CpuScheduleModel::timeParts(kernel::LaunchOp launch) const {
  const CpuCosts &costs = costsOf(cpu.name);
  auto counts = LaunchCosts(launch, cpu).count();
  SmallVector<TimePart> parts;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0)
      parts.push_back({nameOf(CpuCost(i)), counts[i], counts[i] * costs.nanoseconds[i]});
  return parts;
}
