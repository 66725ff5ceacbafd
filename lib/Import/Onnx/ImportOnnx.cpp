//===- ImportOnnx.cpp - An ONNX file as a module -------------------------===//
//
// The order matters: domains and opsets first, since names of operators mean nothing without them,
// then inputs with the user's shapes, then nodes with inference along the way, so that an error
// names the first node that is wrong.
//
//===----------------------------------------------------------------------===//
#include "tcc/Import/Onnx/ImportOnnx.h"
#include "GraphImporter.h"
#include "Inference.h"
#include "ModelInputs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/InputFile.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tcc;
using namespace tcc::onnximport;
using llvm::Error;
using llvm::Expected;
using llvm::Twine;

namespace {

/// Imports `model` into a new module.
class ModelImporter {
public:
  ModelImporter(const ModelFile &file, const ImportOptions &options, WeightTable &weights,
                MLIRContext &context)
      : file(file), options(options), weights(weights), builder(&context) {}

  Expected<OwningOpRef<ModuleOp>> run();

private:
  Error checkHeader();
  Error checkDomains();
  void findForeignNodes(const onnx::GraphProto &graph, std::string &list, unsigned &count);
  Error importMain(func::FuncOp main, const ModelInputs &inputs);
  ArrayAttr dimsAttr(const onnx::TypeProto &type);
  void noteShape(const onnx::ValueInfoProto &output, const onnx::TypeProto &made);

  const ModelFile &file;
  const ImportOptions &options;
  WeightTable &weights;
  OpBuilder builder;
  OpsetMap opsets;
};

} // namespace

Error ModelImporter::checkHeader() {
  const onnx::ModelProto &model = file.model();
  if (model.ir_version() < 1 || model.ir_version() > onnx::IR_VERSION)
    return file.error("ir_version is " + Twine(model.ir_version()) + "; 1 to " +
                      Twine(static_cast<int>(onnx::IR_VERSION)) + " are known");
  auto read = readOpsets(model.opset_import());
  if (!read)
    return file.error(llvm::toString(read.takeError()));
  opsets = std::move(*read);
  // Before IR version 3 there was only opset 1.
  if (model.ir_version() < 3)
    opsets.try_emplace("onnx", 1);
  if (opsets.empty())
    return file.error("there is no opset_import");
  return Error::success();
}

void ModelImporter::findForeignNodes(const onnx::GraphProto &graph, std::string &list,
                                     unsigned &count) {
  constexpr unsigned kListed = 10;
  for (const onnx::NodeProto &node : graph.node()) {
    std::string domain = domainName(node.domain());
    if (!opsets.count(domain))
      if (++count <= kListed)
        list += "\n  " + describe(node) + " of domain '" + printable(domain, 100) + "'";
    for (const auto &attribute : node.attribute())
      if (attribute.has_g())
        findForeignNodes(attribute.g(), list, count);
  }
}

Error ModelImporter::checkDomains() {
  std::string list;
  unsigned count = 0;
  findForeignNodes(file.model().graph(), list, count);
  if (count == 0)
    return Error::success();
  return file.error(Twine(count) + (count == 1 ? " node is" : " nodes are") +
                    " of a domain that opset_import does not name:" + list +
                    (count > 10 ? "\n  ..." : ""));
}

ArrayAttr ModelImporter::dimsAttr(const onnx::TypeProto &type) {
  SmallVector<Attribute> dims;
  for (const auto &dim : type.tensor_type().shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      dims.push_back(builder.getI64IntegerAttr(dim.dim_value()));
    else
      dims.push_back(builder.getStringAttr(
          dim.has_dim_param() && !dim.dim_param().empty() ? cleanName(dim.dim_param()) : "?"));
  }
  return builder.getArrayAttr(dims);
}

static std::string typeName(int type) {
  std::string name = onnx::TensorProto::DataType_Name(onnx::TensorProto::DataType(type));
  return name.empty() ? "type " + std::to_string(type) : name;
}

static std::string shapeText(const onnx::TensorShapeProto &shape) {
  std::string text;
  for (const auto &dim : shape.dim())
    text += (text.empty() ? "" : ", ") +
            (dim.has_dim_value() ? std::to_string(dim.dim_value()) : printable(dim.dim_param()));
  return "[" + text + "]";
}

/// Whether no tensor has both shapes. Extents differ by right where options fix those of inputs.
static bool contradict(const onnx::TensorShapeProto &a, const onnx::TensorShapeProto &b,
                       bool compareExtents) {
  if (a.dim_size() != b.dim_size())
    return true;
  return compareExtents && llvm::any_of(llvm::zip(a.dim(), b.dim()), [](auto pair) {
           auto &[x, y] = pair;
           return x.has_dim_value() && y.has_dim_value() && x.dim_value() != y.dim_value();
         });
}

