/* SPDX-License-Identifier: MIT
 *
 * What the commands that name a task of a run have in common. */
#include "external.h"

#include "json.h"
#include "open.h"
#include "ui.h"

int run_and_store(struct settings *settings, struct cairn_store **store, uint64_t *run)
{
    if (!number_operand(settings, 0, "run", run))
        return EXIT_USAGE;
    return store_for_writing(settings, store, false);
}

int step_report(uint64_t run, const char *task, const char *what)
{
    struct doc doc;

    if (!ui_json()) {
        say("run %llu: %s is %s", (unsigned long long)run, task, what);
        return 0;
    }
    doc_begin(&doc);
    doc_count(&doc, "run", run);
    doc_text(&doc, "task", task);
    doc_text(&doc, "state", what);
    return doc_print(&doc);
}
