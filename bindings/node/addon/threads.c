/* SPDX-License-Identifier: MIT */
#include "addon.h"
const struct operation operations_of_threads[] = {{0}};
