//===- LaneAccess.h - Neighbouring points in memory --------------*- C++ -*-===//
//
// How `lanes` points are read and written at once. Point index: one Coord an axis. Along the lanes
// a coord is uniform, affine (base + lane * step) or an arbitrary vector; that decides whether an
// access is a scalar, a contiguous vector, a few vectors shuffled (LaneStrides.cpp), rows of a
// block transposed in registers (LaneTranspose.cpp), lanes picked from vectors that begin at the
// first one (LaneWindows.cpp), or a gather. Index arithmetic folds as it is built and stays affine
// wherever it can, since all of this hangs on it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "tcc/Codegen/Common/LinearForm.h"
#include "llvm/ADT/DenseMap.h"
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

/// n vectors of n elements, n a power of two, become the elements of `rows` across.
void transposeSquare(mlir::ImplicitLocOpBuilder &b, llvm::MutableArrayRef<mlir::Value> rows);

class LaneAccess {
public:
  LaneAccess(mlir::ImplicitLocOpBuilder &b, unsigned lanes) : b(b), numLanes(lanes) {}

  unsigned lanes() const { return numLanes; }
  mlir::ImplicitLocOpBuilder &builder() { return b; }

  /// Row 0 comes first. Reads that are contiguous along the rows are transposed in
  /// registers from then on, where the lanes would gather (LaneTranspose.cpp).
  void setRowBlock(RowBlock rows) {
    if (rows.row == 0)
      knownRows.clear();
    block = rows;
  }
  /// `index` is a multiple of the number of lanes.
  void bindAligned(mlir::Value index) { aligned.insert(index); }
  /// The point at `index`, and those that the lanes are from there on, lie in [low, high).
  void bindRange(mlir::Value index, int64_t low, int64_t high) { ranges[index] = {low, high}; }

  /// Writes `element` (compute type) to `memory` at `at`, converted for storage.
  void store(const Memory &memory, llvm::ArrayRef<Coord> at, mlir::Value element);
  /// Writes elements[i] to `memory` at ats[i]. Where they interleave, lane by lane,
  /// vectors are shuffled together instead of scattered.
  void storeAll(const Memory &memory, llvm::ArrayRef<Coords> ats,
                llvm::ArrayRef<mlir::Value> elements);
  mlir::Value load(const Memory &memory, llvm::ArrayRef<Coord> at);

  /// Element lanes[i] of a few vectors of 32-bit elements, laid end to end.
  using Picker = std::function<mlir::Value(llvm::ArrayRef<mlir::Value> vectors, mlir::Value lanes)>;
  void setPicker(unsigned lanesOfVector, Picker pick) {
    pickedLanes = lanesOfVector;
    picker = std::move(pick);
  }

  struct Place {
    mlir::Value pointer; ///< of lane 0
    unsigned alignment;  ///< bytes that it is known to be a multiple of
    mlir::Type elementType;
  };
  /// Where `at` lies in `memory`, if neighbours along the lanes are side by side there.
  std::optional<Place> placeOf(const Memory &memory, llvm::ArrayRef<Coord> at);
  /// What evaluating something would read.
  struct Reading {
    std::optional<Place> place; ///< if it is read as it lies there, neighbours along the lanes
    bool neighbours = true;     ///< all memory is read along the lanes, or at one point
  };

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

protected:
  /// What a row block's rows read at one place, by its index at row 0.
  struct Rows {
    mlir::Value pointer;
    llvm::SmallVector<std::pair<LinearForm, int64_t>, 6> at; ///< base and step an axis
    llvm::SmallVector<mlir::Value> vectors;                  ///< a row each, as stored
    bool backwards = false;                                  ///< each row lies before the last one
  };
  mlir::Value recordPlace(const Memory &memory, const Coord &linear);
  mlir::Value loadStrided(const Memory &memory, const Coord &linear);
  mlir::Value loadFromRows(const Memory &memory, llvm::ArrayRef<Coord> at);
  mlir::Value laneOf(mlir::Value v, unsigned lane);
  /// Supposes that the lanes of `c`, an index below `extent`, lie as those of `count` that ascend;
  /// both may be open.
  void supposeWindow(const Coord &c, int64_t extent, int64_t count);
  mlir::Value loadFromWindow(const Memory &memory, const Coord &linear);
  mlir::Value maskedLoad(mlir::VectorType type, mlir::Value pointer, unsigned align);
  mlir::Value gather(const Memory &memory, const Coord &linear);
  bool alignedToLanes(mlir::Value index) const;
  /// The same of a sum whose terms may cancel: a row's start, and what is counted from before it.
  bool placedForLanes(mlir::Value linear) const;
  /// `v` as a multiple of `divisor` and what is left of it, where the code that makes it says so.
  std::optional<std::pair<mlir::Value, int64_t>> quotient(mlir::Value v, int64_t divisor);
  /// Where all lanes are known to lie: from the first index to before the second.
  std::optional<std::pair<int64_t, int64_t>> rangeOf(const Coord &c) const;
  Coord addCoord(const Coord &c, mlir::Value offset);
  Coord scaleCoord(const Coord &c, int64_t factor);
  mlir::Value andMasks(mlir::Value x, mlir::Value y);
  mlir::Value widen(mlir::Value x, bool vector);
  Coord linearIndex(mlir::ValueRange extents, llvm::ArrayRef<Coord> at);
  mlir::Value loadLinear(const Memory &memory, const Coord &linear);
  mlir::Value pointerAt(const Memory &memory, mlir::Value linear);
  /// What is known of the address of the lanes from element `base` on.
  unsigned alignmentAt(const Memory &memory, mlir::Value base) const;

  mlir::ImplicitLocOpBuilder &b;
  unsigned numLanes;
  mlir::Value mask; ///< vector of i1: lanes that may load; null: all
  /// What Elemental::readingOf has seen.
  struct Recorder {
    Reading reading;
    mlir::Value read; ///< stands for what would be read from the place
  };
  Recorder *recorder = nullptr;
  /// Lanes that are supposed to lie close behind lane 0, as those of a resized row do. Whether they
  /// do is known when the kernel runs.
  struct Window {
    mlir::Value first;     ///< index of lane 0
    unsigned vectors;      ///< that begin there and hold all lanes
    mlir::Value distances; ///< vector<lanes x i32>, from there
    mlir::Value holds;     ///< i1
  };
  /// `moved` is `vector` + `offset`, and supposed to be what that is.
  mlir::Value keepWindow(mlir::Value vector, mlir::Value offset, mlir::Value moved);
  llvm::DenseMap<mlir::Value, Window> windows; ///< by a coord's vector
  Picker picker;
  unsigned pickedLanes = 0;
  RowBlock block;
  llvm::SmallVector<Rows, 2> knownRows;
  llvm::DenseSet<mlir::Value> aligned;
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> ranges;
};

} // namespace tcc::codegen
