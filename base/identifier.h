/* SPDX-License-Identifier: MIT */
/* Which texts may be names. */
#ifndef BASE_IDENTIFIER_H
#define BASE_IDENTIFIER_H

#include "base/str.h"

#include <stdbool.h>

/* [A-Za-z0-9_][A-Za-z0-9_.-]* */
bool str_is_id(struct str text);
/* [a-z_][a-z0-9_]* */
bool str_is_key(struct str text);
/* [A-Za-z_][A-Za-z0-9_]* */
bool str_is_env_name(struct str text);

#endif
