// The same with kernels and the host program, for what makes or reads them: half a second to a
// second of CPU less a file.
#pragma once
#include "pch-prim.h"
#include "tcc/Dialect/Host/Host.h"
#include "tcc/Dialect/Kernel/Kernel.h"
