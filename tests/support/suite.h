/* SPDX-License-Identifier: MIT */
/* The end of main in every test program. */
#ifndef TESTS_SUITE_HELP_H
#define TESTS_SUITE_HELP_H

#include <check.h>

/* The exit status. */
static inline int help_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}

#endif
