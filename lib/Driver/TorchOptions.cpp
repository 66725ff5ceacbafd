#include "tcc/Driver/TorchOptions.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tcc;

static constexpr StringRef kModes[] = {"default", "reduce-overhead", "max-autotune",
                                       "max-autotune-no-cudagraphs"};
static constexpr StringRef kBackends[] = {"inductor"};

static constexpr TorchOption kOptions[] = {
    {"epilogue_fusion", "bool", "fuse pointwise operators into what they follow", false},
    {"max_autotune", "bool", "measure candidates of each kernel and keep the best", false},
    {"coordinate_descent_tuning", "bool", "refine tile sizes one at a time", false},
    {"fallback_random", "bool", "PyTorch's random numbers instead of Philox by position", false},
    {"shape_padding", "bool", "pad matrices to sizes that hardware likes", false},
    {"layout_optimization", "bool", "channels-last convolutions", false},
    {"freezing", "bool", "treat parameters as constants", false},
    {"cpp_wrapper", "bool", "compiled host code", false},
    {"cudagraphs", "bool", "record GPU work as a CUDA graph", false},
    {"triton.cudagraphs", "bool", "record GPU work as a CUDA graph", false},
    {"triton.unique_kernel_names", "bool", "kernel names that tell their operators", false},
    {"trace.enabled", "bool", "keep what every phase gives", false},
    {"trace.graph_diagram", "bool", "draw the fused graph", false},
    {"guard_filter_fn", "string", "which guards to keep", false},
    {"dynamic_scale_rblock", "bool", "scale reduction blocks by registers in use", false},
    {"force_same_precision", "bool", "16-bit results between fused operators", false},
};

ArrayRef<StringRef> tcc::torchModes() { return kModes; }
ArrayRef<TorchOption> tcc::torchOptions() { return kOptions; }
ArrayRef<StringRef> tcc::torchBackends() { return kBackends; }

static bool fits(StringRef type, StringRef value) {
  if (type == "bool")
    return is_contained({"true", "false", "1", "0", "True", "False"}, value);
  int64_t number;
  return type == "int" ? !value.getAsInteger(10, number) : true;
}

Expected<std::vector<std::string>> tcc::checkTorchOptions(StringRef mode,
                                                          ArrayRef<std::string> options) {
  std::vector<std::string> idle;
  if (!is_contained(kModes, mode))
    return userError("--mode '" + printable(mode) + "' is none of " + join(ArrayRef(kModes), ", "));
  if (mode != "default")
    idle.push_back("--mode " + mode.str());
  for (StringRef text : options) {
    auto [name, value] = text.split('=');
    const TorchOption *option =
        find_if(kOptions, [&](const TorchOption &o) { return o.name == name; });
    if (option == std::end(kOptions))
      return userError("--options: '" + printable(name) + "' is unknown (see --list-options)");
    if (!fits(option->type, value))
      return userError("--options: '" + printable(name) + "' takes a " + option->type + ", not '" +
                       printable(value) + "'");
    if (!option->hasEffect)
      idle.push_back("--options " + name.str());
  }
  return idle;
}
