//===- Primitives.h - Which primitives are implemented -----------*- C++ -*-===//
#pragma once
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <string>

/// A line "NAME INTERPRETER CODEGEN" of yes, no or host for every operator of prim. An operator
/// counts as compiled if one of its uses does that stands in the IR files `samples` or, for one
/// value a point, that follows from its definition.
llvm::Expected<std::string> listPrimitives(llvm::ArrayRef<std::string> samples);
