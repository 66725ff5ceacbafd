// What ONNX's inliner and its inference over whole models call of files that are not compiled
// (TccOnnx.cmake). tcc calls neither: it inlines and infers node by node. Declared here because
// the converter's header brings all that converts.
#include <onnx/onnx_pb.h>
#include <stdexcept>
#include <string>

namespace onnx {
namespace version_conversion {
ModelProto ConvertVersion(const ModelProto &, int);
} // namespace version_conversion
namespace checker {
void check_function_call_cycles(const ModelProto &);
} // namespace checker
// Texts that are left out with the documentation; code without optimisation mentions them all the
// same.
extern const char kDoc_SpaceToDepth_ver28[];
extern const char kDoc_DepthToSpace_ver28[];
const char kDoc_SpaceToDepth_ver28[] = "";
const char kDoc_DepthToSpace_ver28[] = "";
} // namespace onnx

[[noreturn]] static void isLeftOut(const char *what) {
  throw std::logic_error(std::string("ONNX's ") + what + " is no part of tcc");
}

onnx::ModelProto onnx::version_conversion::ConvertVersion(const ModelProto &, int) {
  isLeftOut("converter of versions");
}

void onnx::checker::check_function_call_cycles(const ModelProto &) { isLeftOut("checker"); }
