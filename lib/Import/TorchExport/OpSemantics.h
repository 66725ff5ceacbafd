//===- OpSemantics.h - Which ATen operators alias or mutate ------*- C++ -*-===//
//
// torch's schemas say which results share storage with an argument and which
// arguments are written; the exported file does not carry them, so what the
// importer needs of them is tabled here by operator.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tcc::torchexport {

/// When the result of a view operator shares its operand's storage.
enum class AliasWhen {
  Always,
  OperandContiguous, ///< contiguous
  NoCopy,            ///< reshape, flatten: as long as strides allow
  SameDType,         ///< to, type_as, unless told to copy
  Evaluating,        ///< dropout with train = false
};

/// How a write to the result becomes a write to the operand.
enum class WriteBack {
  Identity, ///< the operand is the written value
  Reshape,  ///< the written value under the operand's shape
  Inverse,  ///< the operator undone (permute, movedim)
  Again,    ///< the operator is its own inverse (transpose)
  SelectScatter,
  SliceScatter,
  NarrowScatter,
  DiagonalScatter,
  StridedScatter,
  UnbindScatter,
  UnfoldScatter,
  SplitScatter,
  RealPart,
  ImaginaryPart,
  AsComplex,
  AsReal,
  Refused, ///< several elements are one (expand), or nobody writes through it
};

struct ViewSemantics {
  AliasWhen when;
  WriteBack write;
};

/// `op` is the operator's name without namespace and overload ("transpose").
std::optional<ViewSemantics> viewSemantics(llvm::StringRef op);

/// What an in-place operator ("add_") computes and how it changes its operand.
struct InPlaceSemantics {
  std::string functional;   ///< target of the functional form ("add.Tensor")
  llvm::StringRef argument; ///< name of the changed argument ("self", "out")
  bool changesShape;        ///< `unsqueeze_`: the operand becomes a view of itself
  bool isOut = false;       ///< the argument is none of the functional form's
  llvm::SmallVector<llvm::StringRef, 2> others =
      {};              ///< names of what further results are written to
  bool isStep = false; ///< of an optimizer: the others may be absent, and gradients that are not
                       ///< scaled (`grads` without `grad_scale`) stay
};

/// `target` is "add_.Tensor"; nothing when the operator changes no argument.
std::optional<InPlaceSemantics> inPlaceSemantics(llvm::StringRef target);

/// Operators that only tell the compiler something and have no results it uses.
bool isAnnotation(llvm::StringRef op);

} // namespace tcc::torchexport
