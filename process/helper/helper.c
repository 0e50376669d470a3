/* SPDX-License-Identifier: MIT */
/* The program that the library carries as bytes (helper_image.S) and starts beside
 * itself: the guard of a run, or the keeper of a task. */
#include "process/helper/roles.h"
#include "process/keeper_file.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], KEEP_PROGRAM) == 0)
        return keeper_main();
    return guard_main();
}
