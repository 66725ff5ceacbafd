//===- MinimumCut.h - The cheapest way to have two sides ---------*- C++ -*-===//
#pragma once
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace tcc::schedule {

/// Nodes that go to one of two sides, and what it costs to have two of them apart. Dinic, Algorithm
/// for solution of a problem of maximum flow in a network with power estimation (1970).
class MinimumCut {
public:
  using Node = unsigned;
  static constexpr Node first = 0, second = 1; ///< one node that is on each side
  static constexpr int64_t never = int64_t(1) << 50;

  MinimumCut() : edges(2) {}
  Node add() { return edges.emplace_back(), edges.size() - 1; }
  /// What it costs to have `from` on the first side and `to` on the second.
  void cost(Node from, Node to, int64_t cost);
  /// Decides. Of the cheapest ways, that with the fewest nodes on the first side.
  void solve();
  /// Of nodes that were there to be decided.
  bool isFirst(Node node) const { return node < depth.size() && depth[node] >= 0; }

private:
  struct Edge {
    Node to;
    unsigned back; ///< number of the reverse edge at `to`
    int64_t left;
  };
  /// Which nodes can be reached from the first side, and in how many steps.
  void search();
  int64_t push(Node node, int64_t most);

  std::vector<std::vector<Edge>> edges;
  std::vector<int> depth;
  std::vector<unsigned> next;
};

} // namespace tcc::schedule
