//===- Elemental.h - A primitive's value at a point --------------*- C++ -*-===//
//
// The heart of code generation, for CPU and GPU alike. A kernel's region is a
// graph of primitives; a loop nest asks for the value of what it stores at one
// point, or at `lanes` neighbouring points at once, and the emitter builds the
// code for it by walking back through the graph: views change the index, element
// operators compute, memory is loaded. So any composition of them fuses without
// a buffer between. The idea is XLA's ElementalIrEmitter, here with vectors.
//
// Point index: one Coord an axis. Along the lanes a coord is uniform, affine
// (base + lane * step) or an arbitrary vector; that decides whether a load is a
// scalar, a contiguous vector or a gather.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tcc/Codegen/Common/LinearForm.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "llvm/ADT/DenseSet.h"
#include <functional>
#include <optional>

namespace tcc::codegen {

/// The index along one axis of `lanes` points.
struct Coord {
  mlir::Value base;   ///< index of lane 0; null when `vector` is set
  int64_t step = 0;   ///< lane l is at base + l * step
  mlir::Value vector; ///< vector<lanes x index>, when not affine

  static Coord uniform(mlir::Value v) { return {v, 0, {}}; }
  static Coord affine(mlir::Value v, int64_t step) { return {v, step, {}}; }
  static Coord any(mlir::Value v) { return {{}, 0, v}; }
  bool isUniform() const { return !vector && step == 0; }
  bool operator==(const Coord &o) const {
    return base == o.base && step == o.step && vector == o.vector;
  }
};
using Coords = llvm::SmallVector<Coord, 6>;

/// Points that are evaluated one row of lanes after the other: row r has the index
/// first + r along one axis, and nothing else differs.
struct RowBlock {
  mlir::Value first;
  unsigned rows = 0; ///< a power of two; 0: no block
  unsigned row = 0;  ///< the one at hand
};

/// A dense row-major tensor in memory.
struct Memory {
  mlir::Value pointer;                    ///< !llvm.ptr, of any address space
  llvm::SmallVector<mlir::Value> extents; ///< index
  mlir::Type elementType;                 ///< prim element type
  /// Bytes that the pointer is a multiple of; 0: an element's. Vectors whose place allows it
  /// are then read and written as aligned: a GPU takes others apart.
  unsigned alignment = 0;
};

/// In registers, 16-bit and narrower floats are f32 and unsigned integers
/// signless; in memory they keep their width and bool is a byte.
mlir::Type computeType(mlir::Type elementType);
mlir::Type storageType(mlir::Type elementType);

class Elemental {
public:
  /// Gives the value of an operator that the caller computes itself.
  using Provider = std::function<mlir::Value(llvm::ArrayRef<Coord>)>;

  Elemental(mlir::ImplicitLocOpBuilder &b, unsigned lanes) : b(b), numLanes(lanes) {}

  unsigned lanes() const { return numLanes; }
  void setLanes(unsigned lanes) {
    numLanes = lanes;
    forget();
  }

  /// `value` (a region argument) lies in memory / is a host scalar.
  void bindMemory(mlir::Value value, Memory memory) { memories[value] = std::move(memory); }
  void bindScalar(mlir::Value value, mlir::Value scalar) { scalars[value] = scalar; }
  void bindProvider(mlir::Value value, Provider provider) {
    providers[value] = std::move(provider);
  }
  void unbindProvider(mlir::Value value) { providers.erase(value); }
  const Memory *memoryOf(mlir::Value value) const;
  /// Only lanes of `lanesMask` (vector of i1, null: all) are loaded and stored.
  void setMask(mlir::Value lanesMask) {
    mask = lanesMask;
    forget();
  }
  /// Row 0 comes first. Reads that are contiguous along the rows are transposed in
  /// registers from then on, where the lanes would gather (ElementalTranspose.cpp).
  void setRowBlock(RowBlock rows) {
    if (rows.row == 0)
      knownRows.clear();
    block = rows;
  }
  /// `index` is a multiple of the number of lanes.
  void bindAligned(mlir::Value index) { aligned.insert(index); }
  /// The point at `index`, and those that the lanes are from there on, lie in [low, high).
  void bindRange(mlir::Value index, int64_t low, int64_t high) { ranges[index] = {low, high}; }

  /// The value of `value` at `at`, of its compute type: a scalar when it is the
  /// same in all lanes, else a vector.
  mlir::Value eval(mlir::Value value, llvm::ArrayRef<Coord> at);
  /// As eval, always a vector when lanes > 1.
  mlir::Value evalVector(mlir::Value value, llvm::ArrayRef<Coord> at);
  /// Writes `element` (compute type) to `memory` at `at`, converted for storage.
  void store(const Memory &memory, llvm::ArrayRef<Coord> at, mlir::Value element);
  /// Writes elements[i] to `memory` at ats[i]. Where they interleave, lane by lane,
  /// vectors are shuffled together instead of scattered.
  void storeAll(const Memory &memory, llvm::ArrayRef<Coords> ats,
                llvm::ArrayRef<mlir::Value> elements);
  mlir::Value load(const Memory &memory, llvm::ArrayRef<Coord> at);

