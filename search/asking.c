/* SPDX-License-Identifier: MIT */
/* What a search asks for, checked. */
#include "search/finding_int.h"

#include "base/clock.h"
#include "base/error.h"
#include "session/when.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { K_USUAL = 5, K_MOST = 100, QUERY_MOST = 64 << 10, TAGS_MOST = 64 };

static int take_time(const char *text, int64_t *out, struct cairn_error *error)
{
    return text ? when_parse(str_of(text), clock_utc_ns(), &zone_local, out, error) : 0;
}

static int take_project(struct finding *f)
{
    const char *project = f->search->project;
    char *path;
    if (!project || !*project)
        return error_set(f->error, CAIRN_EUSAGE,
                         "a search needs a project: the directory to which what is "
                         "looked for belongs");
    path = realpath(project, NULL);
    if (!path && *project != '/')
        return error_set(f->error, CAIRN_EUSAGE, "there is no directory %s", project);
    buf_text(&f->project, path ? path : project);
    free(path);
    while (f->project.size > 1 && f->project.data[f->project.size - 1] == '/')
        f->project.data[--f->project.size] = 0;
    return buf_check(&f->project, f->error);
}

static int take_text(struct finding *f)
{
    struct str text = str_of(f->search->text);
    size_t blank = 0;
    if (text.len > QUERY_MOST)
        return error_set(f->error, CAIRN_EUSAGE,
                         "what is looked for has %zu bytes, and may have %d", text.len,
                         QUERY_MOST);
    entry_text(&f->text, text, QUERY_MOST, false);
    if (buf_check(&f->text, f->error))
        return CAIRN_ENOMEM;
    while (blank < f->text.size && (unsigned char)f->text.data[blank] <= ' ')
        blank++;
    if (blank == f->text.size)
        return error_set(f->error, CAIRN_EUSAGE,
                         "there is nothing to look for: the text is empty");
    return 0;
}

static int take_service(struct finding *f)
{
    const struct cairn_search *search = f->search;
    if (search->size <= offsetof(struct cairn_search, service) || !search->service)
        return 0;
    f->service = search->service;
    return service_check(f->service, f->error);
}

int finding_take(struct finding *f)
{
    const struct cairn_search *search = f->search;
    f->k = search->k ? search->k : K_USUAL;
    f->since_ns = INT64_MIN;
    f->until_ns = INT64_MAX;
    if (f->k > K_MOST)
        return error_set(f->error, CAIRN_EUSAGE,
                         "%u hits are too many: a search tells 1 to %d", f->k, K_MOST);
    if (!cairn_search_section_name(search->section))
        return error_set(f->error, CAIRN_EUSAGE, "there is no such section to search");
    if (search->n_tags > TAGS_MOST)
        return error_set(f->error, CAIRN_EUSAGE, "a search takes at most %d tags",
                         TAGS_MOST);
    int rc = take_service(f);
    if (!rc)
        rc = take_text(f);
    if (!rc)
        rc = take_project(f);
    if (!rc)
        rc = take_time(search->since, &f->since_ns, f->error);
    return rc ? rc : take_time(search->until, &f->until_ns, f->error);
}
