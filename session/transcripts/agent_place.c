/* SPDX-License-Identifier: MIT */
#include "session/transcripts/agent_place.h"

#include "base/error.h"
#include "session/files.h"
#include "session/outside/git_head.h"
#include "snapshot/ignore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_same_directory(const char *a, const char *b)
{
    char *one = realpath(a, NULL), *other = realpath(b, NULL);
    bool same = one && other && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

static int is_ignored(const char *project, const char *below, struct cairn_error *error)
{
    int fd = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_sys(error, errno, "the directory %s", project);
    int rc = rules_leave_out(fd, str_of(below), error);
    close(fd);
    return rc;
}

static int is_of_same_repository(const char *project, const struct buf *common,
                                 struct cairn_error *error)
{
    struct buf root = BUF_INIT, git = BUF_INIT;
    int rc = git_work_tree(project, &root, &git, error);
    if (rc > 0)
        rc = is_same_directory(git.data, common->data);
    buf_release(&root);
    buf_release(&git);
    return rc;
}

static int decide(const char *project, const struct buf *root, const struct buf *common,
                  struct cairn_error *error)
{
    const char *below = files_path_below(root->data, project);
    if (below)
        return *below ? is_ignored(project, below, error) : 0;
    if (files_path_below(project, root->data))
        return 0; /* the project is a part of it */
    return is_of_same_repository(project, common, error);
}

int agent_place(const char *project, const char *cwd, struct buf *own,
                struct cairn_error *error)
{
    struct buf common = BUF_INIT;
    buf_clear(own);
    if (!cwd || strcmp(cwd, project) == 0)
        return 0;
    char *at = realpath(cwd, NULL), *top = realpath(project, NULL);
    int rc = 0;
    if (at && top && strcmp(at, top) != 0)
        rc = git_work_tree(at, own, &common, error);
    if (rc > 0)
        rc = decide(top, own, &common, error);
    if (rc <= 0)
        buf_clear(own);
    buf_release(&common);
    free(at);
    free(top);
    return rc < 0 ? rc : 0;
}
