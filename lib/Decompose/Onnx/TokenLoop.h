//===- TokenLoop.h - A decoder run token by token ----------------*- C++ -*-===//
#pragma once
#include "Decompose/Onnx/TokenSearch.h"

namespace tcc {

/// What all searches of com.microsoft are: the loop, and all of it that does not choose tokens. A
/// row is a sequence that is continued.
class TokenLoop {
public:
  /// Where the operands are; those that an operator does not have come after all.
  struct Operands {
    static constexpr size_t none = 99;
    size_t maxLength, minLength, penalty, vocabulary, first, mask;
    size_t starts = none; ///< the tokens that a decoder with an encoder begins with [B, S]
    size_t processor = none;
  };
  /// The tokens [R, 1] that the rows go on with; of each, the row that it continues (none: the same
  /// one), and what the search carries on.
  struct Choice {
    mlir::Value tokens, rows;
    llvm::SmallVector<mlir::Value> state;
  };

  TokenLoop(NodeContext &c, const Operands &operands) : c(c), b(c.b), operands(operands) {}
  virtual ~TokenLoop() = default;

  /// Reads operands and attributes. Each prompt begins `rowsOfPrompt` rows.
  mlir::LogicalResult read(int64_t rowsOfPrompt);
  /// Runs the decoder; the sequences [R, L] and the state at its end.
  struct End {
    mlir::Value sequences;
    llvm::SmallVector<mlir::Value> state;
  };
  mlir::FailureOr<End> run(mlir::ValueRange state);

protected:
  /// `logits` [R, V] are those of the last token. The first value of the state tells what is at its
  /// end ([.., 1], bool): the loop stops where all are.
  virtual Choice choose(mlir::Value logits, mlir::Value sequences, mlir::ValueRange state) = 0;
  /// `scores` [R, V] with what the operands say of tokens.
  mlir::Value admitted(mlir::Value scores, mlir::Value sequences) const;
  Dim prompts() const { return b.dim(c.in(0), 0); }
  Dim begun() const { return b.dim(starts, 1); } ///< tokens that sequences begin with
  /// How many tokens there are to choose from, if the file says it.
  std::optional<int64_t> words() const;
  mlir::Value lengthOf(mlir::Value sequences, mlir::Type type) const;

  NodeContext &c;
  PrimBuilder &b;
  Operands operands;
  Dim maxLength, minLength;
  int64_t eos = 0, pad = 0, ngram = 0, rowsOfPrompt = 1;
  mlir::Value penalty, temperature; ///< null: none
  mlir::Type word;                  ///< of token numbers

private:
  enum class Kind : uint8_t { decoder, tokensToTokens, featuresToTokens };
  /// What a decoder with an encoder reads in every turn: mask and hidden states, and the keys and
  /// values of the encoder's tokens.
  struct Encoded {
    llvm::SmallVector<mlir::Value> before, after;
  };

  mlir::LogicalResult readPrompt();
  mlir::LogicalResult readTimes();
  mlir::Value eachRow(mlir::Value v) const;
  mlir::Value seen(size_t i, mlir::Value first) const;
  mlir::FailureOr<mlir::Value> promptMask(mlir::Value ids) const;
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> begin(mlir::Region &decoder,
                                                        mlir::ValueRange state);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> beginEncoded(mlir::Region &decoder,
                                                               mlir::ValueRange state);
  std::optional<llvm::SmallVector<mlir::Value>> emptyPasts(mlir::TypeRange types, int64_t rank);
  std::optional<llvm::SmallVector<mlir::Value>> turn(mlir::Region &decoder, size_t states,
                                                     mlir::ValueRange carried);
  std::optional<llvm::SmallVector<mlir::Value>> advanced(llvm::ArrayRef<mlir::Value> given,
                                                         size_t states, mlir::ValueRange carried);
  void passCache(std::vector<Lowered> &arguments, mlir::Value read, mlir::Value sequences) const;
  size_t leads() const;

  Kind kind = Kind::decoder;
  std::optional<TimeTokens> times; ///< of Whisper's texts
  mlir::Value timed;               ///< whether they are wanted: a run says it; or null
  mlir::Value starts;              ///< what the sequences begin with [B, S]
  Encoded encoded;
  size_t shared = 0; ///< operands of the decoder that say how a cache of max_length is filled
  std::string fault; ///< of the operands, found in a turn
};

} // namespace tcc
