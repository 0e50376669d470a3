/* SPDX-License-Identifier: MIT
 *
 * cairn checkpoint verify: names everything that is damaged. */
#include "command.h"
#include "format.h"
#include "head.h"
#include "json.h"
#include "open.h"
#include "ui.h"

struct report {
    struct doc *doc; /* with --json */
    uint64_t problems;
};

static int each_problem(void *context, const struct cairn_problem *problem)
{
    struct report *report = context;

    report->problems++;
    if (report->doc != NULL) {
        doc_object(report->doc, NULL);
        doc_some(report->doc, "seq", problem->seq);
        doc_text(report->doc, "id", problem->id[0] ? problem->id : NULL);
        doc_text(report->doc, "text", problem->text);
        doc_end(report->doc);
    } else if (problem->id[0] != '\0') {
        out("%s: %s\n", problem->id, problem->text);
    } else {
        out("%s\n", problem->text);
    }
    return 0;
}

static void print_document(struct doc *doc, const struct cairn_verify_result *result,
                           bool ok)
{
    doc_end(doc);
    doc_bool(doc, "ok", ok);
    doc_count(doc, "checked", result->checked);
    doc_count(doc, "damaged", result->damaged);
    doc_count(doc, "objects", result->objects);
    doc_count(doc, "bad_objects", result->bad_objects);
    doc_count(doc, "pruned", result->pruned);
    doc_number(doc, "duration_ms", result->duration_ms);
    doc_count(doc, "hmacs", result->hmacs);
    doc_count(doc, "unchecked_hmacs", result->unchecked_hmacs);
    doc_count(doc, "unkeyed_runs", result->unkeyed_runs);
    doc_print(doc);
}

static void print_text(const struct cairn_verify_result *result, uint64_t problems)
{
    char took[FORMAT_MAX];

    out_flush();
    say("%llu checkpoint%s and %llu object%s checked in %s: %s",
        (unsigned long long)result->checked, plural(result->checked),
        (unsigned long long)result->objects, plural(result->objects),
        format_duration(took, result->duration_ms),
        problems == 0 ? "all are well" : "DAMAGED");
    if (result->unchecked_hmacs > 0)
        say("%llu HMAC%s not checked: give the key with --key FILE",
            (unsigned long long)result->unchecked_hmacs,
            result->unchecked_hmacs == 1 ? " was" : "s were");
    if (result->unkeyed_runs > 0)
        say("%llu run%s recorded without a key: nothing shows who wrote %s",
            (unsigned long long)result->unkeyed_runs,
            result->unkeyed_runs == 1 ? " was" : "s were",
            result->unkeyed_runs == 1 ? "it" : "them");
    if (problems > 0)
        say("resume steps over what is damaged; see `cairn doctor` for what to do");
}

static int verify(struct settings *settings, struct cairn_store *store,
                  const struct head_list *heads)
{
    struct doc doc = {0};
    struct report report = {.doc = ui_json() ? &doc : NULL};
    struct cairn_verify_result result = {0};
    struct cairn_error error = {0};
    int code;

    if (report.doc != NULL) {
        doc_begin(&doc);
        doc_array(&doc, "problems");
    }
    code = cairn_checkpoint_verify(store, settings->operands[0], each_problem, &report,
                                   &result, &error);
    if (heads != NULL && (code == 0 || code == CAIRN_EDAMAGED)) {
        struct cairn_error local = {0};
        int compared = cairn_checkpoint_compare(
            store, &heads->of, heads->heads, heads->n, each_problem, &report, &local);

        if (compared != 0)
            code = compared;
        if (compared != 0)
            error = local;
    }
    if (code != 0 && (code != CAIRN_EDAMAGED || report.problems == 0)) {
        if (report.doc != NULL)
            doc_discard(&doc);
        return ui_fail(&error);
    }
    if (report.doc != NULL)
        print_document(&doc, &result, code == 0);
    else
        print_text(&result, report.problems);
    return code == 0 ? 0 : cairn_exit_status(code);
}

int command_checkpoint_verify(struct settings *settings)
{
    struct cairn_store *store = NULL;
    struct head_list heads = {0};
    int status = 0;

    if (settings->given[OPT_HEAD])
        status = head_read(settings->text[OPT_HEAD], &heads);
    if (status == 0)
        status = store_for_reading(settings, &store);
    if (status == 0)
        status = verify(settings, store, settings->given[OPT_HEAD] ? &heads : NULL);
    cairn_store_close(store);
    head_release(&heads);
    return status;
}
