/* traind.h compiles by itself. */
#include "traind.h"

int32_t (*abi_version)(void) = traind_abi_version;
