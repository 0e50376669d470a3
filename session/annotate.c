/* SPDX-License-Identifier: MIT */
/* Labels and notes of checkpoints, of runs, too: without secrets, as the session of the
 * checkpoint, the current session and the workflows of the store name them, and by
 * their looks. */
#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/annotations.h"
#include "session/session_int.h"

/* The session that a checkpoint belongs to, as a number; "": none, or there is no such
 * checkpoint, which is said by who looks for it next. */
static void session_of(struct cairn_store *store, const char *id, char out[24])
{
    struct cairn_checkpoint_info info = {0};
    struct cairn_error none = {0};
    out[0] = '\0';
    if (cairn_checkpoint_get(store, id, &info, &none) == 0 && info.session)
        snprintf(out, 24, "%llu", (unsigned long long)info.session);
}

/* By the current session, and by that of the checkpoint. What is no text is refused
 * later. */
static int take(struct cairn_store *store, const char *id, struct outside_text *text,
                struct arena *arena, struct clean *out, struct cairn_error *error)
{
    char own[24];
    session_of(store, id, own);
    const char *sessions[] = {NULL, own};
    int rc = 0;
    for (size_t i = 0; i < 2 && !rc && (!i || own[0]); i++) {
        struct redactor *redactor = NULL;
        rc = redactor_of_session(store, sessions[i], live_redactor, &redactor, error);
        struct outside outside = {redactor, true, store};
        if (!rc)
            rc = outside_take(&outside, text, arena, out, error);
        redactor_free(redactor);
        text->text = rc ? STR("") : clean_str(*out);
    }
    return rc;
}

int cairn_checkpoint_note(struct cairn_store *store, const char *id, const char *text,
                          const char *severity, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct clean clean = CLEAN("");
    struct outside_text given = {OUTSIDE_PROSE, "the note", str_of(text), NULL};
    int rc =
        utf8_is_text(given.text) ? take(store, id, &given, &arena, &clean, error) : 0;
    if (!rc)
        rc = checkpoint_note(store, id, clean, severity, error);
    arena_release(&arena);
    return rc;
}

int cairn_checkpoint_label(struct cairn_store *store, const char *id, const char *label,
                           bool on, struct cairn_error *error)
{
    struct arena arena = ARENA_INIT;
    struct clean clean;
    struct outside_text given = {OUTSIDE_NAME, "the label", str_of(label), NULL};
    int rc = on ? session_check_new_name("a label", given.text, error) : 0;
    if (!rc && on)
        rc = take(store, id, &given, &arena, &clean, error);
    if (!rc)
        rc = checkpoint_label(store, id, on ? clean : clean_stored(given.text), on,
                              error);
    arena_release(&arena);
    return rc;
}
