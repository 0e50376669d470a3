/* SPDX-License-Identifier: MIT */
/* How a repair reports what is lost, and its list of lost records. */
#include "checkpoint/repair/repair_int.h"

#include "base/array.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void repair_report_loss(struct repair *r, const struct cairn_loss *loss,
                        const char *format, ...)
{
    char text[512];
    struct cairn_loss report = *loss;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report.text = text;
    assert(!loss->text);
    r->result.lost++;
    if (r->options->each && !r->stop &&
        r->options->each(r->options->context, &report) != 0)
        r->stop = true;
}

const char *repair_stream_noun(const struct repair *r, uint8_t namespace_id)
{
    const struct payload_kind *kind = kind_of(r->options->kinds, namespace_id);
    return kind ? kind->stream_noun : "stream";
}

int repair_add_lost(struct repair *r, const struct known_record *record)
{
    struct known_record *lost =
        array_room(r->lost, r->n_lost, &r->lost_room, sizeof *lost);
    assert(r->n_lost <= r->lost_room);
    assert(r->lost_seqs.n == 0); /* the list is not complete yet */
    if (!lost)
        return error_nomem(r->error);
    r->lost = lost;
    r->lost[r->n_lost++] = *record;
    return 0;
}
