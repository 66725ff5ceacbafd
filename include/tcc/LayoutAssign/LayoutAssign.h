//===- LayoutAssign.h - Channels last and packed weights ---------*- C++ -*-===//
//
// The layout phase. After it products are in the type that --precision asks for,
// convolutions are channels-last, the transposes that this needs have met and
// vanished wherever they could, and the weights of contractions lie in the order
// that kernels read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tcc/Dialect/Prim/Prim.h"
#include "tcc/Target/Cpu.h"
#include <functional>
#include <optional>

namespace tcc {
class WeightTable;

/// What an f32 model is multiplied and stored in. TF32 has the range of f32 and eleven
/// significant bits; where no hardware has it, it is f32.
enum class Precision { F32, TF32, BF16, F16 };
llvm::StringRef nameOf(Precision precision);
std::optional<Precision> precisionOf(llvm::StringRef name);

/// tcc-layout-narrow: see lib/LayoutAssign/Narrow.cpp. `weights` outlives the pass.
std::unique_ptr<mlir::Pass> createNarrowPass(WeightTable *weights, Precision precision);

/// tcc-layout-grouped-channels: see lib/LayoutAssign/GroupedChannels.cpp, for groups of `fewest`
/// elements and more. Before tcc-layout-channels-last, which spreads over what it leaves.
std::unique_ptr<mlir::Pass> createGroupedChannelsPass(int64_t fewest);
/// tcc-layout-channels-last: see lib/LayoutAssign/ChannelsLast.cpp. Convolutions
/// with a filter for each channel and lines of at least `shortestLine` results (0: none), or at
/// most `mostProducts` multiplications, stay as they are where nothing around them wants channels
/// last.
std::unique_ptr<mlir::Pass> createChannelsLastPass(int64_t shortestLine, int64_t mostProducts);

/// tcc-layout-order-statistics: see lib/LayoutAssign/Cpu/OrderStatistics.cpp.
std::unique_ptr<mlir::Pass> createOrderStatisticsPass();

/// tcc-layout-orient-products: see lib/LayoutAssign/Cpu/OrientProducts.cpp. `keepsNarrow`: filters
/// of 16 bits stay so, whatever that costs. `shortestLine` is that of createChannelsLastPass.
std::unique_ptr<mlir::Pass> createOrientProductsPass(const CpuTarget *cpu, bool keepsNarrow = false,
                                                     int64_t shortestLine = 0);

/// tcc-layout-separate-pools: see lib/LayoutAssign/Cpu/SeparatePools.cpp.
std::unique_ptr<mlir::Pass> createSeparatePoolsPass();

/// tcc-layout-split-reductions: see lib/LayoutAssign/Cpu/SplitReductions.cpp.
std::unique_ptr<mlir::Pass> createSplitReductionsPass();

/// tcc-layout-widen-bytes: see lib/LayoutAssign/Cpu/WidenBytes.cpp. `cpu` outlives the pass.
std::unique_ptr<mlir::Pass> createWidenBytesPass(const CpuTarget *cpu);

/// Of which products by a vector tcc-layout-vector-products makes sums.
struct VectorProducts {
  const CpuTarget *cpu = nullptr; ///< whose packed weights stay; outlives the pass
  int64_t mostRows = 0;           ///< 0: any number
  int64_t shortest = 1;           ///< rows of so many elements
};
/// See lib/LayoutAssign/VectorProducts.cpp.
std::unique_ptr<mlir::Pass> createVectorProductsPass(VectorProducts which);

/// Which of the orders that a target has kernels for, given best first, the weights of a
/// contraction lie in; null after it told why not.
using LayoutChooser = std::function<prim::StorageLayout(
    mlir::Operation *contraction, llvm::ArrayRef<prim::StorageLayout> candidates)>;

/// tcc-layout-pack-weights: see lib/LayoutAssign/Cpu/PackWeights.cpp. `weights` and
/// `cpu` outlive the pass. Without a chooser the first candidate is taken.
std::unique_ptr<mlir::Pass> createPackWeightsPass(WeightTable *weights, const CpuTarget *cpu,
                                                  LayoutChooser chooser = nullptr);

/// tcc-layout-grouped-weights: see lib/LayoutAssign/Cpu/GroupedWeights.cpp. Before constants are
/// folded. `weights` and `cpu` outlive the pass.
std::unique_ptr<mlir::Pass> createGroupedWeightsPass(WeightTable *weights, const CpuTarget *cpu);

/// tcc-layout-filter-gradients: see lib/LayoutAssign/FilterGradients.cpp.
std::unique_ptr<mlir::Pass> createFilterGradientsPass();

/// tcc-layout-k-major-weights: see lib/LayoutAssign/KMajorWeights.cpp. `weights` outlives the
/// pass.
std::unique_ptr<mlir::Pass> createKMajorWeightsPass(WeightTable *weights);

/// tcc-layout-product-columns: see lib/LayoutAssign/ProductColumns.cpp.
std::unique_ptr<mlir::Pass> createProductColumnsPass();

/// tcc-layout-join-products: see lib/LayoutAssign/JoinProducts.cpp. After
/// tcc-layout-k-major-weights. `weights` outlives the pass.
std::unique_ptr<mlir::Pass> createJoinProductsPass(WeightTable *weights);

} // namespace tcc
