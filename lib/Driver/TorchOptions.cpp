#include "tcc/Driver/TorchOptions.h"
#include "tcc/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace tcc;

static constexpr TorchMode kModes[] = {
    {"default", ""},
    {"lite", "fallback_by_default=true selective_decompose=true reorder_for_peak_memory=false "
             "use_dce=false allow_buffer_reuse=false"},
    {"reduce-overhead", "triton.cudagraphs=true"},
    {"max-autotune", "max_autotune=true triton.cudagraphs=true coordinate_descent_tuning=true"},
    {"max-autotune-no-cudagraphs", "max_autotune=true coordinate_descent_tuning=true"}};

/// What is worth a word; the others are known by name and type.
static constexpr std::pair<StringRef, StringRef> kDescriptions[] = {
    {"epilogue_fusion", "fuse pointwise operators into what they follow"},
    {"max_autotune", "measure candidates of each kernel and keep the best"},
    {"coordinate_descent_tuning", "refine tile sizes one at a time"},
    {"fallback_random", "PyTorch's random numbers instead of Philox by position"},
    {"shape_padding", "pad matrices to sizes that hardware likes"},
    {"layout_optimization", "channels-last convolutions"},
    {"freezing", "treat parameters as constants"},
    {"cpp_wrapper", "compiled host code"},
    {"triton.cudagraphs", "record GPU work as a CUDA graph"},
    {"triton.unique_kernel_names", "kernel names that tell their operators"},
    {"trace.enabled", "keep what every phase gives"},
    {"trace.graph_diagram", "draw the fused graph"},
    {"dynamic_scale_rblock", "scale reduction blocks by registers in use"}};

/// torch.compile's own, and those that older versions had.
static constexpr TorchOption kOthers[] = {
    {"cudagraphs", "bool", "record GPU work as a CUDA graph", false},
    {"force_same_precision", "bool", "16-bit results between fused operators", false},
    {"guard_filter_fn", "string", "which guards to keep", false}};

static constexpr std::pair<StringRef, StringRef> kNames[] = {
#define TORCH_OPTION(name, type) {name, type},
#include "TorchOptions.inc"
#undef TORCH_OPTION
};

ArrayRef<TorchMode> tcc::torchModes() { return kModes; }

ArrayRef<TorchOption> tcc::torchOptions() {
  static const std::vector<TorchOption> options = [] {
    std::vector<TorchOption> all(std::begin(kOthers), std::end(kOthers));
    for (auto [name, type] : kNames) {
      const auto *described = find_if(kDescriptions, [&](auto &d) { return d.first == name; });
      all.push_back({name, type, described == std::end(kDescriptions) ? "" : described->second,
                     /*hasEffect=*/name == "max_autotune"});
    }
    sort(all, [](const TorchOption &a, const TorchOption &b) { return a.name < b.name; });
    return all;
  }();
  return options;
}

bool tcc::hasEffect(const TorchMode &mode) {
  SmallVector<StringRef> sets;
  mode.sets.split(sets, ' ', -1, /*KeepEmpty=*/false);
  auto works = [](StringRef set) {
    const auto *option = find_if(
        torchOptions(), [&](const TorchOption &o) { return o.name == set.split('=').first; });
    return option != torchOptions().end() && option->hasEffect;
  };
  return sets.empty() || any_of(sets, works);
}

static bool fits(StringRef type, StringRef value) {
  if (type == "bool")
    return is_contained({"true", "false", "1", "0", "True", "False"}, value);
  int64_t number;
  double real;
  return type == "int"     ? !value.getAsInteger(10, number)
         : type == "float" ? !value.getAsDouble(real)
                           : true;
}

Expected<std::vector<std::string>> tcc::checkTorchOptions(StringRef mode,
                                                          ArrayRef<std::string> options) {
  std::vector<std::string> idle;
  const TorchMode *chosen = find_if(kModes, [&](const TorchMode &m) { return m.name == mode; });
  if (chosen == std::end(kModes))
    return userError(
        "--mode '" + printable(mode) + "' is none of " +
        join(map_range(kModes, [](const TorchMode &m) { return m.name.str(); }), ", "));
  if (!hasEffect(*chosen))
    idle.push_back("--mode " + mode.str());
  for (StringRef text : options) {
    auto [name, value] = text.split('=');
    const auto *option =
        find_if(torchOptions(), [&](const TorchOption &o) { return o.name == name; });
    if (option == torchOptions().end())
      return userError("--options: '" + printable(name) + "' is unknown (see --list-options)");
    if (!fits(option->type, value))
      return userError("--options: '" + printable(name) + "' takes a " + option->type + ", not '" +
                       printable(value) + "'");
    if (!option->hasEffect)
      idle.push_back("--options " + name.str());
  }
  return idle;
}
