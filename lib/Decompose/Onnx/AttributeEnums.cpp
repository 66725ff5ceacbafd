//===- AttributeEnums.cpp - Attributes that have one of a few words -------===//
//
// What ONNX allows for attributes that choose: rules compare with the words they
// know, and a word that nobody knows would pass for the default. It is an error
// here, for every operator at once. So are lengths of windows beyond 32 bits, which
// rules add and multiply.
//
//===----------------------------------------------------------------------===//
#include "AttributeEnums.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tcc;

namespace {

struct Choice {
  StringRef op, attribute;
  std::initializer_list<StringRef> words;
};

} // namespace

static constexpr StringRef kPadded[] = {"Conv",        "ConvInteger", "ConvTranspose",
                                        "QLinearConv", "AveragePool", "MaxPool",
                                        "LpPool",      "FusedConv",   "QLinearAveragePool"};
static const Choice kChoices[] = {
    {"BitShift", "direction", {"LEFT", "RIGHT"}},
    {"DepthToSpace", "mode", {"DCR", "CRD"}},
    {"GRU", "direction", {"forward", "reverse", "bidirectional"}},
    {"Gelu", "approximate", {"none", "tanh"}},
    {"GridSample", "mode", {"bilinear", "nearest", "bicubic", "linear", "cubic"}},
    {"GridSample", "padding_mode", {"zeros", "border", "reflection"}},
    {"LSTM", "direction", {"forward", "reverse", "bidirectional"}},
    {"Momentum", "mode", {"standard", "nesterov"}},
    {"NegativeLogLikelihoodLoss", "reduction", {"none", "sum", "mean"}},
    {"Normalizer", "norm", {"MAX", "L1", "L2"}},
    {"Pad", "mode", {"constant", "reflect", "edge", "wrap"}},
    {"RNN", "direction", {"forward", "reverse", "bidirectional"}},
    {"Resize",
     "coordinate_transformation_mode",
     {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
      "tf_half_pixel_for_nn", "tf_crop_and_resize"}},
    {"Resize", "keep_aspect_ratio_policy", {"stretch", "not_larger", "not_smaller"}},
    {"Resize", "mode", {"nearest", "linear", "cubic", "bilinear"}},
    {"Resize", "nearest_mode", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}},
    {"RoiAlign", "coordinate_transformation_mode", {"half_pixel", "output_half_pixel"}},
    {"RoiAlign", "mode", {"avg", "max"}},
    {"SoftmaxCrossEntropyLoss", "reduction", {"none", "sum", "mean"}},
    {"TfIdfVectorizer", "mode", {"TF", "IDF", "TFIDF"}},
    {"Upsample", "mode", {"nearest", "linear", "bilinear"}},
};

static LogicalResult checkEnum(NodeContext &c, StringRef attribute, ArrayRef<StringRef> words) {
  Attribute given = c.attr(attribute);
  if (!given)
    return success();
  auto word = dyn_cast<StringAttr>(given);
  if (word && llvm::is_contained(words, word.getValue()))
    return success();
  return c.fail("attribute '" + attribute + "' is " +
                (word ? "'" + word.getValue().take_front(100) + "'" : "no text") + ", not one of " +
                llvm::join(words, ", "));
}

static constexpr StringRef kLengths[] = {"dilations", "kernel_shape", "output_padding", "pads",
                                         "strides"};

static LogicalResult checkLengths(NodeContext &c) {
  for (StringRef name : kLengths)
    if (auto list = c.intsAttr(name))
      for (int64_t v : *list)
        if (v < INT32_MIN || v > INT32_MAX)
          return c.fail("attribute '" + name + "' has the entry " + llvm::Twine(v) +
                        ", beyond 32 bits");
  return success();
}

LogicalResult tcc::checkEnums(NodeContext &c) {
  if (failed(checkLengths(c)))
    return failure();
  StringRef op = c.node.getTarget();
  // An empty one, as old exporters write it, is NOTSET.
  if (llvm::is_contained(kPadded, op) && c.stringAttr("auto_pad", "") != "" &&
      failed(checkEnum(c, "auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"})))
    return failure();
  for (const Choice &choice : kChoices)
    if (choice.op == op && failed(checkEnum(c, choice.attribute, choice.words)))
      return failure();
  return success();
}
