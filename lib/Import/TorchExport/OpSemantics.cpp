//===- OpSemantics.cpp - Which ATen operators alias or mutate -------------===//
//
// Three tables by operator: views, with how a write to one becomes a write to what it views;
// operators that write `self`, most of which are named like their functional form; and those that
// write each result to an argument of its own, which PyTorch itself lists (AtenOuts.inc, written by
// scripts/aten-schemas): the names of two overloads tell little of whether they take the same.
//
//===----------------------------------------------------------------------===//
#include "Import/TorchExport/OpSemantics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace tcc::torchexport {

static StringMap<ViewSemantics> makeViewTable() {
  StringMap<ViewSemantics> table;
  auto add = [&](AliasWhen when, WriteBack write, std::initializer_list<StringRef> ops) {
    for (StringRef op : ops)
      table[op] = {when, write};
  };
  using W = AliasWhen;
  add(W::Always, WriteBack::Identity,
      {"alias", "detach", "lift_fresh", "positive", "resolve_conj", "resolve_neg"});
  add(W::Always, WriteBack::Reshape,
      {"view", "_reshape_alias", "view_as", "unflatten", "squeeze", "unsqueeze", "atleast_1d",
       "atleast_2d", "atleast_3d", "_unsafe_view"});
  add(W::Always, WriteBack::Inverse, {"permute", "movedim", "moveaxis"});
  add(W::Always, WriteBack::Again,
      {"transpose", "t", "swapaxes", "swapdims", "numpy_T", "mT", "mH", "adjoint", "matrix_H"});
  add(W::Always, WriteBack::SelectScatter, {"select"});
  add(W::Always, WriteBack::SliceScatter, {"slice"});
  add(W::Always, WriteBack::NarrowScatter, {"narrow"});
  add(W::Always, WriteBack::DiagonalScatter, {"diagonal", "linalg_diagonal"});
  add(W::Always, WriteBack::StridedScatter, {"as_strided"});
  add(W::Always, WriteBack::UnbindScatter, {"unbind"});
  add(W::Always, WriteBack::SplitScatter,
      {"split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit"});
  add(W::Always, WriteBack::RealPart, {"real"});
  add(W::Always, WriteBack::ImaginaryPart, {"imag"});
  add(W::Always, WriteBack::AsComplex, {"view_as_real"});
  add(W::Always, WriteBack::AsReal, {"view_as_complex"});
  add(W::Always, WriteBack::Refused, {"expand", "expand_as", "broadcast_to"});
  add(W::Always, WriteBack::UnfoldScatter, {"unfold"});
  add(W::OperandContiguous, WriteBack::Identity, {"contiguous"});
  add(W::NoCopy, WriteBack::Reshape, {"reshape", "reshape_as", "flatten", "ravel"});
  add(W::SameDType, WriteBack::Identity, {"to", "type_as"});
  add(W::Evaluating, WriteBack::Identity,
      {"dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"});
  return table;
}

std::optional<ViewSemantics> viewSemantics(StringRef op) {
  static const StringMap<ViewSemantics> table = makeViewTable();
  auto it = table.find(op);
  return it == table.end() ? std::nullopt : std::optional(it->second);
}

namespace {

struct OutForm {
  StringLiteral target, functional, outs;
};

constexpr OutForm kOutForms[] = {
#define ATEN_OUT(target, functional, outs) {target, functional, outs},
#include "AtenOuts.inc"
#undef ATEN_OUT
};

} // namespace

/// Operators that write their results to arguments of these names.
static std::optional<InPlaceSemantics> outForm(StringRef target) {
  const auto *it =
      std::lower_bound(std::begin(kOutForms), std::end(kOutForms), target,
                       [](const OutForm &form, StringRef name) { return form.target < name; });
  if (it == std::end(kOutForms) || it->target != target)
    return std::nullopt;
  SmallVector<StringRef> outs;
  it->outs.split(outs, ' ');
  InPlaceSemantics semantics{it->functional.str(), outs.front(), false, /*isOut=*/true};
  semantics.others.assign(outs.begin() + 1, outs.end());
  return semantics;
}

std::optional<InPlaceSemantics> inPlaceSemantics(StringRef target) {
  if (auto form = outForm(target))
    return form;
  auto [op, overload] = target.split('.');
  std::string suffix = overload.empty() ? "" : ("." + overload).str();
  StringRef functional = StringSwitch<StringRef>(target)
                             .Case("floor_divide_.Tensor", "floor_divide.default")
                             .Case("pow_.Scalar", "pow.Tensor_Scalar")
                             .Case("pow_.Tensor", "pow.Tensor_Tensor")
                             .Case("float_power_.Scalar", "float_power.Tensor_Scalar")
                             .Case("float_power_.Tensor", "float_power.Tensor_Tensor")
                             .Case("ldexp_.default", "ldexp.Tensor")
                             .Case("transpose_.default", "transpose.int")
                             .Case("__ilshift__.Scalar", "bitwise_left_shift.Tensor_Scalar")
                             .Case("__irshift__.Scalar", "bitwise_right_shift.Tensor_Scalar")
                             .Default("");
  if (!functional.empty())
    return InPlaceSemantics{functional.str(), "self", op == "transpose_"};
  StringRef renamed = StringSwitch<StringRef>(op)
                          .Case("normal_", "normal_functional")
                          .Case("_index_put_impl_", "index_put")
                          .Case("__iand__", "bitwise_and")
                          .Case("__ior__", "bitwise_or")
                          .Case("__ixor__", "bitwise_xor")
                          .Case("__ilshift__", "bitwise_left_shift")
                          .Case("__irshift__", "bitwise_right_shift")
                          .Default("");
  if (!renamed.empty())
    return InPlaceSemantics{renamed.str() + suffix, "self", false};
  if (!op.ends_with("_") || op.ends_with("__") || op.size() < 2)
    return std::nullopt;
  StringRef states =
      StringSwitch<StringRef>(op)
          .Cases({"_fused_adam_", "_fused_adamw_"}, "grads exp_avgs exp_avg_sqs max_exp_avg_sqs")
          .Case("_fused_sgd_", "grads momentum_buffer_list")
          .Case("_fused_adagrad_", "grads state_sums")
          .Default("");
  if (!states.empty()) {
    InPlaceSemantics step{op.drop_back().str() + suffix, "self", false};
    states.split(step.others, ' ');
    step.isStep = true;
    return step;
  }
  bool shape = StringSwitch<bool>(op)
                   .Cases({"squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_"}, true)
                   .Cases({"swapdims_", "detach_", "as_strided_"}, true)
                   .Default(false);
  return InPlaceSemantics{op.drop_back().str() + suffix, "self", shape};
}

bool isAnnotation(StringRef op) {
  return StringSwitch<bool>(op)
      .Cases({"_assert_tensor_metadata", "sym_constrain_range", "sym_constrain_range_for_size"},
             true)
      .Cases({"_functional_assert_async", "record_stream", "_print"}, true)
      .Default(false);
}

} // namespace tcc::torchexport
