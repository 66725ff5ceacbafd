//===- AllRules.h - The families of decomposition rules ----------*- C++ -*-===//
#pragma once

namespace tcc {
class RuleSet;

// One line a family; each is defined in the file of its name.
void populateAtenActivationRules(RuleSet &rules);
void populateAtenAlgebraRules(RuleSet &rules);
void populateAtenBackwardAttentionRules(RuleSet &rules);
void populateAtenBackwardBagRules(RuleSet &rules);
void populateAtenBackwardDistanceRules(RuleSet &rules);
void populateAtenBackwardNormalizationRules(RuleSet &rules);
void populateAtenBackwardPointwiseRules(RuleSet &rules);
void populateAtenBackwardRecurrentRules(RuleSet &rules);
void populateAtenBackwardViewRules(RuleSet &rules);
void populateAtenBackwardWindowRules(RuleSet &rules);
void populateAtenBesselRules(RuleSet &rules);
void populateAtenBinaryRules(RuleSet &rules);
void populateAtenBlockQuantizationRules(RuleSet &rules);
void populateAtenControlFlowRules(RuleSet &rules);
void populateAtenConvRules(RuleSet &rules);
void populateAtenCreateRules(RuleSet &rules);
void populateAtenDistanceRules(RuleSet &rules);
void populateAtenDistributionRules(RuleSet &rules);
void populateAtenFourierRules(RuleSet &rules);
void populateAtenFractionalPoolRules(RuleSet &rules);
void populateAtenHistogramRules(RuleSet &rules);
void populateAtenIncompleteGammaRules(RuleSet &rules);
void populateAtenIndexRules(RuleSet &rules);
void populateAtenJoinRules(RuleSet &rules);
void populateAtenLinalgRules(RuleSet &rules);
void populateAtenLinalgSpectralRules(RuleSet &rules);
void populateAtenLinalgIndefiniteRules(RuleSet &rules);
void populateAtenLinalgTrianglesRules(RuleSet &rules);
void populateAtenLinearRules(RuleSet &rules);
void populateAtenLossRules(RuleSet &rules);
void populateAtenMaskRules(RuleSet &rules);
void populateAtenNormalizationRules(RuleSet &rules);
void populateAtenPolynomialRules(RuleSet &rules);
void populateAtenPoolRules(RuleSet &rules);
void populateAtenRandomRules(RuleSet &rules);
void populateAtenRecurrentRules(RuleSet &rules);
void populateAtenReductionRules(RuleSet &rules);
void populateAtenResizeRules(RuleSet &rules);
void populateAtenScatterRules(RuleSet &rules);
void populateAtenSegmentRules(RuleSet &rules);
void populateAtenShortTimeRules(RuleSet &rules);
void populateAtenSliceRules(RuleSet &rules);
void populateAtenSplitRules(RuleSet &rules);
void populateAtenSortRules(RuleSet &rules);
void populateAtenSpecialRules(RuleSet &rules);
void populateAtenStatisticsRules(RuleSet &rules);
void populateAtenSymbolicRules(RuleSet &rules);
void populateAtenUnaryRules(RuleSet &rules);
void populateAtenViewRules(RuleSet &rules);
void populateAtenOptimizerRules(RuleSet &rules);
void populateAtenVisionRules(RuleSet &rules);
void populateAtenWindowRules(RuleSet &rules);
void populatePrimitiveRules(RuleSet &rules); ///< after ATen's
void populateOnnxActivationRules(RuleSet &rules);
void populateOnnxAttentionRules(RuleSet &rules);
void populateOnnxCol2ImRules(RuleSet &rules);
void populateOnnxContribAttentionRules(RuleSet &rules);
void populateOnnxContribFusedRules(RuleSet &rules);
void populateOnnxContribPackedRules(RuleSet &rules);
void populateOnnxContribQuantizedRules(RuleSet &rules);
void populateOnnxContribTensorRules(RuleSet &rules);
void populateOnnxContribWordRules(RuleSet &rules);
void populateOnnxConvRules(RuleSet &rules);
void populateOnnxDetectionRules(RuleSet &rules);
void populateOnnxElementwiseRules(RuleSet &rules);
void populateOnnxExpertsRules(RuleSet &rules);
void populateOnnxGatherRules(RuleSet &rules);
void populateOnnxGenerateRules(RuleSet &rules);
void populateOnnxGridSampleRules(RuleSet &rules);
void populateOnnxIfRules(RuleSet &rules);
void populateOnnxLinearAttentionRules(RuleSet &rules);
void populateOnnxLoopRules(RuleSet &rules);
void populateOnnxMatmulRules(RuleSet &rules);
void populateOnnxNormalizationRules(RuleSet &rules);
void populateOnnxPadRules(RuleSet &rules);
void populateOnnxPoolRules(RuleSet &rules);
void populateOnnxQuantizationRules(RuleSet &rules);
void populateOnnxRandomRules(RuleSet &rules);
void populateOnnxRecurrentRules(RuleSet &rules);
void populateOnnxReductionRules(RuleSet &rules);
void populateOnnxReshapeRules(RuleSet &rules);
void populateOnnxResizeRules(RuleSet &rules);
void populateOnnxRoiAlignRules(RuleSet &rules);
void populateOnnxSequenceRules(RuleSet &rules);
void populateOnnxSignalRules(RuleSet &rules);
void populateOnnxSliceRules(RuleSet &rules);
void populateOnnxSoftmaxRules(RuleSet &rules);
void populateOnnxTfIdfRules(RuleSet &rules);
void populateOnnxTrainingRules(RuleSet &rules);

void populateAllRules(RuleSet &rules);

} // namespace tcc