  struct Place {
    mlir::Value pointer; ///< of lane 0
    unsigned alignment;  ///< bytes that it is known to be a multiple of
    mlir::Type elementType;
  };
  /// What evaluating `value` at `at` would read.
  struct Reading {
    std::optional<Place> place; ///< if it is read as it lies there, neighbours along the lanes
    bool neighbours = true;     ///< all memory is read along the lanes, or at one point
  };
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

  mlir::ImplicitLocOpBuilder &builder() { return b; }

  //===-- Small arithmetic that folds ---------------------------------------===//
  mlir::Value index(int64_t v);
  mlir::Value addIndex(mlir::Value x, mlir::Value y);
  mlir::Value subIndex(mlir::Value x, mlir::Value y);
  mlir::Value mulIndex(mlir::Value x, mlir::Value y);
  mlir::Value divIndex(mlir::Value x, mlir::Value y); ///< of values not negative
  mlir::Value remIndex(mlir::Value x, mlir::Value y);
  mlir::Value splat(mlir::Value scalar, unsigned lanes);
  /// A coord as vector<lanes x index>, or as the base when uniform.
  mlir::Value coordValue(const Coord &c);

private:
  struct Known {
    Coords at;
    mlir::Value result;
  };
  /// What a row block's rows read at one place, by its index at row 0.
  struct Rows {
    mlir::Value pointer;
    llvm::SmallVector<std::pair<LinearForm, int64_t>, 6> at; ///< base and step an axis
    llvm::SmallVector<mlir::Value> vectors;                  ///< a row each, as stored
  };
  mlir::Value recordPlace(const Memory &memory, const Coord &linear);
  mlir::Value loadStrided(const Memory &memory, const Coord &linear);
  mlir::Value loadFromRows(const Memory &memory, llvm::ArrayRef<Coord> at);
  mlir::Value evalNew(mlir::Value value, llvm::ArrayRef<Coord> at);
  mlir::Value evalView(mlir::Operation *op, llvm::ArrayRef<Coord> at);
  mlir::Value evalReshape(prim::ReshapeOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalBroadcast(prim::BroadcastOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalPad(prim::PadOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalConcat(prim::ConcatOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalIndexing(mlir::Operation *op, llvm::ArrayRef<Coord> at);
  mlir::Value chosenByPosition(mlir::RankedTensorType type, llvm::ArrayRef<Coord> at,
                               llvm::function_ref<mlir::Value(int64_t)> element);
  mlir::Value evalConstant(prim::ConstantOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalReduce(mlir::Operation *op, llvm::ArrayRef<Coord> at);
  mlir::Value evalPool(prim::PoolOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalDot(prim::DotOp op, llvm::ArrayRef<Coord> at);
  mlir::Value evalConv(prim::ConvOp op, llvm::ArrayRef<Coord> at);
  Coords convInputAt(prim::ConvOp op, llvm::ArrayRef<Coord> at, llvm::ArrayRef<Coord> k,
                     mlir::Value &inside, mlir::Value &laneMask);
  Coord groupChannel(prim::ConvOp op, const Coord &outChannel);
  mlir::Value evalRandom(prim::RandomBitsOp op, llvm::ArrayRef<Coord> at);

  bool alignedToLanes(mlir::Value index) const;
  /// Where all lanes are known to lie: from the first index to before the second.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(const Coord &c) const;
  Coord addCoord(const Coord &c, mlir::Value offset);
  Coord scaleCoord(const Coord &c, int64_t factor);
  /// An index read from a tensor, clamped into [0, extent).
  Coord clampedIndex(mlir::Value element, mlir::Value extent);
  /// Whether 0 <= c < extent, and a coord that is safe to load at under it. Null: it always is.
  mlir::Value inRange(Coord &c, mlir::Value extent);
  mlir::Value andMasks(mlir::Value x, mlir::Value y);
  mlir::Value widen(mlir::Value x, bool vector);
  mlir::Value linearOffset(const Memory &memory, llvm::ArrayRef<Coord> at, Coord &linear);
  Coord linearIndex(mlir::ValueRange extents, llvm::ArrayRef<Coord> at);
  mlir::Value loadLinear(const Memory &memory, const Coord &linear);
  mlir::Value pointerAt(const Memory &memory, mlir::Value linear);
  /// What is known of the address of the lanes from element `base` on.
  unsigned alignmentAt(const Memory &memory, mlir::Value base) const;

  mlir::ImplicitLocOpBuilder &b;
  unsigned numLanes;
  mlir::Value mask; ///< vector of i1: lanes that may load; null: all
  /// What readingOf has seen.
  struct Recorder {
    Reading reading;
    mlir::Value read; ///< stands for what would be read from the place
  };
  Recorder *recorder = nullptr;
  RowBlock block;
  llvm::SmallVector<Rows, 2> knownRows;
  llvm::DenseSet<mlir::Value> aligned;
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> ranges;
  llvm::DenseMap<mlir::Value, Memory> memories;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, Provider> providers;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Known, 1>> memo;
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
