//===- TorchExport.cpp - A `.pt2` file as a module ------------------------===//
//
// Opens the archive, reads the exported program in it, and makes @main from its
// signature: arguments, weights, results, and what the model writes back.
//
//===----------------------------------------------------------------------===//
#include "tcc/Import/TorchExport/TorchExport.h"
#include "Import/TorchExport/GraphImporter.h"
#include "Import/TorchExport/InputChecks.h"
#include "Import/TorchExport/Payloads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Signature/Signature.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/InputFile.h"
#include "tcc/Support/Json.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace tcc {
namespace torchexport {
namespace {

constexpr size_t kMaxDocument = size_t(1) << 28;

class ProgramImporter {
public:
  ProgramImporter(const Program &program, Payloads &payloads, const ImportOptions &options,
                  MLIRContext &context)
      : program(program), payloads(payloads), options(options), builder(&context), shapes(context),
        importer(builder, shapes), scope{program.graph, aliases} {}

  llvm::Expected<OwningOpRef<ModuleOp>> run();

private:
  struct Argument_ {
    std::string name;
    ArrayAttr dims;
    std::string state; ///< the weight that a changed buffer starts from
    AliasTracker::Id id;
  };
  struct ResultPort {
    std::string name;
    ArrayAttr dims;
    std::string changes; ///< the argument that it is the new value of
  };
  llvm::Error bindShapes();
  llvm::Error checkSignature();
  llvm::Error addInput(const InputSpec &spec);
  llvm::Expected<Value> makeWeight(StringRef name);
  llvm::Error addOutput(const OutputSpec &spec);
  llvm::Error addOutputs();
  Argument_ *findArgument(StringRef name);
  llvm::Expected<std::string> makeState(const InputSpec &spec);
  llvm::Error addWrittenBack(StringRef name, bool isState, Value value);
  void addResult(StringRef name, Value value, ArrayAttr dims, StringRef mutates);
  void finish(func::FuncOp function);

