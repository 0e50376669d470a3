/* SPDX-License-Identifier: MIT */
/* Texts of items before they are stored: without secrets. */
#include "base/error.h"
#include "base/utf8.h"
#include "session/session_int.h"

#include <stdio.h>

/* What is no text is refused later. A command is run. */
static int take(struct live *live, const struct outside *outside, const char *field,
                struct str *text, struct cairn_error *error)
{
    struct clean clean;
    char what[64];
    bool command = strcmp(field, "command") == 0;
    if (!text->len || !utf8_is_text(*text))
        return 0;
    snprintf(what, sizeof what, "the field %s", field);
    struct outside_text given = {command ? OUTSIDE_DATA : OUTSIDE_PROSE, what, *text,
                                 command ? "take it from a variable of the environment"
                                         : NULL};
    int rc = outside_take(outside, &given, &live->arena, &clean, error);
    if (!rc)
        *text = clean_str(clean);
    return rc;
}

/* The list is copied before it is changed: what was there before may share it. */
static int take_list(struct live *live, const struct outside *outside,
                     const char *field, struct item_value *value,
                     struct cairn_error *error)
{
    if (!value->n)
        return 0;
    struct str *texts = arena_take(&live->arena, value->n, sizeof *texts);
    if (!texts)
        return error_nomem(error);
    memcpy(texts, value->texts, value->n * sizeof *texts);
    value->texts = texts;
    int rc = 0;
    for (uint32_t i = 0; i < value->n && !rc; i++)
        rc = take(live, outside, field, &texts[i], error);
    return rc;
}

int live_clean_item(struct live *live, const struct item *before, struct item *item,
                    struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    struct redactor *redactor = NULL;
    int rc = live_redactor(live, &redactor, error);
    struct outside outside = {redactor, true, live->store};
    for (int i = 1; i <= info->n_fields && !rc; i++) {
        struct item_value *value = &item->values[i];
        const char *field = info->fields[i - 1].name;
        if (info->fields[i - 1].type == FIELD_TEXT &&
            !str_equal(before->values[i].text, value->text))
            rc = take(live, &outside, field, &value->text, error);
        else if (info->fields[i - 1].type == FIELD_TEXTS)
            rc = take_list(live, &outside, field, value, error);
    }
    redactor_free(redactor);
    return rc;
}
