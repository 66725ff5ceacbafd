//===- Cpu.cpp - Encodings of weights for CPUs ----------------------------===//
//
// An encoding says all that is needed to find an element: kernels compute addresses from it, the
// interpreter unpacks by it. Verifiers refuse what would not describe every element exactly once.
//
//===----------------------------------------------------------------------===//
#include "tcc/Dialect/Cpu/Cpu.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "tcc/Dialect/Cpu/Winograd.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::cpu;

#include "tcc/Dialect/Cpu/CpuDialect.cpp.inc"
#include "tcc/Dialect/Cpu/CpuEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tcc/Dialect/Cpu/CpuAttrs.cpp.inc"

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

void CpuDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tcc/Dialect/Cpu/CpuAttrs.cpp.inc"
      >();
}

static LogicalResult verifyPositive(EmitError emitError, StringRef name, int64_t value) {
  return value > 0 ? success() : emitError() << name << " is " << value << ", at least 1";
}

static LogicalResult verifyStatic(EmitError emitError, ArrayRef<int64_t> shape) {
  return ShapedType::isDynamicShape(shape) ? emitError() << "weights of open extents are not packed"
                                           : success();
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

LogicalResult PanelsAttr::verify(EmitError emitError, ArrayRef<int64_t>, int64_t, int64_t width,
                                 int64_t groups, int64_t step, int64_t run, int64_t sums) {
  if (failed(verifyPositive(emitError, "width", width)) ||
      failed(verifyPositive(emitError, "groups", groups)) ||
      failed(verifyPositive(emitError, "step", step)))
    return failure();
  if (run < 0)
    return emitError() << "run is " << run << ", at least 0";
  if (step == 1 && (run || sums))
    return emitError() << "only steps of several elements have runs and sums";
  return success();
}

/// The extent of all of k.
static int64_t extentOf(ArrayRef<int64_t> k, ArrayRef<int64_t> shape) {
  int64_t extent = 1;
  for (int64_t axis : k)
    extent *= shape[axis];
  return extent;
}

LogicalResult PanelsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                         EmitError emitError) const {
  int64_t rank = shape.size();
  SmallVector<int64_t> axes(getK());
  axes.push_back(getColumns());
  llvm::sort(axes);
  if (!llvm::equal(axes, llvm::seq<int64_t>(0, rank)))
    return emitError() << "k and columns are not the axes of a tensor of rank " << rank;
  if (failed(verifyStatic(emitError, shape)))
    return failure();
  if (shape[getColumns()] % getGroups())
    return emitError() << shape[getColumns()] << " columns are not " << getGroups() << " groups";
  if (getStep() > 1 && !elementType.isInteger(8) && (!elementType.isBF16() || getSums()))
    return emitError() << "steps of " << getStep() << " hold no elements of type " << elementType;
  if (getRun() && extentOf(getK(), shape) % getRun())
    return emitError() << extentOf(getK(), shape) << " elements of k are not runs of " << getRun();
  return success();
}

PanelPacking cpu::packingOf(PanelsAttr panels, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  int64_t k = extentOf(panels.getK(), shape), width = panels.getWidth();
  int64_t columns = shape[panels.getColumns()] / panels.getGroups();
  int64_t stride = strides[panels.getColumns()];

  PanelPacking packing;
  packing.shape = {panels.getGroups(), int64_t(llvm::divideCeil(columns, width)), k, width};
  if (panels.getStep() > 1) {
    int64_t run = panels.getRun() ? panels.getRun() : k;
    DotSteps &steps = packing.shape.steps;
    steps.size = panels.getStep();
    steps.lhsZero = -static_cast<int32_t>(panels.getSums()); // or flipped: both add the sums
    packing.shape.run = panels.getRun();
    packing.shape.k = run ? k / run * steps.count(run) : 0;
  }
  packing.group = {panels.getGroups(), columns * stride};
  packing.column = {columns, stride};
  for (int64_t axis : panels.getK())
    packing.k.push_back({shape[axis], strides[axis]});
  return packing;
}

SmallVector<int64_t> PanelsAttr::getStorageShape(ArrayRef<int64_t> shape) const {
  return llvm::to_vector(packingOf(*this, shape).shape.dims());
}

