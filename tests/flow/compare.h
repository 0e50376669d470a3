/* SPDX-License-Identifier: MIT */
/* Two models compared, see compare.c. */
#ifndef TESTS_FLOW_COMPARE_H
#define TESTS_FLOW_COMPARE_H

#include "flow.h"

struct difference {
    bool any, added, field[FIELDS];
    bool column;  /* of its sheet, that it names */
    bool members; /* of a group that it needs as a whole */
};
void compare_task(const struct workflow *old, const struct workflow *now,
                  const struct task *task, struct difference *difference);
/* As `explain` calls it. */
const char *field_name(enum field field);

#endif
