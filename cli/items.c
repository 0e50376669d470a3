/* SPDX-License-Identifier: MIT */
/* Items of a board in words. */
#include "cli/items.h"

#include "base/words.h"

#include "cli/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE_COLUMNS 60 /* characters of a text in a table */

static const struct item_kind kinds[] = {
    {"hypothesis",
     "hypotheses",
     "h",
     {{"STATUS", "status", 9},
      {"CONFIDENCE", "confidence", 10},
      {"EVIDENCE", "evidence", 8},
      {"STATEMENT", "statement", 0}},
     {{"statement", CAIRN_FIELD_TEXT},
      {"prior", CAIRN_FIELD_NUMBER},
      {"status", CAIRN_FIELD_TEXT},
      {"created", CAIRN_FIELD_TIME},
      {"closed", CAIRN_FIELD_TIME},
      {"reason", CAIRN_FIELD_TEXT},
      {"tags", CAIRN_FIELD_LIST}}},
    {"evidence",
     "evidence",
     "e",
     {{"HYPOTHESIS", "hypothesis", 10},
      {"STRENGTH", "strength", 8},
      {"KIND", "kind", 11},
      {"TEXT", "text", 0}},
     {{"text", CAIRN_FIELD_TEXT},
      {"hypothesis", CAIRN_FIELD_TEXT},
      {"kind", CAIRN_FIELD_TEXT},
      {"strength", CAIRN_FIELD_NUMBER},
      {"source", CAIRN_FIELD_TEXT},
      {"created", CAIRN_FIELD_TIME}}},
    {"belief",
     "beliefs",
     "b",
     {{"CONFIDENCE", "confidence", 10}, {"STATEMENT", "statement", 0}},
     {{"statement", CAIRN_FIELD_TEXT},
      {"confidence", CAIRN_FIELD_NUMBER},
      {"subject", CAIRN_FIELD_TEXT},
      {"claim", CAIRN_FIELD_TEXT},
      {"denied", CAIRN_FIELD_FLAG},
      {"created", CAIRN_FIELD_TIME},
      {"tags", CAIRN_FIELD_LIST}}},
    {"dependency",
     "dependencies",
     "d",
     {{"FROM", "from", 6}, {"TO", "to", 6}, {"KIND", "kind", 0}},
     {{"from", CAIRN_FIELD_TEXT},
      {"to", CAIRN_FIELD_TEXT},
      {"kind", CAIRN_FIELD_TEXT},
      {"created", CAIRN_FIELD_TIME}}},
    {"gap",
     "gaps",
     "g",
     {{"STATUS", "status", 6},
      {"SCORE", "score", 5},
      {"CRITICALITY", "criticality", 11},
      {"HYPOTHESIS", "hypothesis", 10},
      {"TEXT", "text", 0}},
     {{"text", CAIRN_FIELD_TEXT},
      {"kind", CAIRN_FIELD_TEXT},
      {"criticality", CAIRN_FIELD_TEXT},
      {"status", CAIRN_FIELD_TEXT},
      {"hypothesis", CAIRN_FIELD_TEXT},
      {"created", CAIRN_FIELD_TIME},
      {"ended", CAIRN_FIELD_TIME},
      {"resolution", CAIRN_FIELD_TEXT}}},
    {"note",
     "notes",
     "n",
     {{"SEVERITY", "severity", 8},
      {"ABOUT", "about", 8},
      {"CREATED", "created", 19},
      {"TEXT", "text", 0}},
     {{"text", CAIRN_FIELD_TEXT},
      {"severity", CAIRN_FIELD_TEXT},
      {"tags", CAIRN_FIELD_LIST},
      {"about", CAIRN_FIELD_LIST},
      {"created", CAIRN_FIELD_TIME}}},
    {"command",
     "commands",
     "c",
     {{"EXIT", "exit_code", 4},
      {"TIME", "duration_ms", 9},
      {"STARTED", "created", 19},
      {"COMMAND", "command", 0}},
     {{"command", CAIRN_FIELD_TEXT},
      {"directory", CAIRN_FIELD_TEXT},
      {"exit_code", CAIRN_FIELD_COUNT},
      {"duration_ms", CAIRN_FIELD_COUNT},
      {"stdout", CAIRN_FIELD_TEXT},
      {"stderr", CAIRN_FIELD_TEXT},
      {"created", CAIRN_FIELD_TIME}}},
    {"check",
     "checks",
     "v",
     {{"STATUS", "status", 7},
      {"TIME", "duration_ms", 9},
      {"RAN", "ran", 19},
      {"HYPOTHESIS", "hypothesis", 10},
      {"TEXT", "text", 0}},
     {{"text", CAIRN_FIELD_TEXT},
      {"command", CAIRN_FIELD_TEXT},
      {"hypothesis", CAIRN_FIELD_TEXT},
      {"timeout_ms", CAIRN_FIELD_COUNT},
      {"retries", CAIRN_FIELD_COUNT},
      {"created", CAIRN_FIELD_TIME},
      {"status", CAIRN_FIELD_TEXT},
      {"output", CAIRN_FIELD_TEXT},
      {"exit_code", CAIRN_FIELD_COUNT},
      {"duration_ms", CAIRN_FIELD_COUNT},
      {"attempts", CAIRN_FIELD_COUNT},
      {"ran", CAIRN_FIELD_TIME}}},
};

