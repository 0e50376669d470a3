/* SPDX-License-Identifier: MIT */
#include "cli/shell/scratch.h"

#include "cairn.h"
#include "cli/exit_status.h"
#include "cli/report.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

int scratch_make(struct scratch *scratch)
{
    const char *parent = getenv("TMPDIR");
    int n, fd;
    if (!parent || parent[0] != '/')
        parent = "/tmp";
    n = snprintf(scratch->directory, sizeof scratch->directory, "%s/cairn-shell-XXXXXX",
                 parent);
    if (n >= (int)sizeof scratch->directory)
        return report_usage("shell", "TMPDIR is too long");
    if (!mkdtemp(scratch->directory))
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                              "cannot make a directory in %s: %s", parent,
                              strerror(errno));
    snprintf(scratch->file, sizeof scratch->file, "%s/output", scratch->directory);
    fd = open(scratch->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        return close(fd);
    n = report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO), "cannot make %s: %s",
                       scratch->file, strerror(errno));
    scratch_remove(scratch);
    return n;
}

void scratch_remove(const struct scratch *scratch)
{
    struct dirent *entry;
    DIR *directory = opendir(scratch->directory);
    while (directory && (entry = readdir(directory)))
        unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    rmdir(scratch->directory);
}
