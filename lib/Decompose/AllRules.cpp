#include "AllRules.h"

void tcc::populateAllRules(RuleSet &rules) {
  populateOnnxActivationRules(rules);
  populateOnnxControlFlowRules(rules);
  populateOnnxConvRules(rules);
  populateOnnxEinsumRules(rules);
  populateOnnxElementwiseRules(rules);
  populateOnnxFoldRules(rules);
  populateOnnxGatherRules(rules);
  populateOnnxGenerateRules(rules);
  populateOnnxGridSampleRules(rules);
  populateOnnxMatmulRules(rules);
  populateOnnxNormalizationRules(rules);
  populateOnnxPadRules(rules);
  populateOnnxPoolRules(rules);
  populateOnnxQuantizationRules(rules);
  populateOnnxRandomRules(rules);
  populateOnnxRecurrentRules(rules);
  populateOnnxReductionRules(rules);
  populateOnnxRegionRules(rules);
  populateOnnxReshapeRules(rules);
  populateOnnxResizeRules(rules);
  populateOnnxSequenceRules(rules);
  populateOnnxSignalRules(rules);
  populateOnnxSliceRules(rules);
  populateOnnxSoftmaxRules(rules);
  populateOnnxTrainingRules(rules);
}
