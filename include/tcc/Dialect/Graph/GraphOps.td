//===- GraphOps.td - The importers' common form ------------*- tablegen -*-===//
#ifndef TCC_DIALECT_GRAPH_OPS_TD
#define TCC_DIALECT_GRAPH_OPS_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::tcc::graph";
  let summary = "A model as its file states it";
  let description = [{
    What ONNX and torch.export files have in common, and nothing more: nodes
    with a domain, a target, operands, attributes and subgraphs. No operator is
    known here; the decompose phase gives every node its meaning.

    A model is one `func.func @main`. Its argument and result attributes name
    the inputs and outputs (`graph.name`) and their symbolic dims
    (`graph.dims = ["N", 3, 224, 224]`): include/tcc/Signature reads them.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Graph_Attr<string name, string mnemonicName> : AttrDef<Graph_Dialect, name> {
  let mnemonic = mnemonicName;
}
def Graph_WeightAttr : Graph_Attr<"Weight", "weight"> {
  let summary = "a tensor attribute whose data is in the weight table";
  let parameters = (ins StringRefParameter<"name in the weight table">:$name);
  let assemblyFormat = "`<` $name `>`";
}
def Graph_OperandAttr : Graph_Attr<"Operand", "operand"> {
  let summary = "a named argument of an FX node that is the node's operand number `index`";
  let parameters = (ins "unsigned":$index);
  let assemblyFormat = "`<` $index `>`";
}

class Graph_Type<string name, string mnemonicName> : TypeDef<Graph_Dialect, name> {
  let mnemonic = mnemonicName;
}
def Graph_SequenceType : Graph_Type<"Sequence", "seq"> {
  let summary = "a list of values of one type (ONNX sequence)";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}
def Graph_OptionalType : Graph_Type<"Optional", "optional"> {
  let summary = "a value or nothing (ONNX optional)";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}
def Graph_StringType : Graph_Type<"String", "string"> {
  let summary = "a tensor element of text";
  let extraClassDeclaration = "";
}

def Graph_UnknownType : Graph_Type<"Unknown", "unknown"> {
  let summary = "a value whose type the file does not tell, or that has no tensor (map, opaque)";
}

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<Graph_Dialect, mnemonic, traits>;

def Graph_NodeOp : Graph_Op<"node"> {
  let summary = "one operator of the source graph";
  let description = [{
    ```mlir
    %y = graph.node "onnx" "Relu"(%x) {version = 14 : i64} : (tensor<?xf32>) -> tensor<?xf32>
    ```
    `domain` is "onnx" for ai.onnx, else the domain's own name, and FX's
    namespace ("aten"). `version` is the opset of the domain (ONNX). `attrs`
    holds the attributes, `outs` the names of the results and `regionNames` the
    attribute names of the subgraphs. A missing optional operand is
    `graph.none`. A subgraph's arguments are its inputs; outer values are
    captured by use.
  }];
  let arguments = (ins StrAttr:$domain, StrAttr:$target, Variadic<AnyType>:$inputs,
                       DefaultValuedAttr<I64Attr, "0">:$version,
                       OptionalAttr<DictionaryAttr>:$attrs, OptionalAttr<StrArrayAttr>:$outs,
                       OptionalAttr<StrArrayAttr>:$regionNames);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region VariadicRegion<AnyRegion>:$bodies);
  let assemblyFormat = [{
    $domain $target `(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $bodies
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The attribute `name` of the source node, or null.
    ::mlir::Attribute attr(::llvm::StringRef name);
    /// The subgraph held under the attribute `name`, or null.
    ::mlir::Region *body(::llvm::StringRef name);
  }];
}

def Graph_YieldOp : Graph_Op<"yield", [Terminator, Pure, ReturnLike]> {
  let summary = "ends a subgraph with its outputs";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Graph_NoneOp : Graph_Op<"none", [Pure]> {
  let summary = "a missing optional operand";
  let results = (outs NoneType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Graph_WeightOp : Graph_Op<"weight", [Pure]> {
  let summary = "an initializer or parameter, whose data is in the weight table";
  let arguments = (ins StrAttr:$name);
  let results = (outs AnyStaticShapeTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}
#endif