  const Program &program;
  Payloads &payloads;
  const ImportOptions &options;
  OpBuilder builder;
  Shapes shapes;
  GraphImporter importer;
  AliasTracker aliases;
  Scope scope;
  Block *block = nullptr;
  llvm::StringMap<const InputSpec *> parameters;       ///< by placeholder
  llvm::StringMap<const InputSpec *> parametersByName; ///< by fully qualified name
  std::vector<std::string> parameterOrder;             ///< placeholders, as they came into use
  llvm::StringMap<graph::WeightOp> weightOps;          ///< by placeholder
  std::vector<Argument_> arguments;
  llvm::DenseMap<Value, Value> stateOf; ///< the argument that a weight became
  SmallVector<Value> results;
  std::vector<ResultPort> resultPorts;
  llvm::StringSet<> resultNames, changed;
};

bool isParameter(const InputSpec &spec) {
  return spec.kind == "parameter" || spec.kind == "buffer" || spec.kind == "tensor_constant";
}

WeightRole roleOf(const InputSpec &spec) {
  return spec.kind == "parameter" ? WeightRole::Parameter
         : spec.kind == "buffer"  ? WeightRole::Buffer
                                  : WeightRole::Constant;
}

llvm::Error ProgramImporter::bindShapes() {
  SmallVector<Shapes::Input> inputs;
  for (const InputSpec &spec : program.inputs) {
    if (spec.kind != "user_input" || spec.arg.kind != "as_tensor")
      continue;
    auto name = referredName(*spec.arg.value);
    auto meta = name ? program.graph.tensors.find(*name) : program.graph.tensors.end();
    if (meta == program.graph.tensors.end())
      return userError("graph_module.signature: an input without metadata");
    inputs.push_back({*name, &meta->second});
  }
  if (llvm::Error error = shapes.bind(inputs, program.ranges, options))
    return error;
  return shapes.check(program.graph);
}

/// The graph has its inputs and outputs once more, in the signature's order.
llvm::Error ProgramImporter::checkSignature() {
  auto check = [](StringRef what, const std::vector<Argument> &graph,
                  const auto &signature) -> llvm::Error {
    if (graph.size() != signature.size())
      return userError("the graph has " + llvm::Twine(graph.size()) + " " + what +
                       "s and its signature " + llvm::Twine(signature.size()));
    for (auto [have, spec] : llvm::zip(graph, signature)) {
      auto name = referredName(*have.value);
      auto stated = spec.arg.value ? referredName(*spec.arg.value) : std::nullopt;
      if (name && stated && *name != *stated)
        return userError(what + " '" + printable(*name) + "' of the graph is '" +
                         printable(*stated) + "' in its signature");
      if (stated && stated->empty())
        return userError(what + " without a name");
    }
    return llvm::Error::success();
  };
  if (llvm::Error error = check("input", program.graph.inputs, program.inputs))
    return error;
  return check("output", program.graph.outputs, program.outputs);
}

llvm::Error ProgramImporter::addInput(const InputSpec &spec) {
  auto name = spec.arg.value ? referredName(*spec.arg.value) : std::nullopt;
  if (!name) // None, a Python constant, a token: nothing at run time
    return llvm::Error::success();
  if (isParameter(spec)) {
    if (scope.names.contains(*name) || !parameters.try_emplace(*name, &spec).second)
      return userError("'" + printable(*name) + "' is defined twice");
    parametersByName[spec.target] = &spec;
    return llvm::Error::success();
  }
  if (spec.kind != "user_input")
    return userError("an input of the unknown kind '" + printable(spec.kind) + "'");
  Type type = RankedTensorType::get({}, builder.getI64Type());
  ArrayAttr dims = builder.getArrayAttr({});
  if (spec.arg.kind == "as_tensor") {
    auto tensor = importer.typeOf(scope, *name);
    if (!tensor)
      return tensor.takeError();
    auto names = shapes.dimNames(program.graph.tensors.find(*name)->second);
    if (!names)
      return names.takeError();
    type = *tensor;
    dims = *names;
  } else if (spec.arg.kind != "as_sym_int") {
    return userError("input '" + printable(*name) + "' is neither a tensor nor an integer");
  }
  Value argument = block->addArgument(type, NameLoc::get(builder.getStringAttr(*name)));
  AliasTracker::Id id = aliases.define(argument);
  arguments.push_back({name->str(), dims, "", id});
  return importer.define(scope, *name, id);
}

llvm::Expected<Value> ProgramImporter::makeWeight(StringRef name) {
  auto it = parameters.find(name);
  if (it == parameters.end())
    return Value();
  const InputSpec &spec = *it->second;
  auto meta = program.graph.tensors.find(name);
  auto type = importer.typeOf(scope, name);
  if (!type)
    return type.takeError();
  auto weight = payloads.weight(spec.target, meta->second, roleOf(spec));
  if (!weight)
    return weight.takeError();
  OpBuilder::InsertionGuard guard(builder);
  // Ahead of every node, in order of first use.
  if (parameterOrder.empty())
    builder.setInsertionPointToStart(block);
  else
    builder.setInsertionPointAfter(weightOps.lookup(parameterOrder.back()));
  auto op = graph::WeightOp::create(builder, NameLoc::get(builder.getStringAttr(spec.target)),
                                    *type, builder.getStringAttr(*weight));
  weightOps[name] = op;
  parameterOrder.push_back(name.str());
  return op.getResult();
}

void ProgramImporter::addResult(StringRef name, Value value, ArrayAttr dims, StringRef mutates) {
  std::string unique = name.str();
  for (unsigned n = 1; !resultNames.insert(unique).second; ++n)
    unique = (name + "." + llvm::Twine(n)).str();
  results.push_back(value);
  resultPorts.push_back({unique, dims, mutates.str()});
}

ProgramImporter::Argument_ *ProgramImporter::findArgument(StringRef name) {
  auto it = llvm::find_if(arguments, [&](const Argument_ &a) { return a.name == name; });
  return it == arguments.end() ? nullptr : &*it;
}

/// Makes the parameter or buffer an argument, which the run-time keeps.
llvm::Expected<std::string> ProgramImporter::makeState(const InputSpec &spec) {
  StringRef placeholder = *referredName(*spec.arg.value);
  auto id = importer.lookup(scope, placeholder);
  if (!id)
    return id.takeError();
  graph::WeightOp weight = weightOps.lookup(placeholder);
  auto dims = shapes.dimNames(program.graph.tensors.find(placeholder)->second);
  if (!dims)
    return dims.takeError();
  Value argument =
      block->addArgument(weight.getType(), NameLoc::get(builder.getStringAttr(spec.target)));
  weight.replaceAllUsesWith(argument);
  stateOf[weight.getResult()] = argument;
  std::string name = spec.target.str(); // an input may have it too
  while (findArgument(name))
    name += ".state";
  arguments.push_back({name, *dims, weight.getName().str(), *id});
  return name;
}

/// The new value of the input, or of the parameter or buffer, called `name`.
llvm::Error ProgramImporter::addWrittenBack(StringRef name, bool isState, Value value) {
  if (!changed.insert((isState ? "state " : "input ") + name.str()).second)
    return userError("'" + printable(name) + "' is changed twice");
  std::string own = name.str();
  if (isState) {
    auto it = parametersByName.find(name);
    if (it == parametersByName.end())
      return userError("'" + printable(name) + "' is changed but is no buffer");
    auto made = makeState(*it->second);
    if (!made)
      return made.takeError();
    own = *made;
  }
  Argument_ *argument = findArgument(own);
  if (!argument)
    return userError("'" + printable(name) + "' is changed but is no input");
  if (value.getType() != block->getArgument(argument - arguments.data()).getType())
    return userError("'" + printable(name) + "' changes its type");
  addResult(own, value, argument->dims, own);
  return llvm::Error::success();
}

llvm::Error ProgramImporter::addOutput(const OutputSpec &spec) {
  if (spec.kind == "token")
    return llvm::Error::success();
  auto name = spec.arg.value ? referredName(*spec.arg.value) : std::nullopt;
  if (!name) // None or a Python constant
    return llvm::Error::success();
  auto value = importer.read(scope, *name);
  if (!value)
    return value.takeError();
  ArrayAttr dims = builder.getArrayAttr({});
  if (auto meta = program.graph.tensors.find(*name); meta != program.graph.tensors.end()) {
    auto names = shapes.dimNames(meta->second);
    if (!names)
      return names.takeError();
    dims = *names;
  }
  addResult(*name, *value, dims, "");
  return llvm::Error::success();
}

llvm::Error ProgramImporter::addOutputs() {
  auto isMutation = [](const OutputSpec &spec) {
    return StringRef(spec.kind).ends_with("_mutation");
  };
  for (const OutputSpec &spec : program.outputs)
    if (!isMutation(spec))
      if (llvm::Error error = addOutput(spec))
        return userError("output: " + toString(std::move(error)));
  for (const OutputSpec &spec : program.outputs) {
    if (!isMutation(spec))
      continue;
    auto name = referredName(*spec.arg.value);
    if (!name)
      return userError("the new value of '" + printable(spec.target) + "' is no tensor");
    auto value = importer.read(scope, *name);
    if (!value)
      return value.takeError();
    bool isState = spec.kind != "user_input_mutation";
    if (llvm::Error error = addWrittenBack(spec.target, isState, *value))
      return error;
  }
  // What in-place operators changed stands in no signature.
  for (size_t i = 0, inputs = arguments.size(); i < inputs; ++i)
    if (aliases.written(arguments[i].id) && arguments[i].state.empty())
      if (llvm::Error error =
              addWrittenBack(arguments[i].name, false, aliases.read(builder, arguments[i].id)))
        return error;
  for (const std::string &placeholder : parameterOrder) {
    AliasTracker::Id id = scope.names.lookup(placeholder);
    if (!aliases.written(id))
      continue;
    if (llvm::Error error =
            addWrittenBack(parameters.lookup(placeholder)->target, true, aliases.read(builder, id)))
      return error;
  }
  return llvm::Error::success();
}

void ProgramImporter::finish(func::FuncOp function) {
  for (Value &result : results)
    if (Value state = stateOf.lookup(result))
      result = state;
  for (const Argument_ &argument : arguments)
    if (!argument.state.empty())
      for (auto op : llvm::make_early_inc_range(block->getOps<graph::WeightOp>()))
        if (op.getName() == argument.state && op.use_empty())
          op.erase();
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(block->getArgumentTypes(), ValueRange(results).getTypes()));
  Signature signature(function);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    signature.setArgument(i, argument.name, argument.dims);
    if (!argument.state.empty())
      signature.setState(i, argument.state);
  }
  for (auto [i, port] : llvm::enumerate(resultPorts)) {
    signature.setResult(i, port.name, port.dims);
    if (!port.changes.empty())
      signature.setChange(i, port.changes);
  }
  signature.setRanges(shapes.ranges());
}

