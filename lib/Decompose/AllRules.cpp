#include "AllRules.h"

void tcc::populateAllRules(RuleSet &rules) {
  populateOnnxElementwiseRules(rules);
}
