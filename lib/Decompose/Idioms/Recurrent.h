//===- Recurrent.h - RNN, GRU and LSTM over time -----------------*- C++ -*-===//
//
// One direction of one layer. Formats differ in how they name activations, order gates and store
// weights; what a turn computes is here. Gates are those of ONNX, in its order: z, r, h of a GRU;
// i, o, f, c of an LSTM. Weights that stack them in another order are used as they lie: no gate is
// moved, which weights that come at run time would pay for in each run.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/PrimBuilder.h"
#include <functional>

namespace tcc {

enum class RecurrentCell : uint8_t { Rnn, Gru, Lstm };

inline int64_t gatesOf(RecurrentCell cell) {
  return cell == RecurrentCell::Rnn ? 1 : cell == RecurrentCell::Gru ? 3 : 4;
}
/// An LSTM's second state is its cell.
inline int64_t statesOf(RecurrentCell cell) { return cell == RecurrentCell::Lstm ? 2 : 1; }
/// Of an RNN, of a GRU's gates and candidate, of an LSTM's gates, candidate and cell.
inline size_t activationsOf(RecurrentCell cell) {
  return cell == RecurrentCell::Rnn ? 1 : cell == RecurrentCell::Gru ? 2 : 3;
}

struct RecurrentDirection {
  using Activation = std::function<mlir::Value(PrimBuilder &, mlir::Value)>;
  /// Rows of `state` times the weights of `count` gates, of which the first one lies at `first`.
  using StateProduct =
      std::function<mlir::Value(PrimBuilder &, mlir::Value state, int64_t first, int64_t count)>;

  RecurrentCell cell;
  mlir::Value projected; ///< [T, B, gates * H]: the inputs times their weights, without biases
  StateProduct product;
  llvm::SmallVector<Activation> activations;
  llvm::SmallVector<mlir::Value> states; ///< the first, [B, H]
  Dim hidden;                            ///< H
  /// Where each gate lies in the stacked ones; empty: in order. A GRU's h is the last.
  llvm::SmallVector<int64_t> places;
  mlir::Value inputBias, stateBias; ///< [gates * H]; both or neither
  mlir::Value peephole;             ///< [3 * H] of an LSTM: i, o, f; or null
  mlir::Value lengths;              ///< [B]: where a sequence ends; or null
  double clip = 0;                  ///< of what is activated; 0: none
  bool inputForget = false;         ///< an LSTM's f is 1 - i
  bool linearBeforeReset = false;   ///< a GRU resets the product, not the state
  bool backwards = false;
};

/// The weights [gates * H, H] of a state, as one matrix: cut by gate, then multiplied.
RecurrentDirection::StateProduct productWith(mlir::Value weights, Dim hidden);

/// [T, B, H], then the last states. Empty where the states would change their shape.
llvm::SmallVector<mlir::Value> runRecurrent(PrimBuilder &b, RecurrentDirection direction);

} // namespace tcc
