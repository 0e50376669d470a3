/* SPDX-License-Identifier: MIT */
/* cairn report --html: a run as one file for a browser (web/). */
#include "cli/commands/commands.h"
#include "cli/exit_status.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/target_file.h"
#include "cli/ui.h"
#include "web/run_page.h"

#include <stdlib.h>
#include <string.h>

static int check_options(const struct settings *settings)
{
    if (ui_json())
        return report_usage(settings->command,
                            "--html writes a page: remove --json or --html");
    if (settings->given[OPT_SESSION])
        return report_usage(settings->command,
                            "--html shows a run, and takes no --session");
    if (settings->n_operands > 1)
        return report_usage(settings->command, "--html takes one run");
    return 0;
}

static int write_page(const struct settings *settings, const struct buf *page)
{
    struct target_file target = TARGET_NONE;
    char size[FORMAT_MAX];
    if (!settings->given[OPT_PAGE_FILE]) {
        out_raw(page->data, page->size);
        return 0;
    }
    const char *name = settings->text[OPT_PAGE_FILE];
    int status = target_open(&target, name, settings->command);
    if (status == 0)
        (void)target_write(&target, page->data, page->size);
    int end = target_close(&target, status == 0);
    target_release(&target);
    if (status == 0 && end == 0)
        say("cairn: wrote %s (%s)", name, format_bytes(size, page->size));
    return status != 0 ? status : end;
}

int report_page(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct cairn_run_info run;
    struct cairn_error error = {0};
    struct buf page = BUF_INIT;
    int status = check_options(settings);
    if (status == 0)
        status = open_run(settings, &store, &run);
    if (status == 0) {
        struct page_options options = {.version = cairn_version(),
                                       .hint = run_hint(settings, &run)};
        if (run_page(&page, store, run.run, &options, &error) != 0)
            status = report_error(&error);
    }
    if (status == 0)
        status = write_page(settings, &page);
    buf_release(&page);
    cairn_store_close(store);
    return status;
}
