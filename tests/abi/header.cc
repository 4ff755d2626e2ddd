// traind.h compiles by itself as C++.
#include "traind.h"

int32_t (*abi_version)() = traind_abi_version;
