/* SPDX-License-Identifier: MIT */
/* The end of main in every test program. */
#ifndef TESTS_SUPPORT_SUITE_H
#define TESTS_SUPPORT_SUITE_H

#include <check.h>

/* The exit status. */
int help_run(Suite *suite);
#endif
