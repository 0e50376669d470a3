/* SPDX-License-Identifier: MIT */
/* Labels and notes of checkpoints, of runs, too: without secrets, as the current
 * session and the workflows of the store name them, and by their looks. */
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

/* There may be no session, or none that can be read. */
static int make_redactor(struct cairn_store *store, struct redactor **out,
                         struct cairn_error *error)
{
    struct live live;
    struct cairn_error none = {0};
    int rc = live_read(&live, store, NULL, &none);
    bool found = rc == 0;
    if (found)
        rc = live_redactor(&live, out, error);
    rc = live_close(&live, rc, found ? error : &none);
    if (found)
        return rc;
    return rc == CAIRN_ENOMEM ? error_nomem(error)
                              : redactor_of_workflows(store, out, error);
}

int cairn_checkpoint_note(struct cairn_store *store, const char *id, const char *text,
                          const char *severity, struct cairn_error *error)
{
    struct redactor *redactor = NULL;
    struct buf clean = BUF_INIT;
    int rc = make_redactor(store, &redactor, error);
    if (!rc && utf8_is_text(str_of(text)))
        add_clean(redactor, str_of(text), &clean);
    redactor_free(redactor);
    if (!rc)
        rc = buf_check(&clean, error);
    if (!rc)
        rc =
            checkpoint_note(store, id, clean.size ? clean.data : text, severity, error);
    buf_release(&clean);
    return rc;
}

int cairn_checkpoint_label(struct cairn_store *store, const char *id, const char *label,
                           bool on, struct cairn_error *error)
{
    if (on && known_secrets_found(str_of(label)))
        return error_set(
            error, CAIRN_EUSAGE,
            "a label is stored as it is, and this one looks like a secret");
    return checkpoint_label(store, id, label, on, error);
}
