/* SPDX-License-Identifier: MIT */
/* subreaper COMMAND...: becomes COMMAND, which inherits the orphans below it. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 2;
    execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 127;
}
