/* SPDX-License-Identifier: MIT */
/* The table of a task's fields. A new one gets a row at the end of the table, with a
 * new version of the binary form, and its name in each list below that it belongs to.
 * What changes the meaning of a task must be in fingerprint_fields, and people must be
 * shown what is there: every row of fingerprint_fields, or another one of its group, is
 * in difference_fields. */
#include "graph/task_fields.h"

#include "base/limits.h"

#include <assert.h>
#include <stddef.h>

/* The offset of a member of that type. With another type it divides by 0, which does
 * not compile. */
#define AT(member, type)                             \
    (uint16_t)(offsetof(struct task_def, member) /   \
               (size_t)__builtin_types_compatible_p( \
                   __typeof__(((struct task_def *)0)->member), type))
#define TEXT(member) .shape = FIELD_TEXT, .at = AT(member, struct str)
#define BYTE(member) .shape = FIELD_BYTE, .at = AT(member, uint8_t)
#define NUMBER(member) .shape = FIELD_NUMBER, .at = AT(member, uint32_t)
#define PERMILLE(member) \
    .shape = FIELD_PERMILLE, .at = AT(member, uint32_t), .most = 1000
#define TIME(member) .shape = FIELD_TIME, .at = AT(member, int64_t)
#define LIST(form, member, type) \
    .shape = (form), .at = AT(member, type), .n_at = AT(n_##member, uint32_t)
#define TEXTS(form, member) LIST(form, member, struct str *)

/* Which tasks have it in their binary form, since which version. */
#define EVERY(version) .kinds = 0xff, .since = (version)
#define ONLY(kind, version) .kinds = 1U << (kind), .since = (version)

enum {
    ID,
    KIND,
    RUN,
    SHELL,
    ARGV,
    VERSION,
    EXTERNAL,
    ENV,
    CWD,
    OUTPUTS,
    FOREACH,
    NEEDS,
    TIMEOUT,
    GRACE,
    RETRY_MAX,
    RETRY_DELAY,
    RETRY_FACTOR,
    RETRY_JITTER,
    RETRY_ON_EXIT,
    POOL,
    PRIORITY,
    INPUTS,
    CONDITION,
    WHEN,
    FLAGS,
    CHECK,
    CHECK_MIN,
    CHECK_WARN,
    UNDO,
    SIDE_SHELL,
    SECRETS,
    PARAMS,
    PICKED,
    OPEN_KEYS,
    DEPFILE,
    NEEDS_ORDER,
    COLUMNS,
    LOST_CLAIMS,
    DESCRIPTION,
    RETRY_CAP,
    RETRY_ON,
    SKIP_EXIT,
    READY,
    READY_WITHIN,
    READY_EVERY,
    UNTIL,
    ROUNDS,
    ROUND_DELAY,
    POOLS,
    SLOTS,
    PORT,
    NICE,
    FALLBACK,
    PORTS,
    ARTIFACTS,
    ARTIFACTS_KEPT,
    ARTIFACTS_WANTED,
    MEMORY,
    ARGS,
    STALE,
    ARTIFACTS_ENDED,
    REUSE_KEPT,
    CALLBACK,
    END
};

static const struct str when_words[] = {STR("success"), STR("failed"), STR("always")};

const struct task_field task_fields[] = {
    [ID] = {TEXT(id), EVERY(1)},
    [KIND] = {BYTE(kind), EVERY(1), .most = TASK_EXTERNAL, .group = GROUP_COMMAND},
    [RUN] = {TEXT(run), ONLY(TASK_RUN, 1), .group = GROUP_COMMAND, .name = "command"},
    [SHELL] = {TEXTS(FIELD_SHELL, shell), ONLY(TASK_RUN, 1), .name = "shell"},
    [ARGV] = {TEXTS(FIELD_TEXTS, argv), ONLY(TASK_EXEC, 1), .group = GROUP_COMMAND},
    [VERSION] = {TEXT(version), ONLY(TASK_CALL, 1), .name = "version"},
    [EXTERNAL] = {TEXT(external), ONLY(TASK_EXTERNAL, 2), .name = "external"},
    [ENV] = {LIST(FIELD_PAIRS, env, struct key_value *), EVERY(1), .name = "env"},
    [CWD] = {TEXT(cwd), EVERY(1), .name = "cwd"},
    [OUTPUTS] = {TEXTS(FIELD_TEXTS, outputs), EVERY(1), .name = "outputs"},
    [FOREACH] = {LIST(FIELD_FOREACH, foreach, struct foreach_key *), EVERY(1),
                 .name = "foreach"},
    [NEEDS] = {LIST(FIELD_NEEDS, needs, struct need *), EVERY(1), .name = "needs"},
    [TIMEOUT] = {TIME(timeout_ms), EVERY(1)},
    [GRACE] = {TIME(grace_ms), EVERY(1)},
    [RETRY_MAX] = {NUMBER(retry.max), EVERY(1), .most = LIMIT_RETRIES},
    [RETRY_DELAY] = {TIME(retry.delay_ms), EVERY(1)},
    [RETRY_FACTOR] = {NUMBER(retry.factor_permille), EVERY(1), .most = UINT32_MAX},
    [RETRY_JITTER] = {.shape = FIELD_BOOL, .at = AT(retry.jitter, bool), EVERY(1)},
    [RETRY_ON_EXIT] = {.shape = FIELD_CODES,
                       .at = AT(retry.on_exit, uint16_t *),
                       .n_at = AT(retry.n_on_exit, uint32_t),
                       EVERY(1),
                       .most = 255},
    [POOL] = {LIST(FIELD_POOL, pools, struct pool_use *), EVERY(1)},
    [PRIORITY] = {.shape = FIELD_SIGNED, .at = AT(priority, int32_t), EVERY(1)},
    [INPUTS] = {TEXTS(FIELD_TEXTS, inputs), EVERY(2), .name = "inputs"},
    [CONDITION] = {TEXT(condition), EVERY(2), .name = "if"},
    [WHEN] = {BYTE(when), EVERY(2), .most = WHEN_ALWAYS, .name = "when",
              .words = when_words},
    [FLAGS] = {.shape = FIELD_FLAGS, EVERY(2)},
    [CHECK] = {TEXT(check), EVERY(2), .group = GROUP_CHECK, .name = "check"},
    [CHECK_MIN] = {PERMILLE(check_min_permille), EVERY(2), .group = GROUP_CHECK},
    [CHECK_WARN] = {PERMILLE(check_warn_permille), EVERY(2)},
    [UNDO] = {TEXT(undo), EVERY(2)},
    [SIDE_SHELL] = {TEXTS(FIELD_TEXTS, side_shell), EVERY(2)},
    [SECRETS] = {TEXTS(FIELD_SECRETS, secrets), EVERY(2), .name = "secrets"},
    [PARAMS] = {TEXTS(FIELD_PARAMS, params), EVERY(2), .name = "param"},
    [PICKED] = {LIST(FIELD_PICKED, picked, uint64_t *), EVERY(3)},
    [OPEN_KEYS] = {.shape = FIELD_OPEN_KEYS,
                   .at = AT(needs, struct need *),
                   .n_at = AT(n_needs, uint32_t),
                   EVERY(4)},
    [DEPFILE] = {TEXT(depfile), EVERY(5), .name = "depfile"},
    [NEEDS_ORDER] = {.shape = FIELD_ORDER,
                     .at = AT(needs, struct need *),
                     .n_at = AT(n_needs, uint32_t),
                     EVERY(5)},
    [COLUMNS] = {.shape = FIELD_COLUMNS,
                 .at = AT(foreach, struct foreach_key *),
                 .n_at = AT(n_foreach, uint32_t),
                 EVERY(5)},
    [LOST_CLAIMS] = {NUMBER(lost_claims), ONLY(TASK_EXTERNAL, 5),
                     .most = LIMIT_LOST_CLAIMS},
    [DESCRIPTION] = {TEXT(description), EVERY(5)},
    [RETRY_CAP] = {TIME(retry.cap_ms), EVERY(6)},
    [POOLS] = {LIST(FIELD_POOLS, pools, struct pool_use *), EVERY(6)},
    [NICE] = {BYTE(nice), EVERY(6), .most = 19},
    [SLOTS] = {NUMBER(slots), EVERY(6), .most = LIMIT_JOBS},
    [SKIP_EXIT] = {BYTE(skip_exit), EVERY(6), .most = 255, .name = "skip_exit"},
    [RETRY_ON] = {BYTE(retry.on), EVERY(6), .most = RETRY_KINDS},
    [READY] = {TEXT(ready), EVERY(6), .name = "ready"},
    [READY_WITHIN] = {TIME(ready_within_ms), EVERY(6)},
    [READY_EVERY] = {TIME(ready_every_ms), EVERY(6)},
    [UNTIL] = {TEXT(repeat.until), EVERY(6), .name = "until"},
    [ROUNDS] = {NUMBER(repeat.max), EVERY(6), .most = LIMIT_RETRIES},
    [ROUND_DELAY] = {TIME(repeat.delay_ms), EVERY(6)},
    [PORT] = {.shape = FIELD_BOOL, .at = AT(port, bool), EVERY(6)},
    [FALLBACK] = {TEXT(fallback), EVERY(7), .name = "fallback"},
    [PORTS] = {TEXTS(FIELD_TEXTS, ports), EVERY(7)},
    [ARTIFACTS] = {TEXTS(FIELD_TEXTS, artifacts), EVERY(7)},
    [ARTIFACTS_KEPT] = {TIME(artifacts_ms), EVERY(7)},
    [ARTIFACTS_WANTED] = {.shape = FIELD_BOOL,
                          .at = AT(artifacts_wanted, bool),
                          EVERY(7)},
    [MEMORY] = {NUMBER(memory), EVERY(7), .most = LIMIT_MEMORY_MIB},
    /* The same member: it counts, and is compared, as ARGV. */
    [ARGS] = {TEXTS(FIELD_TEXTS, argv), ONLY(TASK_RUN, 7)},
    [STALE] = {BYTE(stale), EVERY(7), .most = ON_STALE_KEEP},
    [ARTIFACTS_ENDED] = {BYTE(artifacts_when), EVERY(7), .most = ARTIFACTS_ALWAYS},
    [REUSE_KEPT] = {TIME(reuse_ms), EVERY(7)},
    [CALLBACK] = {TEXT(callback), ONLY(TASK_CALL, 8), .group = GROUP_COMMAND,
                  .name = "callback"},
    [END] = {.shape = FIELD_END}};

const struct task_flag task_flags[] = {{1, 2, AT(once, bool)},
                                       {2, 2, AT(finally, bool)},
                                       {4, 2, AT(own_params, bool)},
                                       {8, 4, AT(needs_all, bool)},
                                       {16, 4, AT(apart, bool)},
                                       {32, 6, AT(may_fail, bool)},
                                       {64, 6, AT(reuse, bool)},
                                       {128, 6, AT(cutoff, bool)},
                                       {0, 0, 0}};

#define F(row) &task_fields[row]

/* `needs` counts, too, but as the nodes that it leads to. The side's shell counts in
 * the row of the shell. */
const struct task_field *const fingerprint_fields[] = {
    F(KIND),      F(RUN),   F(SHELL),   F(ARGV),      F(VERSION),  F(EXTERNAL),
    F(ENV),       F(CWD),   F(OUTPUTS), F(INPUTS),    F(PARAMS),   F(FOREACH),
    F(CONDITION), F(WHEN),  F(CHECK),   F(CHECK_MIN), F(SECRETS),  F(DEPFILE),
    F(SKIP_EXIT), F(READY), F(UNTIL),   F(FALLBACK),  F(CALLBACK), NULL};

const struct task_field *const difference_fields[] = {
    F(RUN),    F(EXTERNAL), F(SHELL),   F(VERSION), F(ENV),       F(CWD),
    F(INPUTS), F(OUTPUTS),  F(PARAMS),  F(FOREACH), F(NEEDS),     F(CONDITION),
    F(WHEN),   F(CHECK),    F(SECRETS), F(DEPFILE), F(SKIP_EXIT), F(READY),
    F(UNTIL),  F(FALLBACK), NULL};

const struct task_field *const reference_fields[] = {
    F(ARGV),     F(OUTPUTS), F(INPUTS),    F(ENV), F(CWD),
    F(EXTERNAL), F(DEPFILE), F(ARTIFACTS), NULL};

bool field_is_empty(const struct task_field *field, const struct task_def *def)
{
    switch ((enum field_shape)field->shape) {
    case FIELD_TEXT:
        return !field_text(field, def).len;
    case FIELD_BYTE:
        return !field_byte(field, def);
    case FIELD_BOOL:
        return !*(const bool *)field_at(field, def);
    case FIELD_NUMBER:
        return !field_number(field, def);
    case FIELD_TIME:
        return !field_time(field, def);
    case FIELD_TEXTS:
    case FIELD_PAIRS:
    case FIELD_CODES:
        return !field_n(field, def);
    default:
        return true;
    }
}

uint32_t reference_texts(const struct task_field *field, const struct task_def *def)
{
    return field->shape == FIELD_TEXT ? 1 : field_n(field, def);
}

struct str reference_text(const struct task_field *field, const struct task_def *def,
                          uint32_t i)
{
    if (field->shape == FIELD_TEXT)
        return field_text(field, def);
    if (field->shape == FIELD_PAIRS)
        return field_pairs(field, def)[i].value;
    assert(field->shape == FIELD_TEXTS);
    return field_texts(field, def)[i];
}

void task_def_empty_texts(struct task_def *def)
{
    for (const struct task_field *field = task_fields; field->shape; field++)
        if (field->shape == FIELD_TEXT)
            *(struct str *)(void *)((char *)def + field->at) = STR("");
}

void put_texts(struct buf *out, const struct str *texts, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        buf_lstr(out, texts[i]);
}

void put_pairs(struct buf *out, const struct key_value *pairs, uint32_t n)
{
    buf_varint(out, n);
    for (uint32_t i = 0; i < n; i++) {
        buf_lstr(out, pairs[i].key);
        buf_lstr(out, pairs[i].value);
    }
}