llvm::Expected<OwningOpRef<ModuleOp>> ProgramImporter::run() {
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  auto function = func::FuncOp::create(loc, "main", builder.getFunctionType({}, {}));
  module->push_back(function);
  block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  if (llvm::Error error = checkSignature())
    return error;
  if (llvm::Error error = bindShapes())
    return error;
  scope.parameters = &parameters;
  for (const InputSpec &spec : program.inputs)
    if (llvm::Error error = addInput(spec))
      return error;
  SmallVector<CheckedInput> checked;
  for (auto [argument, value] : llvm::zip(arguments, block->getArguments()))
    if (auto meta = program.graph.tensors.find(argument.name); meta != program.graph.tensors.end())
      checked.push_back({argument.name, &meta->second, value});
  if (llvm::Error error = checkInputs(builder, shapes, checked, program.guards))
    return error;
  auto onDemand = [&](StringRef name) { return makeWeight(name); };
  scope.onDemand = onDemand;
  if (llvm::Error error = importer.importNodes(scope))
    return error;
  if (llvm::Error error = addOutputs())
    return error;
  if (results.empty())
    return userError("the model has no outputs");
  finish(function);
  return module;
}

//===----------------------------------------------------------------------===//
// The archive
//===----------------------------------------------------------------------===//

struct Located {
  std::string root, model;
  const ZipEntry *entry;
};

