#include "DynamicPeak.h"
#include "tcc/Analysis/PeakMemory.h"

using namespace tcc;

emit::ManifestAmount tcc::peakBytes(mlir::func::FuncOp function, uint64_t fixed) {
  MemorySum sizes = allocatedPeak(function);
  auto constant = static_cast<int64_t>(fixed + static_cast<uint64_t>(sizes[""]));
  sizes.erase("");
  if (sizes.empty())
    return constant;
  std::string text = constant ? std::to_string(constant) : "";
  for (auto &[extents, bytes] : sizes)
    text +=
        (text.empty() ? "" : " + ") + std::to_string(static_cast<int64_t>(bytes)) + "*" + extents;
  return text;
}