void PanelsAttr::unpack(ArrayRef<int64_t> shape, unsigned elementBytes, const char *storage,
                        char *to) const {
  unpackPanels(storage, elementBytes, packingOf(*this, shape), to);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

LogicalResult GroupedAttr::verify(EmitError emitError, int64_t columns, int64_t width,
                                  int64_t group, int64_t bits, std::optional<int64_t>) {
  if (columns != 0 && columns != 1)
    return emitError() << "columns is " << columns << ", an axis of a matrix";
  if (failed(verifyPositive(emitError, "width", width)) ||
      failed(verifyPositive(emitError, "group", group)))
    return failure();
  if (bits != 2 && bits != 4 && bits != 8)
    return emitError() << "bits is " << bits << ", none of 2, 4 and 8";
  if (group * bits % 32)
    return emitError() << "a group of " << group << " integers of " << bits << " bits is no words";
  return success();
}

LogicalResult GroupedAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                          EmitError emitError) const {
  if (shape.size() != 2 || !elementType.isF32())
    return emitError() << "only matrices of f32 are grouped";
  if (failed(verifyStatic(emitError, shape)))
    return failure();
  if (int64_t k = shape[1 - getColumns()]; k % getGroup())
    return emitError() << k << " elements of k are no groups of " << getGroup();
  return success();
}

GroupedShape cpu::groupsOf(GroupedAttr grouped, ArrayRef<int64_t> shape) {
  int64_t columns = grouped.getColumns();
  return {shape[columns],
          shape[1 - columns] / grouped.getGroup(),
          grouped.getGroup(),
          grouped.getWidth(),
          unsigned(grouped.getBits()),
          grouped.getZero()};
}

SmallVector<int64_t> GroupedAttr::getStorageShape(ArrayRef<int64_t> shape) const {
  return llvm::to_vector(groupsOf(*this, shape).dims());
}

void GroupedAttr::unpack(ArrayRef<int64_t> shape, unsigned, const char *storage, char *to) const {
  GroupedShape groups = groupsOf(*this, shape);
  bool columnsFirst = getColumns() == 0;
  unpackGroups(storage, groups, columnsFirst ? groups.k() : 1, columnsFirst ? 1 : groups.columns,
               reinterpret_cast<float *>(to));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

LogicalResult WinogradAttr::verify(EmitError emitError, int64_t width) {
  return verifyPositive(emitError, "width", width);
}

LogicalResult WinogradAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                                           EmitError emitError) const {
  if (shape.size() != 4 || shape.take_back(2) != ArrayRef<int64_t>({3, 3}) || !elementType.isF32())
    return emitError() << "only weights of f32 with a 3x3 window are transformed for tiles";
  return verifyStatic(emitError, shape);
}

PanelShape cpu::panelsOf(WinogradAttr tiles, ArrayRef<int64_t> shape) {
  return winogradPanels(tiles.getWidth(), shape[0], shape[1]);
}

SmallVector<int64_t> WinogradAttr::getStorageShape(ArrayRef<int64_t> shape) const {
  return llvm::to_vector(panelsOf(*this, shape).dims());
}

void WinogradAttr::unpack(ArrayRef<int64_t> shape, unsigned, const char *storage, char *to) const {
  unpackWinograd(reinterpret_cast<const float *>(storage), shape[0], panelsOf(*this, shape),
                 reinterpret_cast<float *>(to));
}

//===----------------------------------------------------------------------===//
// Of values
//===----------------------------------------------------------------------===//

static Attribute encodingOf(Value weights) {
  return cast<RankedTensorType>(weights.getType()).getEncoding();
}

PanelsAttr cpu::panelsOf(Value weights) {
  return dyn_cast_if_present<PanelsAttr>(encodingOf(weights));
}

GroupedAttr cpu::groupedOf(Value weights) {
  return dyn_cast_if_present<GroupedAttr>(encodingOf(weights));
}

WinogradAttr cpu::tilesOf(Value weights) {
  return dyn_cast_if_present<WinogradAttr>(encodingOf(weights));
}

int64_t cpu::panelWidth(Value weights) {
  if (PanelsAttr panels = panelsOf(weights))
    return panels.getWidth();
  if (GroupedAttr grouped = groupedOf(weights))
    return grouped.getWidth();
  WinogradAttr tiles = tilesOf(weights);
  return tiles ? tiles.getWidth() : 0;
}