const struct item_kind *item_kind_at(size_t i)
{
    return i < COUNT_OF(kinds) ? &kinds[i] : NULL;
}

const struct item_kind *item_kind_named(const char *name)
{
    const struct item_kind *kind;
    for (size_t i = 0; (kind = item_kind_at(i)); i++) {
        if (strcmp(kind->name, name) == 0)
            return kind;
    }
    return NULL;
}

bool item_kind_has(const struct item_kind *kind, const char *id)
{
    size_t n = strlen(kind->prefix);
    return strncmp(id, kind->prefix, n) == 0 && id[n] != '\0' &&
           id[n + strspn(id + n, "0123456789")] == '\0';
}

const struct cairn_field *item_field(const struct cairn_item *item, const char *name)
{
    for (size_t i = 0; i < item->n_fields; i++) {
        if (strcmp(item->fields[i].name, name) == 0)
            return &item->fields[i];
    }
    return NULL;
}

/* ---- Text ---- */

static char *join_words(const struct cairn_field *field)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return NULL;
    for (size_t i = 0; i < field->n; i++)
        fprintf(file, "%s%s", i > 0 ? "," : "", field->texts[i]);
    if (fclose(file) == 0)
        return text;
    free(text);
    return NULL;
}

bool field_is_duration(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, "_ms") == 0;
}

char *field_text(const struct cairn_field *field)
{
    char text[FORMAT_MAX] = "";
    switch (field->type) {
    case CAIRN_FIELD_TEXT:
        return strdup(field->text);
    case CAIRN_FIELD_COUNT:
        if (field_is_duration(field->name))
            format_duration(text, (int64_t)field->count);
        else
            u64_text(field->count, text);
        break;
    case CAIRN_FIELD_NUMBER:
        snprintf(text, sizeof text, "%g", field->number);
        break;
    case CAIRN_FIELD_TIME:
        format_local(text, field->time_ns);
        break;
    case CAIRN_FIELD_FLAG:
        return strdup("yes");
    case CAIRN_FIELD_LIST:
        return join_words(field);
    }
    return strdup(text);
}

char *item_cell(const struct cairn_item *item, const char *name)
{
    const struct cairn_field *field = item_field(item, name);
    char text[FORMAT_MAX] = "-";
    if (field && field->type != CAIRN_FIELD_NUMBER)
        return field_text(field);
    if (field)
        snprintf(text, sizeof text, "%.2f", field->number);
    else if (strcmp(name, "confidence") == 0 && item->has_confidence)
        snprintf(text, sizeof text, "%.2f", item->confidence);
    else if (strcmp(name, "score") == 0 && item->has_score)
        snprintf(text, sizeof text, "%.2f", item->score);
    else if (strcmp(name, "evidence") == 0)
        snprintf(text, sizeof text, "+%u -%u", item->supporting, item->refuting);
    return strdup(text);
}

char *title_of(char *text)
{
    size_t n = text ? strcspn(text, "\r\n") : 0, at = 0, room = 0, shown = 0;
    char *cut;
    for (; at < n && shown < TITLE_COLUMNS; shown++) {
        size_t length = utf8_length(text + at, n - at);
        if (shown == TITLE_COLUMNS - 3)
            room = at;
        at += length > 0 ? length : 1;
    }
    if (!text || text[at] == '\0')
        return text;
    if (shown > TITLE_COLUMNS - 3)
        at = room;
    if (asprintf(&cut, "%.*s...", (int)at, text) < 0)
        cut = NULL;
    free(text);
    return cut;
}

/* Of a dependency: "b2 -> b1, implication". */
static char *edge_text(const struct cairn_item *item)
{
    static const char *const names[] = {"from", "to", "kind"};
    const char *parts[3];
    char *text;
    for (size_t i = 0; i < 3; i++) {
        const struct cairn_field *field = item_field(item, names[i]);
        parts[i] = field && field->type == CAIRN_FIELD_TEXT ? field->text : "?";
    }
    return asprintf(&text, "%s -> %s, %s", parts[0], parts[1], parts[2]) < 0 ? NULL
                                                                             : text;
}

char *item_title(const struct cairn_item *item)
{
    const struct cairn_field *field = item_field(item, "statement");
    if (!field)
        field = item_field(item, "text") ?: item_field(item, "command");
    return field ? title_of(field_text(field)) : edge_text(item);
}
