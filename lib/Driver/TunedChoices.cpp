#include "TunedChoices.h"
#include "tcc/Dialect/Kernel/KernelText.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;
using namespace tcc;
using mlir::Operation;

std::string tcc::choiceText(mlir::Attribute choice) {
  std::string text;
  raw_string_ostream(text) << choice;
  return text;
}

static std::string hashOf(StringRef text) {
  return toHex(SHA256::hash(arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

/// The operator and its types, as if its weights lay row by row.
static std::string textOf(Operation *contraction) {
  std::string text;
  raw_string_ostream os(text);
  os << contraction->getName() << contraction->getAttrDictionary();
  for (mlir::Value operand : contraction->getOperands()) {
    auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(operand.getType());
    if (tensor && prim::layoutOf(operand))
      os << ' ' << mlir::RankedTensorType::get(tensor.getShape(), tensor.getElementType());
    else
      os << ' ' << operand.getType();
  }
  os << " -> " << contraction->getResult(0).getType();
  return text;
}

Error TunedChoices::read() {
  if (file.empty())
    return Error::success();
  auto found = tuning::Record::read(file);
  if (!found)
    return found.takeError();
  record = std::move(*found);
  return Error::success();
}

tuning::ProblemKey TunedChoices::keyOf(StringRef text) const {
  return {hashOf(text), backend.tuningKey(), backend.schedules().version()};
}

tuning::ProblemKey TunedChoices::keyOf(kernel::LaunchOp launch) const {
  return keyOf(kernel::textOf(launch, /*withSchedule=*/false));
}

tuning::ProblemKey TunedChoices::cutKeyOf(kernel::LaunchOp launch) const {
  return keyOf("cut " + kernel::textOf(launch, /*withSchedule=*/false));
}

tuning::ProblemKey TunedChoices::keyOf(Operation *contraction) const {
  return keyOf(textOf(contraction));
}

template <typename Attr>
Attr TunedChoices::choose(const tuning::ProblemKey &key, Operation *op, StringRef name,
                          ArrayRef<Attr> candidates) {
  const tuning::Choice *choice = record.find(key);
  if (!choice)
    return candidates.front();
  for (Attr candidate : candidates)
    if (choiceText(candidate) == choice->chosen)
      return candidate;
  fault = "--tuning " + printable(file, 1000) + ", line " + std::to_string(choice->line) +
          ": kernel '" + name.str() + "' cannot run by '" + printable(choice->chosen, 400) +
          "'; remove the line, or tune again into a new file";
  op->emitError("the tuning record does not fit");
  return nullptr;
}

ScheduleChooser TunedChoices::scheduleChooser() {
  return [this](kernel::LaunchOp launch, ArrayRef<kernel::Schedule> candidates) {
    return candidates.size() > 1 ? choose(keyOf(launch), launch, launch.getName(), candidates)
                                 : candidates.front();
  };
}

LayoutChooser TunedChoices::layoutChooser() {
  return [this](Operation *contraction, ArrayRef<prim::StorageLayout> candidates) {
    return candidates.size() > 1 ? choose(keyOf(contraction), contraction,
                                          contraction->getName().stripDialect(), candidates)
                                 : candidates.front();
  };
}

CutChooser TunedChoices::cutChooser() {
  return [this](kernel::LaunchOp launch, ArrayRef<Cut> cuts) {
    return cuts.size() > 1 ? choose(cutKeyOf(launch), launch, launch.getName(), cuts)
                           : cuts.front();
  };
}

Error TunedChoices::damage() const { return fault.empty() ? Error::success() : userError(fault); }
