/* SPDX-License-Identifier: MIT */
#include "session/bisecting/bisection.h"

#include <assert.h>

static bool can_try(const struct bisection *bisection, size_t at)
{
    return at > bisection->good && at < bisection->bad && !bisection->skipped[at];
}

bool bisection_next(const struct bisection *bisection, size_t *at)
{
    assert(bisection->good < bisection->bad);
    size_t width = bisection->bad - bisection->good,
           middle = bisection->good + width / 2;
    for (size_t away = 0; away < width; away++) {
        size_t before = away < middle ? middle - away : 0;
        *at = can_try(bisection, before) ? before : middle + away;
        if (can_try(bisection, *at))
            return true;
    }
    return false;
}
