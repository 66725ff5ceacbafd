#include "NodeOrder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <queue>

using namespace tcc::onnximport;
using llvm::StringRef;
using llvm::StringSet;

/// Adds to `free` what the graph uses and does not define.
static void addFreeNames(const onnx::GraphProto &graph, StringSet<> &free) {
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
    for (const auto &attribute : node.attribute()) {
      if (attribute.has_g())
        addFreeNames(attribute.g(), used);
      for (const auto &body : attribute.graphs())
        addFreeNames(body, used);
    }
    for (const std::string &name : node.output())
      defined.insert(name);
  }
  for (const auto &output : graph.output())
    used.insert(output.name());
  for (const auto &name : used)
    if (!defined.contains(name.getKey()))
      free.insert(name.getKey());
}

StringSet<> tcc::onnximport::capturedNames(const onnx::NodeProto &node) {
  StringSet<> free;
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      addFreeNames(attribute.g(), free);
    for (const auto &body : attribute.graphs())
      addFreeNames(body, free);
  }
  return free;
}

namespace {
struct Dependencies {
  std::vector<std::vector<int>> users; ///< of each node
  std::vector<int> pending;            ///< definitions that each node waits for
  bool sorted = true;
};
} // namespace

static Dependencies findDependencies(const NodeList &nodes) {
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
    for (const auto &name : capturedNames(nodes[i]))
      use(name.getKey());
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

std::vector<int> tcc::onnximport::orderNodes(const NodeList &nodes, std::vector<int> &cycle) {
  Dependencies dependencies = findDependencies(nodes);
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
