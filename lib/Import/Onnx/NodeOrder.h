//===- NodeOrder.h - Definitions before uses --------------------*- C++ -*-===//
#pragma once
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <string>
#include <vector>

namespace tcc::onnximport {

using NodeList = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

/// What graphs use but do not define, found once for each.
class Captures {
public:
  const llvm::StringSet<> &of(const onnx::GraphProto &graph);

private:
  std::map<const onnx::GraphProto *, llvm::StringSet<>> known;
};

/// The nodes in an order where every use follows its definition: the file's
/// order if that is one, as ONNX asks, else the nearest. `cycle` receives the
/// indices of the nodes on a cycle if there is one.
std::vector<int> orderNodes(const NodeList &nodes, Captures &captures, std::vector<int> &cycle);

} // namespace tcc::onnximport
