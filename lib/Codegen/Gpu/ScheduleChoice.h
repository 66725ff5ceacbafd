//===- ScheduleChoice.h - What becomes a schedule ----------------*- C++ -*-===//
//
// Internal to lib/Codegen/Gpu. A schedule while the model fills it in, and the models of kinds of
// kernels that have a file of their own. Estimates are in cycles of a multiprocessor: they rank
// ways to do the same, and are compared with no clock.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Gpu/KernelCodegen.h"
#include "tcc/Dialect/Kernel/TensorBytes.h"

namespace tcc::codegen::device {

struct ProductSizes; // MmaTile.h

struct ScheduleChoice {
  Form form = Form::Loop;
  unsigned threads = 256, lanes = 1, vectors = 1;
  unsigned rowThreads = 0, kept = 0;
  unsigned rows = 0, columns = 0, depth = 0;
  unsigned sharedBytes = 0, mostBlocks = 0, split = 1, scratchBytes = 0, indexBits = 64;
  unsigned resident = 0;
  bool nextEarly = false, nextBeside = false, beside = false;
  Schedule narrow;

  ScheduleChoice() = default;
  /// What was chosen, to be changed.
  explicit ScheduleChoice(Schedule s)
      : form(s.getForm()), threads(s.getThreads()), lanes(s.getLanes()), vectors(s.getVectors()),
        rowThreads(s.getRowThreads()), kept(s.getKept()), rows(s.getRows()),
        columns(s.getColumns()), depth(s.getDepth()), sharedBytes(s.getSharedBytes()),
        mostBlocks(s.getMostBlocks()), split(s.getSplit()), scratchBytes(s.getScratchBytes()),
        indexBits(s.getIndexBits()), resident(s.getResident()), nextEarly(s.getNextEarly()),
        nextBeside(s.getNextBeside()), beside(s.getBeside()), narrow(s.getNarrow()) {}

  /// Whether the tiles of an exact product are such ones.
  bool hasTile(int64_t rowsOf, int64_t columnsOf, int64_t depthOf, int64_t threadsOf,
               int64_t alongRow, int64_t matrices, int64_t parts) const {
    return rows == rowsOf && columns == columnsOf && depth == depthOf && threads == threadsOf &&
           rowThreads == alongRow && lanes == matrices && vectors == parts;
  }

