# lit's configuration: what a test is, and the tools it may call by name.
import os

import lit.formats

config.name = "tcc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "integration", "conformance", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tcc_build_root, "test")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.tcc_build_root, "bin"), config.llvm_tools_dir, os.environ["PATH"]])
# Tests neither read nor fill the user's kernel cache.
config.environment["TCC_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
config.substitutions += [
    ("%python", config.python),
    ("%source", config.tcc_source_root),
    ("%build", config.tcc_build_root),
]
