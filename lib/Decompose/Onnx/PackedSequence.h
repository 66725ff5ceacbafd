//===- PackedSequence.h - Sequences of unknown length ------------*- C++ -*-===//
//
// A sequence that grows over the turns of a loop, or is cut from an axis of
// unknown extent, has a length that only the run knows. It is packed in two
// tensors: the elements of all its tensors one after the other, and a table with
// a record for each: where it begins, and its extents. All its tensors have one
// element type and one rank; their extents may differ. It stands as a sequence of
// these two whose `elementType` is the tensor type of what it holds, unranked as
// long as that is nothing.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "tcc/Decompose/Rules.h"

namespace tcc {

bool isPacked(const Lowered &list);
/// Whether `list` can be packed: tensors of one type and rank, at most as many axes as a
/// record has room for.
bool canPack(PrimBuilder &b, const Lowered &list);
/// A sequence as a packed one. `canPack` holds.
Lowered packed(PrimBuilder &b, const Lowered &list);
/// Cuts x along `axis` into parts of `size`, of which the last may be smaller; `drop`
/// takes the axis away from each. Parts of more than one must be cut from axis 0.
Lowered packedParts(PrimBuilder &b, mlir::Value x, int64_t axis, Dim size, bool drop);

Dim packedLength(PrimBuilder &b, const Lowered &list);
/// The sequence with a tensor after its last; nullopt when the tensor's rank or type is another.
std::optional<Lowered> packedAppend(PrimBuilder &b, const Lowered &list, mlir::Value x);
/// The sequence with a tensor before element `position`, and without that element (negative: from
/// the end), checked when the model runs.
mlir::FailureOr<Lowered> packedInsert(NodeContext &c, const Lowered &list, mlir::Value x,
                                      Dim position);
mlir::FailureOr<Lowered> packedErase(NodeContext &c, const Lowered &list, Dim position);
/// Element `position` (negative: from the end), checked when the model runs.
mlir::FailureOr<mlir::Value> packedAt(NodeContext &c, const Lowered &list, Dim position);
mlir::FailureOr<mlir::Value> packedConcat(NodeContext &c, const Lowered &list, int64_t axis,
                                          bool newAxis);

/// What a loop or branch carries for `list`: a tensor as itself, a packed sequence as two;
/// nullopt when there is anything else in it.
std::optional<llvm::SmallVector<mlir::Value>> carried(llvm::ArrayRef<Lowered> list);
/// The inverse: `like` says what each is, and the ranks of packed sequences.
std::vector<Lowered> uncarried(llvm::ArrayRef<Lowered> like, mlir::ValueRange values);
/// Takes over ranks of packed sequences that only `other` knows; false when two differ.
bool mergeRanks(llvm::MutableArrayRef<Lowered> list, llvm::ArrayRef<Lowered> other);

} // namespace tcc
