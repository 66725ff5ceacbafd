// The same with the primitives, for what reads or writes them: a second of CPU less a file.
#pragma once
#include "pch.h"
#include "tcc/Dialect/Graph/Graph.h"
#include "tcc/Dialect/Prim/Prim.h"