  Schedule attr(mlir::MLIRContext *context) const {
    return Schedule::get(context, form, threads, lanes, vectors, rowThreads, kept, rows, columns,
                         depth, sharedBytes, mostBlocks, split, scratchBytes, indexBits, resident,
                         nextEarly, nextBeside, beside, narrow);
  }
};

/// And what it should take.
struct RankedChoice {
  ScheduleChoice choice;
  double cost;
};

/// Puts `way` behind those that cost no more.
template <typename Way> void insertByCost(llvm::SmallVectorImpl<Way> &ranked, const Way &way) {
  ranked.insert(
      llvm::upper_bound(ranked, way, [](const Way &a, const Way &b) { return a.cost < b.cost; }),
      way);
}

/// Of ways by one template, the best first: those that measuring may find to be better, since
/// estimates are off by some tenths.
void keepNear(llvm::SmallVectorImpl<RankedChoice> &ranked);

/// Neighbouring points of a thread: 16 bytes of the narrowest large operand, if rows of
/// `space` can be cut so.
unsigned lanesFor(kernel::LaunchOp launch, mlir::RankedTensorType space);

/// The product of `extents`; -1 where one is not known.
int64_t volumeOf(llvm::ArrayRef<int64_t> extents);

/// The way to run a launch of one reduction whose points' threads share it (columnReduction).
void scheduleColumn(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
/// The way to run an operator that works along one axis.
void scheduleLine(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
/// The way to order lines along `axis` of `x` by all blocks; false, with nothing chosen, where it
/// has none.
bool scheduleGridOrder(ScheduleChoice &choice, mlir::RankedTensorType x, unsigned axis,
                       const GpuArch &arch);
/// The way to order such lines digit by digit, a block a line. `all`: whether all of a line's
/// elements are results, or only the first ones.
bool scheduleBlockOrder(ScheduleChoice &choice, mlir::RankedTensorType x, unsigned axis, bool all);
/// The way to find places of elements that are not zero.
void scheduleCollect(ScheduleChoice &choice, prim::NonzeroOp op, const GpuArch &arch);
/// The way to run a launch of kind row.
void scheduleRow(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
/// A product on mma.sync whose rows or columns are open, for runs that have few of them.
llvm::SmallVector<FewRows> scheduleFewMma(kernel::LaunchOp launch, Schedule many,
                                          const GpuArch &arch);
/// Points of open extents that are reductions each: few have threads that share them.
llvm::SmallVector<FewRows> scheduleFewPoints(kernel::LaunchOp launch, Schedule many,
                                             const GpuArch &arch);
/// Attention of open queries for runs that have few of them: tiles are small.
llvm::SmallVector<FewRows> scheduleFewQueries(kernel::LaunchOp launch, Schedule many,
                                              const GpuArch &arch);
/// Whether a row kernel should do `op`, which reduces axes before others: rows are short, and
/// enough for a thread each.
bool reducesBeforeLines(prim::ReduceOp op, const GpuArch &arch);

/// Replaces the last of `all`, in which nothing is chosen yet, by the ways to run a launch of kind
/// attention, best first.
void scheduleAttention(llvm::SmallVector<ScheduleChoice> &all, kernel::LaunchOp launch,
                       const GpuArch &arch);
/// The same for a launch that is made of a product or convolution. `tf32`: operands of f32 may be
/// rounded.
void scheduleProducts(llvm::SmallVector<ScheduleChoice> &all, kernel::LaunchOp launch,
                      const GpuArch &arch, bool tf32);

/// The templates for wgmma that take a product, best first, and the estimate of the first; 0 if
/// none does. `start`: nothing is chosen yet.
double scheduleWgmmas(llvm::SmallVector<ScheduleChoice> &all, const ScheduleChoice &start,
                      kernel::LaunchOp launch, const GpuArch &arch, bool tf32);
/// Ways that the templates for wgmma have beside their best, for a launch that one of them takes.
llvm::SmallVector<RankedChoice> otherWgmmas(const ScheduleChoice &start, kernel::LaunchOp launch,
                                            const GpuArch &arch);
/// The same of the template for attention by wgmma.
llvm::SmallVector<RankedChoice> otherAttentions(const ScheduleChoice &start,
                                                kernel::LaunchOp launch, const GpuArch &arch);
/// Whether nobody writes the right operand of a product while a model runs: it is a weight.
bool multipliesWeights(kernel::LaunchOp launch, mlir::Operation *product);

/// What is chosen for up to each of some numbers of open rows, which ascend, of `rowElements`
/// results each: neighbours of one schedule are one, and the last is not that of `many`.
llvm::SmallVector<FewRows>
schedulesByRows(llvm::ArrayRef<std::pair<ScheduleChoice, int64_t>> choices, int64_t rowElements,
                Schedule many);

/// The way to run such a launch in the general form: large tiles read shared memory less often, if
/// there are enough of them.
void scheduleExactProduct(ScheduleChoice &choice, kernel::LaunchOp launch, const GpuArch &arch);
/// The same for runs of few of its rows, where these are open: of the fewest first.
llvm::SmallVector<FewRows> scheduleFewExactRows(kernel::LaunchOp launch, Schedule many,
                                                const GpuArch &arch);
/// Whether both operands of a product of few rows, or of few columns, lie along what it sums.
bool isSkinny(mlir::Operation *product);
/// A few columns a warp, or rows where the columns are few: as many as keep its lanes busy at the
/// end. Of a product of such sizes.
void scheduleSkinny(ScheduleChoice &choice, kernel::LaunchOp launch, const ProductSizes &sizes,
                    const GpuArch &arch);

} // namespace tcc::codegen::device
