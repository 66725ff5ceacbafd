#include "AllRules.h"

void tcc::populateAllRules(RuleSet &rules) {
  populateOnnxActivationRules(rules);
  populateOnnxConvRules(rules);
  populateOnnxEinsumRules(rules);
  populateOnnxElementwiseRules(rules);
  populateOnnxGatherRules(rules);
  populateOnnxGenerateRules(rules);
  populateOnnxMatmulRules(rules);
  populateOnnxNormalizationRules(rules);
  populateOnnxPadRules(rules);
  populateOnnxPoolRules(rules);
  populateOnnxReductionRules(rules);
  populateOnnxReshapeRules(rules);
  populateOnnxSliceRules(rules);
  populateOnnxSoftmaxRules(rules);
}
