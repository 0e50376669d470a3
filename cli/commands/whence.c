/* SPDX-License-Identifier: MIT */
/* cairn whence: which attempt made a file, and from what. */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct search {
    const char *file;
    struct doc *doc;
    uint32_t shown;
};

static const char *const now_words[] = {[CAIRN_INPUT_SAME] = "same",
                                        [CAIRN_INPUT_DIFFERS] = "differs",
                                        [CAIRN_INPUT_GONE] = "gone",
                                        [CAIRN_INPUT_UNKNOWN] = NULL};

static void add_maker(struct doc *doc, const struct cairn_maker *maker)
{
    doc_object(doc, NULL);
    doc_count(doc, "run", maker->run);
    doc_text(doc, "workflow", maker->workflow);
    doc_text(doc, "file", maker->file && *maker->file ? maker->file : NULL);
    doc_text(doc, "task", maker->task);
    doc_count(doc, "attempt", maker->attempt);
    doc_time(doc, "started", maker->started_ns);
    doc_time(doc, "ended", maker->ended_ns);
    doc_some(doc, "reused_from", maker->reused_from);
    doc_text(doc, "output", maker->output);
    doc_text(doc, "path", maker->path);
    doc_bool(doc, "directory", maker->directory);
    doc_count(doc, "bytes", maker->size);
    doc_text(doc, "sha256", maker->sha256);
    doc_bool(doc, "same", maker->same);
    doc_bool(doc, "here", maker->here);
    doc_text(doc, "command", maker->command);
    doc_text(doc, "definition", maker->definition);
    doc_array(doc, "inputs");
    for (uint32_t i = 0; i < maker->n_inputs; i++) {
        const struct cairn_maker_input *input = &maker->inputs[i];
        doc_object(doc, NULL);
        doc_text(doc, "name", input->name);
        doc_bool(doc, "directory", input->directory);
        doc_count(doc, "bytes", input->size);
        doc_text(doc, "sha256", input->sha256);
        doc_text(doc, "now", now_words[input->now]);
        doc_end(doc);
    }
    doc_end(doc);
    doc_end(doc);
}

static void print_inputs(const struct cairn_maker *maker)
{
    static const char *const words[] = {[CAIRN_INPUT_SAME] = "",
                                        [CAIRN_INPUT_DIFFERS] = "  has changed since",
                                        [CAIRN_INPUT_GONE] = "  is gone",
                                        [CAIRN_INPUT_UNKNOWN] = ""};
    for (uint32_t i = 0; i < maker->n_inputs; i++) {
        const struct cairn_maker_input *input = &maker->inputs[i];
        out("%s%s  sha256 %.12s%s\n", i ? "            " : "inputs      ", input->name,
            input->sha256 ? input->sha256 : "not known", words[input->now]);
    }
}

static void print_maker(const struct search *search, const struct cairn_maker *maker)
{
    char ended[FORMAT_MAX];
    if (search->shown)
        out("\n");
    if (maker->here)
        out("%s %s", search->file,
            maker->same                       ? "was made by"
            : access(search->file, F_OK) == 0 ? "has changed since it was made by"
                                              : "is gone: it was made by");
    else
        out("%s has the content of %s, made by", search->file, maker->output);
    out(" %s of run %llu (%s)", maker->task ? maker->task : "a task",
        (unsigned long long)maker->run, maker->workflow);
    if (maker->reused_from)
        out(", which reused it from run %llu", (unsigned long long)maker->reused_from);
    out("\n");
    if (maker->file && *maker->file)
        out("workflow    %s\n", maker->file);
    out("attempt     %u, ended %s\n", maker->attempt,
        format_local(ended, maker->ended_ns));
    if (!maker->here)
        out("made as     %s\n", maker->path ? maker->path : maker->output);
    out("content     sha256 %.12s, %llu bytes\n", maker->sha256,
        (unsigned long long)maker->size);
    if (maker->command)
        out("command     %s\n", maker->command);
    print_inputs(maker);
    if (maker->definition)
        out("definition  sha256 %.12s\n", maker->definition);
}

static int show_maker(void *context, const struct cairn_maker *maker)
{
    struct search *search = context;
    if (search->doc)
        add_maker(search->doc, maker);
    else
        print_maker(search, maker);
    search->shown++;
    return ui_output_lost();
}

static int look_for(const struct settings *settings)
{
    struct doc doc;
    struct search search = {.file = settings->operands[0], .doc = doc_open(&doc, NULL)};
    struct cairn_error error = {0};
    if (search.doc) {
        doc_text(&doc, "path", search.file);
        doc_array(&doc, "makers");
    }
    int rc = cairn_whence(settings->store, search.file, settings->given[OPT_ALL_MAKERS],
                          show_maker, &search, &error);
    return doc_close(search.doc, report_code(rc, &error));
}

int command_whence(struct settings *settings)
{
    return store_for_reading(settings, &settings->store) ?: look_for(settings);
}
