/* SPDX-License-Identifier: MIT */
/* The session of this store that one of a file becomes. */
#include "session/transfer/transfer_int.h"

int import_make_session(struct importing *im)
{
    struct session_import *s = &im->session;
    struct moment started = {.utc_ns = s->started_ns, .boot_id = STR("")};
    int rc = s->name[0] ? session_free_name(im->store, s->name, im->error) : 0;
    if (!rc)
        rc = session_begin(&s->live, s->name[0] ? s->name : NULL, &started, false,
                           im->error);
    s->made = rc == 0;
    return rc;
}
