/* SPDX-License-Identifier: MIT */
/* cairn checkpoint verify: names everything that is damaged. */
#include "cli/commands/checkpoint_head.h"
#include "cli/commands/store_commands.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

struct verify_report {
    struct doc *doc; /* with --json */
    uint64_t problems;
    uint64_t kinds[CAIRN_PROBLEM_LOST + 1]; /* of these */
    bool forged;                            /* a checkpoint without a good HMAC */
    const struct head_list *heads;          /* or NULL */
};

static int each_problem(void *context, const struct cairn_problem *problem)
{
    static const char *const kinds[] = {"damage", "hmac",   "key",
                                        "head",   "unread", "lost"};
    struct verify_report *report = context;
    report->problems++;
    report->kinds[problem->kind]++;
    report->forged |= problem->kind == CAIRN_PROBLEM_HMAC && problem->seq != 0;
    if (report->doc) {
        doc_object(report->doc, NULL);
        doc_some(report->doc, "seq", problem->seq);
        doc_text(report->doc, "id", problem->id[0] ? problem->id : NULL);
        doc_text(report->doc, "kind", kinds[problem->kind]);
        doc_text(report->doc, "text", problem->text);
        doc_end(report->doc);
    } else if (problem->id[0] != '\0') {
        out("%s: %s\n", problem->id, problem->text);
    } else {
        out("%s\n", problem->text);
    }
    return 0;
}

static void print_document(const struct verify_report *report,
                           const struct cairn_verify_result *result, bool ok)
{
    struct doc *doc = report->doc;
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
    doc_count(doc, "unkeyed_branches", result->unkeyed_branches);
    doc_count(doc, "bad_hmacs", result->bad_hmacs);
    doc_count(doc, "part_lost", result->part_lost);
    if (report->heads) {
        doc_object(doc, "head");
        doc_count(doc, "runs", report->heads->n);
        doc_bool(doc, "fits", report->kinds[CAIRN_PROBLEM_HEAD] == 0);
        doc_end(doc);
    } else {
        doc_null(doc, "head");
    }
    doc_print(doc);
}

static const char *heads_text(const struct head_list *heads)
{
    for (size_t i = 0; i < heads->n; i++)
        if (heads->heads[i].branch != 0)
            return " and branches were";
    return heads->n == 1 ? " was" : " were";
}

/* What to do about what was named. */
static void print_advice(const struct verify_report *report)
{
    const uint64_t *kinds = report->kinds;
    if (kinds[CAIRN_PROBLEM_DAMAGE] > 0)
        say("see `cairn doctor` for what to do");
    if (kinds[CAIRN_PROBLEM_HMAC] > 0)
        say("records without an HMAC of the key do not count; %s",
            report->forged ? "`cairn checkpoint delete ID` with the same --key removes "
                             "such a checkpoint"
                           : "see `cairn doctor` with the same --key for what to do");
    if (kinds[CAIRN_PROBLEM_KEY] > 0)
        say("name the right key with --key FILE or CAIRN_KEY, or none");
    if (kinds[CAIRN_PROBLEM_HEAD] > 0)
        say("the store does not match the exported head: restore the one that does, "
            "or, if you know the reason, export a new head with `cairn checkpoint "
            "head`");
    else if (report->heads)
        say("the exported head matches: %zu run%s%s compared", report->heads->n,
            report->heads->n == 1 ? "" : "s", heads_text(report->heads));
}

static void print_unkeyed(const struct cairn_verify_result *result)
{
    uint64_t branches = result->unkeyed_branches;
    uint64_t runs = result->unkeyed_runs - branches;
    if (runs > 0)
        say("%llu run%s recorded without a key: nothing proves who wrote %s",
            (unsigned long long)runs, runs == 1 ? " was" : "s were",
            runs == 1 ? "it" : "them");
    if (branches > 0)
        say("%llu branch%s of sessions, which have no key: nothing proves who wrote %s",
            (unsigned long long)branches, branches == 1 ? "" : "es",
            branches == 1 ? "it" : "them");
}

static void print_text(const struct verify_report *report,
                       const struct cairn_verify_result *result)
{
    uint64_t others =
        report->kinds[CAIRN_PROBLEM_HEAD] + report->kinds[CAIRN_PROBLEM_KEY] +
        report->kinds[CAIRN_PROBLEM_UNREAD] + report->kinds[CAIRN_PROBLEM_LOST];
    char took[FORMAT_MAX];
    out_flush();
    say("%llu checkpoint%s and %llu object%s checked in %s: %s",
        (unsigned long long)result->checked, plural(result->checked),
        (unsigned long long)result->objects, plural(result->objects),
        format_duration(took, result->duration_ms),
        report->problems > others ? "DAMAGED" : "undamaged");
    if (result->part_lost > 0)
        say("%llu of the checkpoints lack%s something that a repair could not save: "
            "`cairn checkpoint delete ID` takes one out",
            (unsigned long long)result->part_lost, result->part_lost == 1 ? "s" : "");
    if (result->unchecked_hmacs > 0 && report->kinds[CAIRN_PROBLEM_KEY] == 0)
        say("%llu HMAC%s not checked: give the key with --key FILE",
            (unsigned long long)result->unchecked_hmacs,
            result->unchecked_hmacs == 1 ? " was" : "s were");
    print_unkeyed(result);
    print_advice(report);
}

static int verify_store(struct settings *settings, struct cairn_store *store,
                        const struct head_list *heads)
{
    struct doc doc = {0};
    struct verify_report report = {.doc = ui_json() ? &doc : NULL, .heads = heads};
    struct cairn_verify_result result = {0};
    struct cairn_error error = {0};
    int rc;
    if (report.doc) {
        doc_begin(&doc);
        doc_array(&doc, "problems");
    }
    rc = cairn_checkpoint_verify(store, settings->operands[0], each_problem, &report,
                                 &result, &error);
    if (heads && (rc == 0 || rc == CAIRN_EDAMAGED)) {
        struct cairn_error local = {0};
        int compared = cairn_checkpoint_compare(
            store, &heads->of, heads->heads, heads->n, each_problem, &report, &local);
        if (compared != 0) {
            rc = compared;
            error = local;
        }
    }
    if (rc != 0 && (rc != CAIRN_EDAMAGED || report.problems == 0)) {
        if (report.doc)
            doc_discard(&doc);
        return report_error(&error);
    }
    if (report.doc)
        print_document(&report, &result, rc == 0);
    else
        print_text(&report, &result);
    return rc == 0 ? 0 : cairn_exit_status(rc);
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
        status = checkpoint_operand(settings, store, 0);
    if (status == 0)
        status =
            verify_store(settings, store, settings->given[OPT_HEAD] ? &heads : NULL);
    cairn_store_close(store);
    head_release(&heads);
    return status;
}
