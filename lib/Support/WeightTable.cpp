#include "tcc/Support/WeightTable.h"
#include <algorithm>

namespace tcc {

static constexpr llvm::StringLiteral kRoles[] = {"constant", "parameter", "buffer"};

llvm::StringRef roleName(WeightRole role) { return kRoles[static_cast<size_t>(role)]; }

std::optional<WeightRole> parseRole(llvm::StringRef name) {
  for (WeightRole role : {WeightRole::Constant, WeightRole::Parameter, WeightRole::Buffer})
    if (roleName(role) == name)
      return role;
  return std::nullopt;
}

uint64_t Weight::elements() const {
  uint64_t count = 1;
  for (int64_t dim : shape)
    count *= static_cast<uint64_t>(dim);
  return count;
}

std::string WeightTable::add(llvm::StringRef hint, Weight weight) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string name = hint.str();
  for (unsigned n = 1; entries.contains(name); ++n) {
    const Weight &same = *entries[name];
    if (same.bytes.data() == weight.bytes.data() && same.maker == weight.maker &&
        same.dtype == weight.dtype && same.shape == weight.shape)
      return name;
    name = (hint + "." + llvm::Twine(n)).str();
  }
  entries[name] = std::make_unique<Weight>(std::move(weight));
  order.push_back(name);
  return name;
}

std::string WeightTable::addOwned(llvm::StringRef hint, DType dtype, llvm::ArrayRef<int64_t> shape,
                                  std::vector<char> bytes) {
  auto owner = std::make_shared<std::vector<char>>(std::move(bytes));
  Weight weight{dtype, llvm::SmallVector<int64_t, 4>(shape), *owner, owner};
  return add(hint, std::move(weight));
}

const Weight *WeightTable::lookup(llvm::StringRef name) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = entries.find(name);
  if (it == entries.end())
    return nullptr;
  Weight &weight = *it->second;
  if (std::shared_ptr<const WeightMaker> maker = std::move(weight.maker)) {
    std::shared_ptr<char[]> owner(new char[weight.size()]); // unlike make_shared's, not zeroed
    maker->make(0, weight.size(), owner.get());
    weight.bytes = {owner.get(), weight.size()};
    weight.owner = std::move(owner);
  }
  return &weight;
}

const Weight *WeightTable::describe(llvm::StringRef name) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = entries.find(name);
  return it == entries.end() ? nullptr : it->second.get();
}

void WeightTable::erase(llvm::StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  if (entries.erase(name))
    order.erase(std::find(order.begin(), order.end(), name));
}

std::vector<std::string> WeightTable::names() const {
  std::lock_guard<std::mutex> lock(mutex);
  return order;
}

} // namespace tcc
