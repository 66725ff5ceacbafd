// What unit tests begin with: kernels, the host program and Catch2, which takes 0.6 s a file.
#pragma once
#include "pch-kernel.h"
#include <catch2/catch.hpp>
