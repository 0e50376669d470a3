/* SPDX-License-Identifier: MIT */
/* The numbers and counters in the row of a session.
 *
 *   byte version: 1, or where the session has messages 2 with two varints behind it
 *   (storage/sessions/rows_message.h), varint number of kinds, for each from 1 on:
 * varint highest number; varint checkpoints, hypotheses tested, gaps filled, commands,
 * verifications */
#include "base/reader.h"
#include "session/session_int.h"
#include "storage/sessions/rows_message.h"

enum { NUMBERS_PLAIN = 1, NUMBERS_WITH_MESSAGES = 2 };

void numbers_encode(const struct live *live, struct buf *out)
{
    buf_byte(out, live->last_message ? NUMBERS_WITH_MESSAGES : NUMBERS_PLAIN);
    if (live->last_message) {
        buf_varint(out, live->last_message);
        buf_varint(out, live->message);
    }
    buf_varint(out, ITEM_KINDS_END - 1);
    for (unsigned kind = 1; kind < ITEM_KINDS_END; kind++)
        buf_varint(out, live->numbers[kind]);
    buf_varint(out, live->counters.checkpoints);
    buf_varint(out, live->counters.hypotheses_tested);
    buf_varint(out, live->counters.gaps_filled);
    buf_varint(out, live->counters.commands);
    buf_varint(out, live->counters.verifications);
}

int numbers_decode(struct live *live, struct cairn_error *error)
{
    struct reader in = reader_of(live->row.numbers.ptr, live->row.numbers.len);
    uint8_t version = read_byte(&in);
    bool good = version == NUMBERS_PLAIN;
    if (version == NUMBERS_WITH_MESSAGES) {
        good = message_numbers(live->row.numbers, &live->last_message, &live->message);
        (void)read_varint(&in);
        (void)read_varint(&in);
    }
    uint64_t n = read_varint(&in);
    for (uint64_t kind = 1; kind <= n && n < ITEM_KINDS_END; kind++) {
        uint64_t last = read_varint(&in);
        good = good && last <= UINT32_MAX;
        live->numbers[kind] = (uint32_t)last;
    }
    live->counters.checkpoints = read_varint(&in);
    live->counters.hypotheses_tested = read_varint(&in);
    live->counters.gaps_filled = read_varint(&in);
    live->counters.commands = read_varint(&in);
    live->counters.verifications = read_varint(&in);
    if (good && n < ITEM_KINDS_END && reader_done(&in))
        return 0;
    return error_set(error, CAIRN_EDAMAGED,
                     "the numbers of session %llu are damaged: run `cairn doctor`",
                     (unsigned long long)live->row.session);
}
