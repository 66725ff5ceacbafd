//===- OnnxMutator.h - Damages models so that they still parse --*- C++ -*-===//
//
// Flipped bytes mostly break a length and die in the parser. This changes what
// a model says instead: extents, attributes, element types, operators, names,
// the order and number of nodes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "onnx/onnx_pb.h"
#include <random>

namespace tcc::test {

/// Makes one to four random changes.
void mutate(onnx::ModelProto &model, std::minstd_rand &random);

} // namespace tcc::test
