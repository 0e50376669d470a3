/* SPDX-License-Identifier: MIT */
/* cairn artifact: the files that tasks have left in the store. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct listing {
    struct doc *doc;   /* with --json */
    const char *below; /* the directory that files were put into; NULL: they were not */
    uint64_t n, bytes;
};

static void add_artifact(struct doc *doc, const struct cairn_artifact_info *info)
{
    char mode[8];
    snprintf(mode, sizeof mode, "%04o", info->mode);
    doc_object(doc, NULL);
    doc_text(doc, "task", info->task);
    doc_count(doc, "attempt", info->attempt);
    doc_text(doc, "path", info->path);
    doc_text(doc, "target", info->target);
    doc_count(doc, "bytes", info->size);
    doc_text(doc, "sha256", info->sha256);
    doc_text(doc, "mode", info->target ? NULL : mode);
    doc_time(doc, "modified", info->target ? 0 : info->mtime_ns);
    doc_time(doc, "until", info->until_ns);
    doc_end(doc);
}

static int show_artifact(void *context, const struct cairn_artifact_info *info)
{
    struct listing *l = context;
    char size[FORMAT_MAX], until[FORMAT_MAX];
    l->n++;
    l->bytes += info->size;
    if (l->doc)
        add_artifact(l->doc, info);
    else if (l->below)
        out("%s%s%s\n", l->below, l->below[strlen(l->below) - 1] == '/' ? "" : "/",
            info->path);
    else
        out("%10s  %s%s%s  %s%s%s\n",
            info->target ? "link" : format_bytes(size, info->size), info->path,
            info->target ? " -> " : "", info->target ? info->target : "", info->task,
            info->until_ns ? "  until " : "",
            info->until_ns ? format_local(until, info->until_ns) : "");
    return ui_output_lost();
}

static void begin_listing(struct listing *l, struct doc *doc, uint64_t run)
{
    l->doc = doc_open(doc, NULL);
    if (!l->doc)
        return;
    doc_count(doc, "run", run);
    if (l->below)
        doc_text(doc, "directory", l->below);
    doc_array(doc, "artifacts");
}

static int end_listing(struct listing *l, int rc, const struct cairn_error *error)
{
    out_flush();
    return doc_close(l->doc, report_code(rc, error));
}

/* ---- list ---- */

static int list_artifacts(struct settings *settings, uint64_t run)
{
    struct doc doc;
    struct listing l = {.below = NULL};
    struct cairn_error error = {0};
    const char *task = settings->text[OPT_ONLY_TASK];
    char size[FORMAT_MAX];
    begin_listing(&l, &doc, run);
    int rc = cairn_artifacts(settings->store, run, task, show_artifact, &l, &error);
    int status = end_listing(&l, rc, &error);
    if (status == 0 && !l.doc && l.n)
        say("%llu artifact%s of run %llu, %s", (unsigned long long)l.n, plural(l.n),
            (unsigned long long)run, format_bytes(size, l.bytes));
    else if (status == 0 && !l.doc)
        say("run %llu has no artifacts%s%s", (unsigned long long)run,
            task ? " of " : "", task ? task : "");
    return status;
}

int command_artifact_list(struct settings *settings)
{
    struct cairn_run_info run = {0};
    return open_run(settings, &settings->store, &run)
               ?: list_artifacts(settings, run.run);
}

/* ---- get ---- */

/* The directory and those above it, as mkdir -p. */
static int make_directories(const char *path)
{
    char *copy = strdup(path);
    int sys = copy ? 0 : ENOMEM;
    for (char *end = copy; copy && !sys && end;) {
        end = strchr(end + 1, '/');
        if (end)
            *end = 0;
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            sys = errno;
        if (end)
            *end = '/';
    }
    free(copy);
    if (sys)
        return report_failure(EXIT_SYSTEM, cairn_code_name(CAIRN_EIO),
                              "cannot make the directory %s: %s", path, strerror(sys));
    return 0;
}

static int get_artifacts(struct settings *settings, uint64_t run)
{
    const char *directory = settings->text[OPT_ARTIFACT_DIR];
    struct doc doc;
    struct listing l = {.below = directory ? directory : "."};
    struct cairn_error error = {0};
    const struct cairn_artifact_get get = {
        .run = run,
        .task = settings->text[OPT_ONLY_TASK],
        .names = (const char *const *)settings->operands + 1,
        .n_names = settings->n_operands > 1 ? (size_t)settings->n_operands - 1 : 0,
        .directory = l.below,
        .force = settings->given[OPT_REPLACE]};
    int status = directory ? make_directories(directory) : 0;
    if (status)
        return status;
    begin_listing(&l, &doc, run);
    int rc = cairn_artifact_get(settings->store, &get, show_artifact, &l, &error);
    return end_listing(&l, rc, &error);
}

int command_artifact_get(struct settings *settings)
{
    struct cairn_run_info run = {0};
    return open_run(settings, &settings->store, &run)
               ?: get_artifacts(settings, run.run);
}
