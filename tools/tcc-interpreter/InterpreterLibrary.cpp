//===- InterpreterLibrary.cpp - The reference interpreter for models ------===//
//
// libtcc-interpreter.so, which runs the kernels of models that were compiled with
// `--backend reference` (lib/Runtime/Interpreter.h). A kernel comes as the text that code is made
// of elsewhere; what it is given is what machine code would be given. Inputs are read where they
// lie; results are computed aside and copied when all of them are there, since a result may lie in
// the place of an input.
//
// The interpreter finds a result's shape from the inputs; one that differs from what the host
// program made room for is told as such.
//
//===----------------------------------------------------------------------===//
#include "Runtime/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "tcc/Dialect/Cpu/Cpu.h"
#include "tcc/Dialect/Kernel/Kernel.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Reference/Interpreter.h"
#include "tcc/Runtime/tcc.h"
#include "tcc/Support/Error.h"
#include "tcc/Support/WeightTable.h"
#include <mutex>

using namespace mlir;
using namespace tcc;
using reference::Tensor;

namespace {

/// A kernel as a function of its launch's operands that returns its results.
struct Kernel {
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  kernel::LaunchOp launch;
};

/// Where a result goes.
struct Room {
  char *to;
  SmallVector<int64_t> shape;
};

/// Reads a launch's words one after the other.
class Words {
public:
  explicit Words(const int64_t *next) : next(next) {}
  int64_t number() { return *next++; }
  char *pointer() { return reinterpret_cast<char *>(number()); }
  SmallVector<int64_t> shape(RankedTensorType type) {
    SmallVector<int64_t> all(type.getShape());
    for (int64_t &d : all)
      if (ShapedType::isDynamic(d))
        d = number();
    return all;
  }

private:
  const int64_t *next;
};

} // namespace

struct tcc_interpreted_model {
  tcc_interpreted_model() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }
  static DialectRegistry registry() {
    DialectRegistry all;
    all.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, prim::PrimDialect,
               cpu::CpuDialect, kernel::KernelDialect>();
    return all;
  }

  llvm::Error add(StringRef text);
  llvm::Error run(Kernel &kernel, Words words);

  MLIRContext context;
  std::mutex lock; ///< of the context, which makes attributes and types now and then
  std::vector<Kernel> kernels;
};

llvm::Error tcc_interpreted_model::add(StringRef text) {
  std::string reported;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (d.getSeverity() == DiagnosticSeverity::Error && reported.empty())
      reported = d.str();
    return success();
  });
  Kernel &kernel = kernels.emplace_back();
  kernel.module = parseSourceString<ModuleOp>(text, &context);
  if (!kernel.module)
    return llvm::createStringError(reported);
  kernel.module->walk([&](kernel::LaunchOp op) { kernel.launch = op; });
  if (!kernel.launch)
    return llvm::createStringError("a kernel has no launch");
  kernel.function = kernel.launch->getParentOfType<func::FuncOp>();
  kernel.function.getBody().front().getTerminator()->setOperands(kernel.launch->getResults());
  kernel.function.setFunctionType(FunctionType::get(&context, kernel.function.getArgumentTypes(),
                                                    kernel.launch->getResultTypes()));
  return llvm::Error::success();
}

/// A host scalar in a word: floats as bits.
static Tensor scalarIn(int64_t word, Type type) {
  if (type.isIndex())
    return Tensor::ofIndex(word);
  DType dtype = *prim::dtypeOf(type);
  Tensor scalar = llvm::cantFail(Tensor::allocate(dtype, {}));
  memcpy(scalar.mutableData(), &word, reference::elementBytes(dtype));
  return scalar;
}

/// Several results: one may lie in the place of an input that another is a view of.
static llvm::Error keepApart(std::vector<Tensor> &results, ArrayRef<Tensor> inputs) {
  if (results.size() < 2)
    return llvm::Error::success();
  for (Tensor &result : results) {
    auto inside = [&](const Tensor &input) {
      return result.data() >= input.data() && result.data() < input.data() + input.bytes();
    };
    if (llvm::none_of(inputs, inside))
      continue;
    auto copy = Tensor::allocate(result.dtype(), result.shape());
    if (!copy)
      return copy.takeError();
    memcpy(copy->mutableData(), result.data(), result.bytes());
    result = std::move(*copy);
  }
  return llvm::Error::success();
}

llvm::Error tcc_interpreted_model::run(Kernel &kernel, Words words) {
  std::vector<Tensor> arguments;
  for (Value input : kernel.launch.getInputs()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type) {
      arguments.push_back(scalarIn(words.number(), input.getType()));
      continue;
    }
    const char *data = words.pointer();
    auto tensor = Tensor::over(*prim::dtypeOf(type.getElementType()),
                               words.shape(prim::storedType(type)), data);
    if (tensor)
      tensor = reference::fromStorage(type, std::move(*tensor));
    if (!tensor)
      return tensor.takeError();
    arguments.push_back(std::move(*tensor));
  }
  SmallVector<Room> rooms;
  for (Type type : kernel.launch.getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    char *to = words.pointer();
    rooms.push_back({to, words.shape(tensor)});
    for (auto [axis, d] : llvm::enumerate(tensor.getShape()))
      if (ShapedType::isDynamic(d))
        arguments.push_back(Tensor::ofIndex(rooms.back().shape[axis]));
  }
  WeightTable none;
  auto results = reference::evaluate(kernel.function, arguments, none);
  if (!results)
    return results.takeError();
  for (auto [result, room] : llvm::zip_equal(*results, rooms))
    if (result.shape() != ArrayRef(room.shape))
      return llvm::createStringError("a result has shape " + reference::shapeText(result.shape()) +
                                     ", and the host program made room for " +
                                     reference::shapeText(room.shape));
  if (llvm::Error error = keepApart(*results, arguments))
    return error;
  for (auto [result, room] : llvm::zip_equal(*results, rooms))
    if (result.bytes())
      memmove(room.to, result.data(), result.bytes());
  return llvm::Error::success();
}

static void tell(llvm::Error error, char *message, size_t size) {
  std::string text = printable(llvm::toString(std::move(error)), size - 1);
  memcpy(message, text.c_str(), text.size() + 1);
}

static tcc_interpreted_model *openModel(const tcc_kernel_text *const *kernels, uint32_t count,
                                        char *message, size_t size) {
  auto model = std::make_unique<tcc_interpreted_model>();
  for (uint32_t i = 0; i < count; ++i)
    if (llvm::Error error = model->add(StringRef(kernels[i]->text, kernels[i]->size))) {
      tell(std::move(error), message, size);
      return nullptr;
    }
  return model.release();
}

static void closeModel(tcc_interpreted_model *model) { delete model; }

static int32_t runKernel(tcc_interpreted_model *model, uint32_t kernel, const int64_t *words,
                         char *message, size_t size) {
  std::lock_guard guard(model->lock);
  llvm::Error error = model->run(model->kernels[kernel], Words(words));
  if (!error)
    return TCC_OK;
  int32_t status = error.isA<UserError>() ? TCC_MODEL_ERROR : TCC_INTERNAL;
  tell(std::move(error), message, size);
  return status;
}

extern "C" __attribute__((visibility("default"))) const tcc_interpreter_api *
tcc_get_interpreter(uint32_t abi) {
  static constexpr tcc_interpreter_api api{TCC_INTERPRETER_ABI, openModel, closeModel, runKernel};
  return abi == TCC_INTERPRETER_ABI ? &api : nullptr;
}
