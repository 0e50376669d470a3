/* SPDX-License-Identifier: MIT */
/* Included on the compiler's command line: string functions without bounds, and fork,
 * do not compile in cairn. */
#if defined(__GNUC__) && !defined(__cplusplus)
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* With _FORTIFY_SOURCE these are macros under clang, which may not be poisoned. */
#undef sprintf
#undef vsprintf
#pragma GCC poison strcpy strcat sprintf vsprintf gets strtok strncpy strncat atoi fork
#endif