/// Says where an output's stated shape is not the one that it has: other engines only warn too.
void ModelImporter::noteShape(const onnx::ValueInfoProto &output, const onnx::TypeProto &made) {
  const auto &stated = output.type().tensor_type(), &found = made.tensor_type();
  bool asStored = options.shapes.empty() && options.dims.empty();
  if (options.note && stated.has_shape() && found.has_shape() &&
      contradict(stated.shape(), found.shape(), asStored))
    options.note("output '" + printable(output.name()) + "' is stated as " +
                 shapeText(stated.shape()) + ", but its node gives " + shapeText(found.shape()));
}

Error ModelImporter::importMain(func::FuncOp main, const ModelInputs &inputs) {
  const onnx::GraphProto &graph = file.model().graph();
  Block &entry = *main.addEntryBlock();
  GraphImporter graphImporter(file, options, inputs.dims, weights, builder, entry);
  if (Error error = checkDomains())
    return error;
  if (Error error = graphImporter.readFunctions())
    return error;
  Scope scope;
  scope.opsets = &opsets;
  for (auto [input, argument] : llvm::zip(inputs.inputs, entry.getArguments()))
    if (Error error = graphImporter.define(scope, input.info->name(),
                                           {argument, input.type, nullptr, {}, false}))
      return error;
  builder.setInsertionPointToEnd(&entry);
  if (Error error = graphImporter.importBody(graph, scope))
    return error;
  if (graph.output_size() == 0)
    return file.error("the graph has no outputs");
  SmallVector<Value> results;
  SmallVector<ArrayAttr> dims;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    auto value = graphImporter.outputValue(graph, output.name(), scope);
    if (!value)
      return value.takeError();
    int declared = output.type().tensor_type().elem_type(),
        made = value->type.tensor_type().elem_type();
    if (declared && made && declared != made)
      return file.error("output '" + printable(output.name()) + "' is declared as " +
                        typeName(declared) + ", but its node gives " + typeName(made));
    noteShape(output, value->type);
    if (!isInterfaceName(output.name()))
      return file.error("output '" + printable(output.name()) + "' has a name that is not UTF-8");
    results.push_back(value->value);
    dims.push_back(dimsAttr(value->type));
  }
  func::ReturnOp::create(builder, main.getLoc(), results);
  main.setType(builder.getFunctionType(main.getArgumentTypes(), ValueRange(results).getTypes()));
  for (int i = 0; i < graph.output_size(); ++i)
    Signature(main).setResult(i, graph.output(i).name(), dims[i]);
  return Error::success();
}

Expected<OwningOpRef<ModuleOp>> ModelImporter::run() {
  if (Error error = checkHeader())
    return error;
  auto inputs = resolveInputs(file, options);
  if (!inputs)
    return inputs.takeError();
  SmallVector<Type> types;
  for (const ModelInput &input : inputs->inputs) {
    auto type = convertType(builder.getContext(), input.type);
    if (!type)
      return file.error("input '" + printable(input.info->name()) + "' " +
                        llvm::toString(type.takeError()));
    types.push_back(*type);
  }
  Location loc = FileLineColLoc::get(
      builder.getStringAttr(cleanName(llvm::sys::path::filename(file.path()))), 0, 0);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  auto main = func::FuncOp::create(builder, loc, "main", builder.getFunctionType(types, {}));
  Signature signature(main);
  for (auto [i, input] : llvm::enumerate(inputs->inputs))
    signature.setArgument(i, input.info->name(), dimsAttr(input.type));
  SmallVector<Symbol> ranges;
  for (const auto &[name, range] : inputs->ranges)
    ranges.push_back({cleanName(name), range.min, range.max});
  signature.setRanges(ranges);
  if (Error error = importMain(main, *inputs))
    return error;
  return std::move(module);
}

Expected<OwningOpRef<ModuleOp>> tcc::importOnnx(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                                StringRef path, const ImportOptions &options,
                                                WeightTable &weights, MLIRContext &context) {
  context.loadDialect<graph::GraphDialect, func::FuncDialect>();
  auto file = ModelFile::parse(std::move(buffer), path);
  if (!file)
    return file.takeError();
  try {
    return ModelImporter(**file, options, weights, context).run();
  } catch (const std::exception &e) {
    // ONNX's code signals faults of the model by exceptions of several kinds.
    return (*file)->error(printable(e.what(), 500));
  }
}

Expected<OwningOpRef<ModuleOp>> tcc::importOnnx(StringRef path, const ImportOptions &options,
                                                WeightTable &weights, MLIRContext &context) {
  auto buffer = openInputFile(path);
  if (!buffer)
    return userError(printable(path) + ": " + llvm::toString(buffer.takeError()));
  if (options.fileRead)
    options.fileRead(path);
  return importOnnx(std::move(*buffer), path, options, weights, context);
}
