#include "NodeOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using namespace tcc::onnximport;
using llvm::StringRef;
using llvm::StringSet;

template <typename Visit> static void forEachSubgraph(const onnx::NodeProto &node, Visit visit) {
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      visit(attribute.g());
    for (const auto &graph : attribute.graphs())
      visit(graph);
  }
}

const StringSet<> &Captures::of(const onnx::GraphProto &graph) {
  auto [entry, isNew] = known.try_emplace(&graph);
  if (!isNew)
    return entry->second;
  StringSet<> defined, used;
  for (const auto &input : graph.input())
    defined.insert(input.name());
  for (const auto &tensor : graph.initializer())
    defined.insert(tensor.name());
  for (const auto &tensor : graph.sparse_initializer())
    defined.insert(tensor.values().name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &name : node.input())
      used.insert(name);
    forEachSubgraph(node, [&](const onnx::GraphProto &inner) {
      for (const auto &name : of(inner))
        used.insert(name.getKey());
    });
    for (const std::string &name : node.output())
      defined.insert(name);
  }
  for (const auto &output : graph.output())
    used.insert(output.name());
  for (const auto &name : used)
    if (!defined.contains(name.getKey()))
      entry->second.insert(name.getKey());
  return entry->second;
}

namespace {
struct Dependencies {
  std::vector<std::vector<int>> users; ///< of each node
  std::vector<int> pending;            ///< definitions that each node waits for
  bool sorted = true;
};
} // namespace

static Dependencies findDependencies(const NodeList &nodes, Captures &captures) {
  llvm::StringMap<int> producer;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &name : nodes[i].output())
      if (!name.empty())
        producer.try_emplace(name, i);
  Dependencies result;
  result.users.resize(nodes.size());
  result.pending.resize(nodes.size());
  for (int i = 0; i < nodes.size(); ++i) {
    auto use = [&](StringRef name) {
      auto it = producer.find(name);
      if (name.empty() || it == producer.end())
        return;
      result.users[it->second].push_back(i);
      ++result.pending[i];
      result.sorted &= it->second < i;
    };
    for (const std::string &name : nodes[i].input())
      use(name);
    forEachSubgraph(nodes[i], [&](const onnx::GraphProto &graph) {
      for (const auto &name : captures.of(graph))
        use(name.getKey());
    });
  }
  return result;
}

/// Follows unfinished definitions backwards until a node repeats.
static std::vector<int> findCycle(const Dependencies &dependencies, const std::vector<bool> &done) {
  std::vector<int> definition(done.size(), -1); // one unfinished definition of each node
  for (size_t i = 0; i < done.size(); ++i)
    if (!done[i])
      for (int user : dependencies.users[i])
        definition[user] = static_cast<int>(i);
  std::vector<bool> seen(done.size());
  int at = static_cast<int>(std::find(done.begin(), done.end(), false) - done.begin());
  for (; !seen[at]; at = definition[at])
    seen[at] = true;
  std::vector<int> cycle;
  int first = at;
  do {
    cycle.push_back(at);
    at = definition[at];
  } while (at != first);
  std::reverse(cycle.begin(), cycle.end());
  return cycle;
}

std::vector<int> tcc::onnximport::orderNodes(const NodeList &nodes, Captures &captures,
                                             std::vector<int> &cycle) {
  Dependencies dependencies = findDependencies(nodes, captures);
  std::vector<int> order;
  order.reserve(nodes.size());
  if (dependencies.sorted) {
    for (int i = 0; i < nodes.size(); ++i)
      order.push_back(i);
    return order;
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (dependencies.pending[i] == 0)
      ready.push(i);
  std::vector<bool> done(nodes.size());
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    done[i] = true;
    order.push_back(i);
    for (int user : dependencies.users[i])
      if (--dependencies.pending[user] == 0)
        ready.push(user);
  }
  if (order.size() != static_cast<size_t>(nodes.size()))
    cycle = findCycle(dependencies, done);
  return order;
}
