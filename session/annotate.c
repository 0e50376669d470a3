/* SPDX-License-Identifier: MIT */
/* Labels and notes of checkpoints, of runs, too: without secrets, as the session of the
 * checkpoint, the current session and the workflows of the store name them, and by
 * their looks. */
#include "base/error.h"
#include "base/utf8.h"
#include "checkpoint/annotations.h"
#include "secrets/declared.h"
#include "session/outside/known_secrets.h"
#include "session/session_int.h"

static int redactor_of_workflows(struct cairn_store *store, struct redactor **out,
                                 struct cairn_error *error)
{
    struct buf names = BUF_INIT;
    int rc = secrets_declared(store, false, &names, error);
    struct hidden_values hidden = {.declared = names.size ? buf_view(&names) : STR("")};
    if (!rc)
        rc = redactor_of_values(&hidden, out, error);
    buf_release(&names);
    return rc;
}

/* `session` as for live_read. There may be none, or none that can be read. */
static int make_redactor(struct cairn_store *store, const char *session,
                         struct redactor **out, struct cairn_error *error)
{
    struct live live;
    struct cairn_error none = {0};
    int rc = live_read(&live, store, session, &none);
    bool found = rc == 0;
    if (found)
        rc = live_redactor(&live, out, error);
    rc = live_close(&live, rc, found ? error : &none);
    if (found)
        return rc;
    return rc == CAIRN_ENOMEM ? error_nomem(error)
                              : redactor_of_workflows(store, out, error);
}

static int clean_for(struct cairn_store *store, const char *session, struct str text,
                     struct buf *out, struct cairn_error *error)
{
    struct redactor *redactor = NULL;
    int rc = make_redactor(store, session, &redactor, error);
    if (!rc)
        add_clean(redactor, text, out);
    redactor_free(redactor);
    return rc ? rc : buf_check(out, error);
}

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

/* Stays empty where the text is none, which is refused later. */
static int clean_text(struct cairn_store *store, const char *id, const char *text,
                      struct buf *out, struct cairn_error *error)
{
    struct buf once = BUF_INIT;
    char session[24];
    if (!utf8_is_text(str_of(text)))
        return 0;
    session_of(store, id, session);
    int rc = clean_for(store, NULL, str_of(text), &once, error);
    if (!rc && session[0] != '\0')
        rc = clean_for(store, session, buf_view(&once), out, error);
    else if (!rc)
        buf_add(out, once.data, once.size);
    buf_release(&once);
    return rc ? rc : buf_check(out, error);
}

int cairn_checkpoint_note(struct cairn_store *store, const char *id, const char *text,
                          const char *severity, struct cairn_error *error)
{
    struct buf clean = BUF_INIT;
    int rc = clean_text(store, id, text, &clean, error);
    if (!rc)
        rc =
            checkpoint_note(store, id, clean.size ? clean.data : text, severity, error);
    buf_release(&clean);
    return rc;
}

static int check_label(struct cairn_store *store, const char *id, const char *label,
                       struct cairn_error *error)
{
    struct buf clean = BUF_INIT;
    if (known_secrets_found(str_of(label)))
        return error_set(
            error, CAIRN_EUSAGE,
            "a label is stored as it is, and this one looks like a secret");
    int rc = clean_text(store, id, label, &clean, error);
    if (!rc && clean.size && !str_equal(buf_view(&clean), str_of(label)))
        rc = error_set(error, CAIRN_EUSAGE,
                       "a label is stored as it is, and in this one is a secret");
    buf_release(&clean);
    return rc;
}

int cairn_checkpoint_label(struct cairn_store *store, const char *id, const char *label,
                           bool on, struct cairn_error *error)
{
    int rc = on ? check_label(store, id, label, error) : 0;
    return rc ? rc : checkpoint_label(store, id, label, on, error);
}
