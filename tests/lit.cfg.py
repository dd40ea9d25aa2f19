# Regression tests of IR and passes: .mlir and .test files with RUN lines, checked by FileCheck or by
# -verify-diagnostics. ctest runs one file at a time (tests/support/InfLit.cmake); all at once:
#   python3 lit.py BUILD/tests
import os

import lit.formats

config.name = "inf"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = config.inf_source_tests
# A place of its own for each file: ctest runs several at once.
config.test_exec_root = os.path.join(
    config.inf_build_tests, "lit", lit_config.params.get("file", "all").replace("/", "."))

# LLVM's bin first: another FileCheck may be about.
config.environment["PATH"] = os.pathsep.join(
    [config.llvm_tools, config.inf_tools, os.environ.get("PATH", "")])
config.substitutions.append(("%models", os.path.join(config.inf_source_tests, "..", "models")))
config.substitutions.append(("%source", os.path.join(config.inf_source_tests, "..")))
