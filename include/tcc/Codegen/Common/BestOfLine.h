//===- BestOfLine.h - The place of an extremum along an axis -----*- C++ -*-===//
//
// What a template that looks for it is made of: an element, or lanes of them, after the best ones
// seen so far, and what several have found folded. Of equal elements the first one's place counts,
// or the last one's, whatever the order in which they were seen.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Codegen/Common/LaunchFrame.h"
#include <tuple>

namespace tcc::codegen {

/// Of one line, of one in each lane, or of a line whose elements are the lanes (`along` of them),
/// where each lane has a best of its own until they are folded.
class BestOfLine {
public:
  /// The best element of what was seen, of compute type, and its place along the axis: an i32, or
  /// an i64 where lines may be longer.
  struct Best {
    mlir::Value value, place;
  };

  /// What is looked for along an axis of `x`: the largest or the smallest, the last one of equals.
  struct Sought {
    mlir::Value x;
    unsigned axis;
    prim::ReduceKind kind;
    bool last = false;
    static Sought of(prim::ArgReduceOp op) {
      return {op.getX(), static_cast<unsigned>(op.getAxis()), op.getKind(), op.getLast()};
    }
  };
  /// `at`: the line, whose index along the axis is anything; it has `length` elements, `fits` if
  /// an i32 is known to hold their places.
  BestOfLine(LaunchFrame &f, Sought sought, Coords at, mlir::Value length, bool fits = false);

  /// Of nothing, in all lanes at hand.
  Best none();
  /// The elements from `first` on, null (and the launch failed) if there is no code for them.
  mlir::Value elements(mlir::Value first, unsigned along);
  /// With those elements seen after `best`, whose places are lower.
  Best with(const Best &best, mlir::Value elements, mlir::Value first, unsigned along);
  /// With all of [low, high) seen after `from`.
  Best walk(mlir::Value low, mlir::Value high, unsigned along, const Best &from);
  /// Of two that saw different elements.
  Best better(const Best &x, const Best &y);
  /// Of all of `count` lanes, or of as many in each of `to`.
  Best folded(Best lanes, unsigned count, unsigned to = 1);
  /// Of a whole line, `along` elements at once.
  Best ofAll(mlir::Value length, unsigned along);
  /// The place, as an element of this type.
  mlir::Value placeAs(const Best &best, mlir::Type element);
  /// The place, as the result of the launch.
  void store(const Best &best);

private:
  mlir::Value beyond(mlir::Value v, mlir::Value best);
  mlir::Value equal(mlir::Value v, mlir::Value best);
  std::tuple<Best, unsigned, mlir::Value> ofOpen(mlir::Value length, unsigned along);

  LaunchFrame &f;
  Sought sought;
  Coords at;
  mlir::Type e, place;
};

} // namespace tcc::codegen
