// The same with NVIDIA's instructions, whose header takes four seconds of CPU in each file.
#pragma once
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "pch-kernel.h"
