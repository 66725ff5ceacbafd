//===- Elemental.h - A primitive's value at a point --------------*- C++ -*-===//
//
// The heart of code generation, for CPU and GPU alike. A kernel's region is a
// graph of primitives; a loop nest asks for the value of what it stores at one
// point, or at `lanes` neighbouring points at once, and the emitter builds the
// code for it by walking back through the graph: views change the index, element
// operators compute, memory is loaded. So any composition of them fuses without
// a buffer between. The idea is XLA's ElementalIrEmitter, here with vectors.
//
// How lanes are read from memory and written to it is LaneAccess: what an operator's value
// at a point is does not depend on it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/LaneAccess.h"
#include "tcc/Dialect/Prim/Prim.h"
#include <functional>
#include <optional>

namespace tcc::codegen {

class Elemental : public LaneAccess {
public:
  /// Gives the value of an operator that the caller computes itself.
  using Provider = std::function<mlir::Value(llvm::ArrayRef<Coord>)>;

  Elemental(mlir::ImplicitLocOpBuilder &b, unsigned lanes) : LaneAccess(b, lanes) {}

  void setLanes(unsigned lanes) {
    numLanes = lanes;
    forget();
  }

  struct Known {
    Coords at;
    mlir::Value result;
  };
  using Memo = llvm::DenseMap<mlir::Value, llvm::SmallVector<Known, 1>>;
  /// Evaluates points of other lanes, whose values are kept in `own`, and those of these lanes
  /// beside them.
  template <typename Fn> void withLanes(unsigned lanes, Memo &own, Fn fn) {
    std::swap(memo, own);
    std::swap(numLanes, lanes);
    fn();
    std::swap(numLanes, lanes);
    std::swap(memo, own);
  }

  /// `value` (a region argument) lies in memory / is a host scalar.
  void bindMemory(mlir::Value value, Memory memory) { memories[value] = std::move(memory); }
  void bindScalar(mlir::Value value, mlir::Value scalar) { scalars[value] = scalar; }
  void bindProvider(mlir::Value value, Provider provider) {
    providers[value] = std::move(provider);
  }
  const Memory *memoryOf(mlir::Value value) const;
  /// What `concat` is asked for lies in one of its operands, which begins at `begin`.
  struct Piece {
    prim::ConcatOp concat;
    unsigned input;
    mlir::Value begin;
  };
  /// Null: it may lie in any.
  void bindPiece(std::optional<Piece> of) { piece = std::move(of); }
  /// Loads of a part of a vector cost more than a question: of what is padded or concatenated,
  /// whether all lanes lie in one operand is asked first.
  void askForWholeVectors() { asksForWhole = true; }
  /// Only lanes of `lanesMask` (vector of i1, null: all) are loaded and stored.
  void setMask(mlir::Value lanesMask) {
    mask = lanesMask;
    forget();
  }
  /// The value of `value` at `at`, of its compute type: a scalar when it is the
  /// same in all lanes, else a vector.
  mlir::Value eval(mlir::Value value, llvm::ArrayRef<Coord> at);
  /// As eval, always a vector when lanes > 1.
  mlir::Value evalVector(mlir::Value value, llvm::ArrayRef<Coord> at);
  /// What evaluating `value` at `at` would read.
  Reading readingOf(mlir::Value value, llvm::ArrayRef<Coord> at);

  /// The index in x of what a convolution multiplies for its result at `at`, whose window does
  /// not vary along the lanes; safe to read at. `k` is as below, its channel may vary.
  /// `inside`: whether it is not in the padding; null: it never is.
  Coords convInputAt(prim::ConvOp op, llvm::ArrayRef<Coord> at, llvm::ArrayRef<Coord> k,
                     mlir::Value &inside);
  /// What a convolution multiplies for its result at `at`: `k` is the channel of the group,
  /// then the position in the window. Its input is 0 in the padding.
  mlir::Value evalConvInput(prim::ConvOp op, llvm::ArrayRef<Coord> at,
                            llvm::ArrayRef<mlir::Value> k);
  mlir::Value evalConvWeight(prim::ConvOp op, llvm::ArrayRef<Coord> at,
                             llvm::ArrayRef<mlir::Value> k);

  /// What a pool, channels first, makes of a window along all axes but the last, at a column of
  /// its operand's.
  mlir::Value evalPoolOfLine(prim::PoolOp op, llvm::ArrayRef<Coord> at);

  /// The extent of an axis of a value in the region.
  mlir::Value extent(mlir::Value value, unsigned axis);
  /// A host scalar of the region, computed inside the kernel.
  mlir::Value scalar(mlir::Value value);

