#include "MinimumCut.h"
#include <algorithm>

using namespace tcc::schedule;

void MinimumCut::cost(Node from, Node to, int64_t cost) {
  edges[from].push_back({to, static_cast<unsigned>(edges[to].size()), std::min(cost, never)});
  edges[to].push_back({from, static_cast<unsigned>(edges[from].size() - 1), 0});
}

void MinimumCut::search() {
  depth.assign(edges.size(), -1);
  std::vector<Node> reached{first};
  depth[first] = 0;
  for (size_t i = 0; i < reached.size(); ++i)
    for (const Edge &edge : edges[reached[i]])
      if (edge.left > 0 && depth[edge.to] < 0) {
        depth[edge.to] = depth[reached[i]] + 1;
        reached.push_back(edge.to);
      }
}

/// Sends up to `most` from `node` to the second side, along the shortest ways. A way is as deep as
/// the graph, so that it is walked without recursion.
int64_t MinimumCut::push(Node node, int64_t most) {
  std::vector<Edge *> way;
  while (true) {
    if (node == second)
      break;
    Edge *step = nullptr;
    for (unsigned &i = next[node]; i < edges[node].size(); ++i)
      if (Edge &edge = edges[node][i]; edge.left > 0 && depth[edge.to] == depth[node] + 1) {
        step = &edge;
        break;
      }
    if (step) {
      way.push_back(step);
      node = step->to;
      continue;
    }
    if (way.empty())
      return 0;
    Edge *last = way.back(); // a dead end
    way.pop_back();
    node = edges[last->to][last->back].to;
    ++next[node];
  }
  for (Edge *edge : way)
    most = std::min(most, edge->left);
  for (Edge *edge : way) {
    edge->left -= most;
    edges[edge->to][edge->back].left += most;
  }
  return most;
}

void MinimumCut::solve() {
  for (search(); depth[second] >= 0; search()) {
    next.assign(edges.size(), 0);
    while (push(first, never)) {
    }
  }
}
