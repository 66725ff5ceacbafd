//===- MkldnnLayer.h - What oneDNN's recurrent layers may be -----*- C++ -*-===//
#pragma once
#include "Decompose/Aten/AtenNode.h"

namespace tcc::aten {

/// Fails for what PyTorch does not trace as mkldnn_rnn_layer or its gradient. Such a node is one
/// direction of one layer, time first, whatever it says of the network (num_layers, bidirectional,
/// batch_first); its states may lack the axis of 1 for the direction.
mlir::LogicalResult checkMkldnnLayer(AtenNode &a);

} // namespace tcc::aten