  /// Values found so far no longer hold: a new block begins, or ends.
  void forget() { memo.clear(); }
  /// Evaluates inside a nested block; what it finds stays there.
  template <typename Fn> auto nested(Fn fn) {
    auto saved = memo;
    struct Restore {
      Elemental &e;
      decltype(saved) &s;
      mlir::Value m;
      RowBlock rows;
      ~Restore() {
        e.memo = std::move(s);
        e.mask = m;
        e.block = rows;
      }
    } restore{*this, saved, mask, block};
    block = {}; // what is nested may not happen for every row
    return fn();
  }

private:
  mlir::Value evalNew(mlir::Value value, llvm::ArrayRef<Coord> at);
  mlir::Value evalView(mlir::Operation *op, llvm::ArrayRef<Coord> at);
  mlir::Value evalReshape(prim::ReshapeOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalBroadcast(prim::BroadcastOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalPad(prim::PadOp op, llvm::ArrayRef<Coord> at);
  /// `whole`: the axis along which all lanes lie in the operand.
  mlir::Value evalPadAt(prim::PadOp op, llvm::ArrayRef<Coord> at, std::optional<unsigned> whole);
  mlir::Value evalConcat(prim::ConcatOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalConcatFrom(prim::ConcatOp op, llvm::ArrayRef<Coord> at, unsigned first,
                             mlir::Value begin);
  mlir::Value evalConcatMasked(prim::ConcatOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalIndexing(mlir::Operation *op, llvm::ArrayRef<Coord> at);
  mlir::Value chosenByPosition(mlir::RankedTensorType type, llvm::ArrayRef<Coord> at,
                               llvm::function_ref<mlir::Value(int64_t)> element);
  mlir::Value evalConstant(prim::ConstantOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalReduce(mlir::Operation *op, llvm::ArrayRef<Coord> at);
  mlir::Value evalPool(prim::PoolOp op, llvm::ArrayRef<Coord> at, unsigned axes);
  mlir::Value evalDot(prim::DotOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalConv(prim::ConvOp op, llvm::ArrayRef<Coord> at);
  Coords convInputAt(prim::ConvOp op, llvm::ArrayRef<Coord> at, llvm::ArrayRef<Coord> k,
                     mlir::Value &inside, mlir::Value &laneMask);
  Coord groupChannel(prim::ConvOp op, const Coord &outChannel);
  mlir::Value evalRandom(prim::RandomBitsOp op, llvm::ArrayRef<Coord> at);

  /// An index that moves with the lanes by a step, and its bounds.
  struct Position {
    Coord at;
    int64_t least, most;
  };
  /// The element of `v` at `at` as an index, if it is made of positions along known axes.
  std::optional<Position> positionOf(mlir::Value v, llvm::ArrayRef<Coord> at);
  /// An index read from a tensor, clamped into [0, extent).
  Coord clampedIndex(mlir::Value element, mlir::Value extent);
  /// Whether 0 <= c < extent, and a coord that is safe to load at under it. Null: it always is.
  mlir::Value inRange(Coord &c, mlir::Value extent);
  /// Whether all lanes of `c` lie in [0, extent). Null: nobody should ask.
  mlir::Value allInRange(const Coord &c, mlir::Value extent);
  /// A vector of elements like those of `like`, from one of two blocks.
  mlir::Value eitherVector(mlir::Value condition, mlir::Value like,
                           llvm::function_ref<mlir::Value()> then,
                           llvm::function_ref<mlir::Value()> otherwise);

  llvm::DenseMap<mlir::Value, Memory> memories;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, Provider> providers;
  std::optional<Piece> piece;
  bool asksForWhole = false;
  Memo memo;
};

/// One elementwise primitive on operands of compute type (all scalars or all
/// vectors of one length). Emits an error at `op` and gives null if it cannot.
mlir::Value emitElementwise(mlir::ImplicitLocOpBuilder &b, mlir::Operation *op,
                            mlir::ValueRange operands);
/// `kind` applied to two values of compute type, and its neutral element.
mlir::Value emitCombine(mlir::ImplicitLocOpBuilder &b, prim::ReduceKind kind,
                        mlir::Type elementType, mlir::Value x, mlir::Value y);
mlir::TypedAttr neutralElement(prim::ReduceKind kind, mlir::Type elementType);
mlir::Value emitCast(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Type from, mlir::Type to,
                     bool saturate);
/// The element type that a contraction's sum is kept in.
mlir::Type sumType(mlir::Type resultElement);

} // namespace tcc::codegen
