#include "AllRules.h"

void tcc::populateAllRules(RuleSet &rules) {
  populateOnnxActivationRules(rules);
  populateOnnxControlFlowRules(rules);
  populateOnnxConvRules(rules);
  populateOnnxEinsumRules(rules);
  populateOnnxElementwiseRules(rules);
  populateOnnxGatherRules(rules);
  populateOnnxGenerateRules(rules);
  populateOnnxMatmulRules(rules);
  populateOnnxNormalizationRules(rules);
  populateOnnxPadRules(rules);
  populateOnnxPoolRules(rules);
  populateOnnxQuantizationRules(rules);
  populateOnnxRecurrentRules(rules);
  populateOnnxReductionRules(rules);
  populateOnnxReshapeRules(rules);
  populateOnnxSequenceRules(rules);
  populateOnnxSliceRules(rules);
  populateOnnxSoftmaxRules(rules);
}
