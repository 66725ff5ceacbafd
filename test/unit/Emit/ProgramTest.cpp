// The description that the compiler writes is the one that the runtime reads.
#include "tcc/Emit/Program.h"
#include "../../runtime/Fixture.h"
#include "tcc/Emit/Link.h"
#include "tcc/Emit/ObjectEmitter.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include <catch2/catch.hpp>
#include <dlfcn.h>

using namespace llvm;
using namespace tcc;
using namespace tcc::emit;

static const tcc_api *current;
const tcc_api &rt::api() { return *current; }

/// y = x * w[0] with a state that counts runs from w[1], as the code generator could write it.
static const char *const code = R"(
declare void @tcc_rt_parallel(ptr, ptr, ptr, i64, i64)
declare ptr @tcc_rt_output(ptr, i32, ptr)
define hidden void @k0_scale(ptr %args, i64 %begin, i64 %end) {
  %xs = load ptr, ptr %args
  %ya = getelementptr i64, ptr %args, i64 1
  %ys = load ptr, ptr %ya
  %wa = getelementptr i64, ptr %args, i64 2
  %w = load ptr, ptr %wa
  %f = load float, ptr %w
  br label %loop
loop:
  %i = phi i64 [%begin, %0], [%n, %loop]
  %xp = getelementptr float, ptr %xs, i64 %i
  %x = load float, ptr %xp
  %y = fmul float %x, %f
  %yp = getelementptr float, ptr %ys, i64 %i
  store float %y, ptr %yp
  %n = add i64 %i, 1
  %more = icmp slt i64 %n, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define hidden i32 @tcc_entry(ptr %frame) {
  %args = alloca [3 x i64]
  %inputsp = getelementptr ptr, ptr %frame, i64 1
  %inputs = load ptr, ptr %inputsp
  %x = load ptr, ptr %inputs
  %dimsp = getelementptr ptr, ptr %inputs, i64 1
  %dims = load ptr, ptr %dimsp
  %n = load i64, ptr %dims
  %y = call ptr @tcc_rt_output(ptr %frame, i32 0, ptr %dims)
  %weightsp = getelementptr ptr, ptr %frame, i64 2
  %weights = load ptr, ptr %weightsp
  store ptr %x, ptr %args
  %a1 = getelementptr i64, ptr %args, i64 1
  store ptr %y, ptr %a1
  %a2 = getelementptr i64, ptr %args, i64 2
  store ptr %weights, ptr %a2
  call void @tcc_rt_parallel(ptr %frame, ptr @k0_scale, ptr %args, i64 %n, i64 4)
  %statep = getelementptr ptr, ptr %frame, i64 4
  %state = load ptr, ptr %statep
  %runs = load i64, ptr %state
  %runs1 = add i64 %runs, 1
  store i64 %runs1, ptr %state
  %c = call ptr @tcc_rt_output(ptr %frame, i32 1, ptr null)
  store i64 %runs1, ptr %c
  ret i32 0
}
)";

TEST_CASE("a program of the compiler's own making runs") {
  CpuTarget cpu = cantFail(CpuTarget::create("native"));
  WeightBlob blob;
  blob.layout.add("w", DType::F32, {1}, 4);
  uint64_t counter = blob.layout.add("counter", DType::I64, {}, 8);
  blob.read = [](const WeightEntry &entry, uint64_t begin, uint64_t end, char *) {
    static const float w = 3;
    static const int64_t start = 40;
    auto *bytes = entry.name == "w" ? reinterpret_cast<const char *>(&w)
                                    : reinterpret_cast<const char *>(&start);
    return StringRef(bytes + begin, end - begin);
  };
  ProgramDescription program;
  program.inputs = {{"x", DType::F32, {-1}}};
  program.outputs = {{"y", DType::F32, {-1}}, {"runs", DType::I64, {}}};
  program.symbols = {{"N", 2, 100}};
  program.kernels = {{"scale", "k0_scale", "mul", {}}};
  program.stateInits = {{0, counter, 8}};
  program.manifest = "{}";
  program.weightsSize = blob.layout.size();
  program.stateSize = 64;
  program.entry = "tcc_entry";

  LLVMContext context;
  SMDiagnostic diagnostic;
  auto module = parseAssemblyString(code, diagnostic, context);
  REQUIRE(module);
  auto object = cantFail(emitLlvmModule(*module, cpu));
  auto description = cantFail(emitProgram(program, cpu));
  LinkJob link;
  link.triple = Triple(cpu.triple);
  link.objects = {MemoryBufferRef(StringRef(object.data(), object.size()), "code"),
                  MemoryBufferRef(StringRef(description.data(), description.size()), "program")};
  link.weights = &blob;
  link.soname = "m.so";
  SmallString<128> path;
  REQUIRE(!sys::fs::createTemporaryFile("tcc-program-test", "so", path));
  std::string problem = toString(linkModel(link, path));
  REQUIRE(problem == "");
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  sys::fs::remove(path);
  REQUIRE(handle);
  current = reinterpret_cast<decltype(&tcc_get_api)>(dlsym(handle, "tcc_get_api"))(TCC_ABI_VERSION);
  {
    rt::Model model;
    REQUIRE(model.status == TCC_OK);
    tcc_context_options options = rt::withThreads(2);
    options.profile = 1;
    rt::Context ctx(model, options);
    std::vector<float> values(50, 2.f);
    std::vector<int64_t> shape = {50};
    DLTensor x = rt::tensor(values.data(), {kDLFloat, 32, 1}, shape);
    const DLTensor *inputs[] = {&x};
    for (int64_t run = 41; run < 43; ++run) {
      DLManagedTensor *outputs[2] = {};
      tcc_error error;
      REQUIRE(current->run(ctx.context, inputs, 1, outputs, 2, &error) == TCC_OK);
      CHECK(static_cast<float *>(outputs[0]->dl_tensor.data)[49] == 6.f);
      CHECK(*static_cast<int64_t *>(outputs[1]->dl_tensor.data) == run);
      for (DLManagedTensor *output : outputs)
        output->deleter(output);
    }
    tcc_kernel_info info = {};
    info.struct_size = sizeof info;
    REQUIRE(current->context_kernel(ctx.context, 0, &info) == TCC_OK);
    CHECK(std::string(info.name) == "scale");
    CHECK(info.calls == 2);
    shape[0] = 1;
    DLManagedTensor *outputs[2] = {};
    tcc_error error;
    CHECK(current->run(ctx.context, inputs, 1, outputs, 2, &error) == TCC_INVALID_ARGUMENT);
    CHECK(std::string(error.message) ==
          "input 'x': dimension 0 (N) is 1, this model takes 2 to 100");
  }
  dlclose(handle);
}

TEST_CASE("the machine's own CPU meets what code for it requires") {
  CpuTarget v4 = cantFail(CpuTarget::create("x86-64-v4", "x86_64-linux"));
  CHECK(StringRef(v4.required).contains("avx512f"));
  CHECK(StringRef(v4.required).contains("fma"));
  CHECK(!StringRef(v4.required).contains("amx"));
  CpuTarget arm = cantFail(CpuTarget::create("", "aarch64-linux"));
  CHECK(StringRef(arm.required).contains("neon"));
}