/// The program to import: `<root>models/<model>.json`.
llvm::Expected<Located> locateModel(const ZipArchive &archive) {
  std::vector<Located> found;
  for (const ZipEntry &entry : archive.entries()) {
    StringRef name = entry.name;
    if (name.ends_with("serialized_exported_program.json"))
      return userError("it was saved by torch older than 2.9; load it there and save it again");
    size_t at = name.find("models/");
    if (at == StringRef::npos || (at != 0 && name[at - 1] != '/') || !name.ends_with(".json"))
      continue;
    StringRef model = name.drop_front(at + 7).drop_back(5);
    if (!model.contains('/'))
      found.push_back({name.take_front(at).str(), model.str(), &entry});
  }
  if (found.empty())
    return userError("it holds no models/*.json, so torch.export.save did not write it");
  for (const Located &located : found)
    if (found.size() == 1 || located.model == "model")
      return located;
  return userError("it holds " + llvm::Twine(found.size()) +
                   " models and none is called 'model'; save them one by one");
}

llvm::Error checkByteOrder(const ZipArchive &archive, const std::string &root) {
  const ZipEntry *order = archive.find(root + "byteorder");
  if (order && order->data != "little")
    return userError("its weights are not little-endian");
  return llvm::Error::success();
}

llvm::Expected<OwningOpRef<ModuleOp>> importArchive(std::shared_ptr<llvm::MemoryBuffer> buffer,
                                                    const ImportOptions &options,
                                                    WeightTable &weights, MLIRContext &context) {
  auto archive = ZipArchive::open(buffer->getBuffer());
  if (!archive)
    return archive.takeError();
  auto located = locateModel(*archive);
  if (!located)
    return located.takeError();
  if (llvm::Error error = checkByteOrder(*archive, located->root))
    return error;
  StringRef text = located->entry->data;
  std::string name = "models/" + printable(located->model) + ".json";
  if (text.size() > kMaxDocument)
    return userError(name + " is larger than 256 MiB");
  // 0: written with torch.serialization.set_crc32_options(False).
  if (located->entry->crc32 != 0 &&
      located->entry->crc32 != llvm::crc32(llvm::arrayRefFromStringRef(text)))
    return userError(name + " is damaged (its CRC-32 differs)");
  auto document = parseJson(text);
  if (!document)
    return userError(name + ": " + toString(document.takeError()));
  auto program = readAs<Program>(*document, name);
  if (!program)
    return program.takeError();
  Payloads payloads(*archive, located->root, buffer, weights);
  if (llvm::Error error = payloads.readConfig(located->model))
    return error;
  return ProgramImporter(*program, payloads, options, context).run();
}

} // namespace
} // namespace torchexport

llvm::Expected<OwningOpRef<ModuleOp>> importTorchExport(StringRef path,
                                                        const ImportOptions &options,
                                                        WeightTable &weights,
                                                        MLIRContext &context) {
  context.loadDialect<graph::GraphDialect, prim::PrimDialect, func::FuncDialect>();
  std::string shown = printable(path, 1000);
  auto buffer = openInputFile(path);
  if (!buffer)
    return userError(shown + ": " + toString(buffer.takeError()));
  if (options.fileRead)
    options.fileRead(path);
  auto module = torchexport::importArchive(std::move(*buffer), options, weights, context);
  if (!module)
    return userError(shown + ": " + toString(module.takeError()));
  return module;
}

bool looksLikeTorchExport(StringRef path) {
  auto file = openInputFile(path);
  if (!file)
    llvm::consumeError(file.takeError());
  return file && (*file)->getBuffer().starts_with("PK\x03\x04");
}

} // namespace tcc
