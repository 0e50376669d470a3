/* SPDX-License-Identifier: MIT */
#include "executor/state/noting.h"

#include "executor/state/report.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

void noting_init(struct engine *e)
{
    e->noting.file.fd = -1;
}

void noting_open(struct engine *e)
{
    const struct definition *d = e->request.graph->definition;
    struct cairn_error error = {0};
    char text[1200];
    if (secrets_basis(&e->run.situation.secrets, d->secrets, d->n_secrets,
                      &e->noting.basis))
        error_nomem(&error);
    else if (!end_notes_create(&e->noting.file, e->run.live_dir, e->jobs.slots.slots,
                               e->jobs.n, &error))
        return;
    snprintf(text, sizeof text,
             "the ends of processes cannot be noted, so tasks that have just ended may "
             "run again after a kill -9: %s",
             error.text);
    report(e, CAIRN_EVENT_NOTICE, text);
}

uint32_t noting_take(struct engine *e)
{
    struct noting *noting = &e->noting;
    if (noting->file.fd < 0)
        return NOTE_NONE;
    if (noting->n_free)
        return noting->free[--noting->n_free];
    /* Room for its return is made now, when it can still be refused. */
    uint32_t *room =
        array_room(noting->free, noting->n, &noting->capacity, sizeof *room);
    if (!room)
        return NOTE_NONE;
    noting->free = room;
    return ++noting->n;
}

void noting_return(struct engine *e, uint32_t place)
{
    struct noting *noting = &e->noting;
    if (place == NOTE_NONE)
        return;
    assert(place <= noting->n && noting->n_free < noting->n);
    noting->free[noting->n_free++] = place;
}

void noting_close(struct engine *e)
{
    end_notes_close(&e->noting.file);
    free(e->noting.free);
}
