/* SPDX-License-Identifier: MIT */
/* cairn checkpoint label and note, and what they have put on a checkpoint. */
#include "cli/commands/commands.h"
#include "cli/format.h"
#include "cli/open.h"
#include "cli/report.h"
#include "cli/sessions/annotations.h"
#include "cli/sessions/session_of.h"
#include "cli/ui.h"

#include <stdlib.h>
#include <string.h>

int command_checkpoint_label(struct settings *settings)
{
    const char *label = settings->operands[1];
    bool on = !settings->given[OPT_REMOVE];
    struct cairn_error error = {0};
    struct doc doc;
    int status = store_for_writing(settings, &settings->store, false);
    settings->hooks = true;
    if (status == 0)
        status = checkpoint_operand(settings, 0);
    const char *id = settings->operands[0];
    if (status == 0 &&
        cairn_checkpoint_label(settings->store, id, label, on, &error) != 0)
        status = report_error(&error);
    if (status != 0)
        return status;
    if (!ui_json()) {
        say("checkpoint %s %s labelled %s", id, on ? "is" : "is no longer", label);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "checkpoint", id);
    doc_text(&doc, "label", label);
    doc_bool(&doc, "on", on);
    return doc_print(&doc);
}

/* The text as it was stored: without the values of secrets. */
static int take_text(void *context, const struct cairn_annotation *annotation)
{
    char **text = context;
    if (annotation->label)
        return 0;
    free(*text);
    *text = strdup(annotation->text);
    return *text ? 0 : CAIRN_ENOMEM;
}

static int print_note(const char *id, const char *text, const char *severity)
{
    struct doc doc;
    if (!ui_json()) {
        say("checkpoint %s has a note", id);
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "checkpoint", id);
    doc_text(&doc, "text", text);
    doc_text(&doc, "severity", severity ? severity : "info");
    return doc_print(&doc);
}

static int add_note(struct settings *settings, struct texts *texts)
{
    static const char *const severities[] = {"info", "warning", "critical"};
    const char *text = NULL, *severity = NULL;
    struct cairn_error error = {0};
    char *stored = NULL;
    int status = texts_take(texts, settings->operands[1], &text);
    if (settings->given[OPT_SEVERITY])
        severity = severities[settings->number[OPT_SEVERITY]];
    if (status == 0)
        status = store_for_writing(settings, &settings->store, false);
    settings->hooks = true;
    if (status == 0)
        status = checkpoint_operand(settings, 0);
    const char *id = settings->operands[0];
    if (status == 0 &&
        cairn_checkpoint_note(settings->store, id, text, severity, &error) != 0)
        status = report_error(&error);
    if (status == 0 && cairn_checkpoint_annotations(settings->store, id, take_text,
                                                    &stored, &error) != 0)
        status = report_error(&error);
    if (status == 0)
        status = print_note(id, stored, severity);
    free(stored);
    return status;
}

int command_checkpoint_note(struct settings *settings)
{
    struct texts texts = {.command = settings->command};
    int status = add_note(settings, &texts);
    texts_release(&texts);
    return status;
}

/* ---- With the checkpoint ---- */

static int print_annotation(void *context, const struct cairn_annotation *annotation)
{
    char when[FORMAT_MAX];
    (void)context;
    if (annotation->label)
        out("label     %s\n", annotation->text);
    else
        out("note      %s, %s: %s\n", format_local(when, annotation->time_ns),
            annotation->severity, annotation->text);
    return ui_output_lost();
}

int annotations_print(struct cairn_store *store, const char *id)
{
    struct cairn_error error = {0};
    return cairn_checkpoint_annotations(store, id, print_annotation, NULL, &error) != 0
               ? report_error(&error)
               : 0;
}

struct part {
    struct doc *doc;
    bool labels;     /* else notes */
    uint64_t others; /* of the other kind there were so many */
};

static int add_part(void *context, const struct cairn_annotation *annotation)
{
    struct part *part = context;
    if (annotation->label != part->labels) {
        part->others++;
        return 0;
    }
    if (part->labels) {
        doc_text(part->doc, NULL, annotation->text);
        return 0;
    }
    doc_object(part->doc, NULL);
    doc_time(part->doc, "time", annotation->time_ns);
    doc_text(part->doc, "severity", annotation->severity);
    doc_text(part->doc, "text", annotation->text);
    doc_end(part->doc);
    return 0;
}

int annotations_document(struct doc *doc, struct cairn_store *store, const char *id)
{
    struct part parts[] = {{.doc = doc, .labels = true}, {.doc = doc}};
    struct cairn_error error = {0};
    for (int i = 0; i < 2; i++) {
        doc_array(doc, parts[i].labels ? "labels" : "notes");
        if (cairn_checkpoint_annotations(store, id, add_part, &parts[i], &error) != 0)
            return report_error(&error);
        doc_end(doc);
    }
    return 0;
}

/* ---- In lists ---- */

static void each_annotation(struct cairn_store *store,
                            const struct cairn_checkpoint_info *info,
                            int (*each)(void *, const struct cairn_annotation *),
                            void *context)
{
    struct cairn_error error = {0};
    /* A damaged annotation does not say which checkpoint it belongs to. */
    if (!info->damaged &&
        cairn_checkpoint_annotations(store, info->id, each, context, &error) != 0)
        ui_error(error.text);
}

struct annotation_counts {
    unsigned labels;
    uint64_t notes;
};

static int print_label(void *context, const struct cairn_annotation *annotation)
{
    struct annotation_counts *counts = context;
    if (annotation->label)
        out("%s%s", counts->labels++ == 0 ? "  label: " : ", ", annotation->text);
    else
        counts->notes++;
    return 0;
}

void labels_print(struct cairn_store *store, const struct cairn_checkpoint_info *info)
{
    struct annotation_counts counts = {0};
    each_annotation(store, info, print_label, &counts);
    if (counts.notes > 0)
        out("  %llu note%s", (unsigned long long)counts.notes, plural(counts.notes));
}

void labels_document(struct doc *doc, struct cairn_store *store,
                     const struct cairn_checkpoint_info *info)
{
    struct part part = {.doc = doc, .labels = true};
    doc_array(doc, "labels");
    each_annotation(store, info, add_part, &part);
    doc_end(doc);
    doc_count(doc, "note_count", part.others);
}

struct wanted {
    const char *label;
    bool found;
};

static int compare_label(void *context, const struct cairn_annotation *annotation)
{
    struct wanted *wanted = context;
    wanted->found |= annotation->label && strcmp(annotation->text, wanted->label) == 0;
    return wanted->found;
}

bool checkpoint_is_labelled(struct cairn_store *store,
                            const struct cairn_checkpoint_info *info, const char *label)
{
    struct wanted wanted = {.label = label};
    each_annotation(store, info, compare_label, &wanted);
    return wanted.found;
}
