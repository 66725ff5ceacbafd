//===- NodeOrder.h - Definitions before uses --------------------*- C++ -*-===//
#pragma once
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include <string>
#include <vector>

namespace tcc::onnximport {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// The nodes in an order where every use follows its definition: the file's
/// order if that is one, as ONNX asks, else the nearest. `cycle` receives the
/// indices of the nodes on a cycle if there is one.
std::vector<int> orderNodes(const NodeList &nodes, std::vector<int> &cycle);

/// Names that the subgraphs of `node` use but do not define.
llvm::StringSet<> capturedNames(const onnx::NodeProto &node);

} // namespace tcc::onnximport
