//===- StorageLayout.td - Where the elements of a tensor lie -*- tablegen -*-===//
//
// A tensor lies dense and row-major in memory unless the encoding of its type says otherwise.
// Layout gives weights such an encoding, because kernels read them in another order than models
// store them in; the operators that read the weights stay what they are, and their shapes too.
// Each target has layouts of its own: what all of them tell is here, so that the interpreter, the
// plan and the reports need to know no target.
//
//===----------------------------------------------------------------------===//
#ifndef TCC_DIALECT_PRIM_STORAGE_LAYOUT_TD
#define TCC_DIALECT_PRIM_STORAGE_LAYOUT_TD
include "mlir/IR/Interfaces.td"

def Prim_StorageLayout : AttrInterface<"StorageLayout"> {
  let cppNamespace = "::tcc::prim";
  let description = [{How a tensor of static shape lies in memory, where that is not row-major.}];
  let methods = [
    InterfaceMethod<"What a tensor of `shape` is in memory: the extents of a row-major array.",
                    "::llvm::SmallVector<int64_t>", "getStorageShape", (ins "::llvm::ArrayRef<int64_t>":$shape)>,
    InterfaceMethod<[{Reads a tensor of `shape` from `storage` and writes it to `to`, in row-major order. Elements are
                      of `elementBytes`.}],
                    "void", "unpack", (ins "::llvm::ArrayRef<int64_t>":$shape, "unsigned":$elementBytes,
                                           "const char *":$storage, "char *":$to)>
  ];
}
#endif
