// The program is linked into the test.
#include "Fixture.h"

const tcc_api &rt::api() { return *tcc_get_api(TCC_ABI_VERSION); }
