/* SPDX-License-Identifier: MIT */
/* Texts of items before they are stored: without secrets. */
#include "base/error.h"
#include "base/utf8.h"
#include "session/session_int.h"

static int clean_text(struct live *live, const struct redactor *redactor,
                      struct str *text, struct cairn_error *error)
{
    struct buf clean = BUF_INIT;
    if (!text->len || !utf8_is_text(*text)) /* it is refused later */
        return 0;
    add_clean(redactor, *text, &clean);
    int rc = buf_check(&clean, error);
    if (!rc && clean.size && !str_equal(buf_view(&clean), *text)) {
        struct str kept = arena_str(&live->arena, buf_view(&clean));
        if (kept.ptr)
            *text = kept;
        else
            rc = error_nomem(error);
    }
    buf_release(&clean);
    return rc;
}

/* The list is copied before it is changed: what was there before may share it. */
static int clean_texts(struct live *live, const struct redactor *redactor,
                       struct item_value *value, struct cairn_error *error)
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
        rc = clean_text(live, redactor, &texts[i], error);
    return rc;
}

int live_clean_item(struct live *live, const struct item *before, struct item *item,
                    struct cairn_error *error)
{
    const struct item_kind_info *info = item_kind_info(item->id.kind);
    struct redactor *redactor = NULL;
    int rc = live_redactor(live, &redactor, error);
    for (int i = 1; i <= info->n_fields && !rc; i++) {
        struct item_value *value = &item->values[i];
        bool command = item->id.kind == ITEM_CHECK && i == CHECK_COMMAND;
        if (info->fields[i - 1].type == FIELD_TEXT && !command &&
            !str_equal(before->values[i].text, value->text))
            rc = clean_text(live, redactor, &value->text, error);
        else if (info->fields[i - 1].type == FIELD_TEXTS)
            rc = clean_texts(live, redactor, value, error);
    }
    redactor_free(redactor);
    return rc;
}
