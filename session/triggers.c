/* SPDX-License-Identifier: MIT */
/* One table has all that follows from a trigger. */
#include "session/triggers.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <assert.h>

#define SECOND_NS 1000000000ll

enum { AUTOMATIC = 1, SIGNIFICANT = 2, QUIET = 4 /* messages alone make none */ };

#define AUTO(kind, name, words, flags)                  \
    {                                                   \
        kind, name, "Auto: " words, AUTOMATIC | (flags) \
    }
static const struct {
    enum trigger kind;
    const char *name, *message;
    unsigned flags;
} triggers[TRIGGERS_END] = {
    [TRIGGER_MANUAL] = {TRIGGER_MANUAL, "manual", NULL, 0},
    [TRIGGER_SCHEDULED] = {TRIGGER_SCHEDULED, "scheduled", "Scheduled", 0},
    [TRIGGER_HYPOTHESIS_STATUS] =
        AUTO(TRIGGER_HYPOTHESIS_STATUS, "hypothesis-status", "hypothesis status", 0),
    [TRIGGER_HYPOTHESIS_CONFIRMED] =
        AUTO(TRIGGER_HYPOTHESIS_STATUS, "hypothesis-confirmed", "hypothesis confirmed",
             SIGNIFICANT),
    [TRIGGER_HYPOTHESIS_REJECTED] =
        AUTO(TRIGGER_HYPOTHESIS_STATUS, "hypothesis-rejected", "hypothesis rejected",
             SIGNIFICANT),
    [TRIGGER_CONTRADICTION] =
        AUTO(TRIGGER_CONTRADICTION, "contradiction", "contradiction", SIGNIFICANT),
    [TRIGGER_VERIFICATION] =
        AUTO(TRIGGER_VERIFICATION, "verification", "verification", 0),
    [TRIGGER_BRANCH_SWITCH] =
        AUTO(TRIGGER_BRANCH_SWITCH, "branch-switch", "branch switch", 0),
    [TRIGGER_BRANCH_MERGED] =
        AUTO(TRIGGER_BRANCH_SWITCH, "branch-merged", "branch merged", SIGNIFICANT),
    [TRIGGER_GAP_FILLED] = AUTO(TRIGGER_GAP_FILLED, "gap-filled", "gap filled", 0),
    [TRIGGER_CODE_MODIFIED] =
        AUTO(TRIGGER_CODE_MODIFIED, "code-modified", "code modified", 0),
    [TRIGGER_SIGNIFICANT_TIME] =
        AUTO(TRIGGER_SIGNIFICANT_TIME, "significant-time", "significant time", 0),
    [TRIGGER_COMPACTION_WARNING] =
        AUTO(TRIGGER_COMPACTION_WARNING, "compaction-warning", "compaction warning", 0),
    [TRIGGER_TASK_FAILED] = AUTO(TRIGGER_TASK_FAILED, "task-failed", "task failed", 0),
    [TRIGGER_TOOL_CALL] = AUTO(TRIGGER_TOOL_CALL, "tool-call", "tool call", 0),
    [TRIGGER_BEFORE_RESTORE] =
        AUTO(TRIGGER_BEFORE_RESTORE, "before-restore", "before restore", 0),
    [TRIGGER_PROMPT] = AUTO(TRIGGER_PROMPT, "prompt", "prompt", 0),
    [TRIGGER_BEFORE_TOOL] =
        AUTO(TRIGGER_BEFORE_TOOL, "before-tool", "before tool", QUIET),
    [TRIGGER_AFTER_TOOL] = AUTO(TRIGGER_AFTER_TOOL, "after-tool", "after tool", QUIET),
    [TRIGGER_TURN_ENDED] = AUTO(TRIGGER_TURN_ENDED, "turn-ended", "turn ended", QUIET),
    [TRIGGER_FILES_SETTLED] =
        AUTO(TRIGGER_FILES_SETTLED, "files-settled", "files settled", 0),
    [TRIGGER_CONTEXT_THRESHOLD] =
        AUTO(TRIGGER_CONTEXT_THRESHOLD, "context-threshold", "context threshold", 0),
};

/* A number that is none reads the empty row 0. */
static unsigned row_of(enum trigger trigger)
{
    return (unsigned)trigger < TRIGGERS_END ? (unsigned)trigger : 0;
}

const char *trigger_name(enum trigger trigger)
{
    return triggers[row_of(trigger)].name;
}

const char *trigger_message(enum trigger trigger)
{
    return triggers[row_of(trigger)].message;
}

bool trigger_is_automatic(enum trigger trigger)
{
    return triggers[row_of(trigger)].flags & AUTOMATIC;
}

bool trigger_is_significant(enum trigger trigger)
{
    return triggers[row_of(trigger)].flags & SIGNIFICANT;
}

bool trigger_counts_messages(enum trigger trigger)
{
    return !(triggers[row_of(trigger)].flags & QUIET);
}

enum trigger trigger_kind(enum trigger trigger)
{
    return triggers[row_of(trigger)].kind;
}

int trigger_parse(struct str name, enum trigger *trigger, struct cairn_error *error)
{
    struct str names[TRIGGERS_END];
    size_t n = 0;
    for (unsigned i = 1; i < TRIGGERS_END; i++) {
        if (!triggers[i].name) /* no trigger has this number */
            continue;
        names[n] = str_of(triggers[i].name);
        if (str_equal(name, names[n++])) {
            *trigger = (enum trigger)i;
            return 0;
        }
    }
    struct str near = str_nearest(name, names, n);
    return error_set(error, CAIRN_EUSAGE, "there is no trigger '%.*s'%s%.*s%s",
                     (int)utf8_fit(name, 80), name.ptr,
                     near.len ? "; did you mean '" : "", (int)near.len,
                     near.len ? near.ptr : "", near.len ? "'?" : "");
}

unsigned trigger_tags(enum trigger trigger, const char *tags[TRIGGER_TAGS])
{
    unsigned n = 0;
    if (trigger == TRIGGER_SCHEDULED)
        tags[n++] = trigger_name(trigger);
    if (!trigger_is_automatic(trigger))
        return n;
    tags[n++] = "auto";
    tags[n++] = trigger_name(trigger_kind(trigger));
    if (trigger_kind(trigger) != trigger)
        tags[n++] = trigger_name(trigger);
    return n;
}

enum trigger trigger_of_hypothesis(enum hypothesis_status now)
{
    if (now == HYPOTHESIS_CONFIRMED)
        return TRIGGER_HYPOTHESIS_CONFIRMED;
    if (now == HYPOTHESIS_REJECTED)
        return TRIGGER_HYPOTHESIS_REJECTED;
    return TRIGGER_HYPOTHESIS_STATUS;
}

/* ---- Whether ---- */

int64_t moment_since(const struct moment *earlier, const struct moment *later)
{
    /* Within one boot the boot clock never goes back, but for a container that has
     * another offset to it: then it counts from something else, as after a boot. */
    bool same_boot = earlier->boot_id.len &&
                     str_equal(earlier->boot_id, later->boot_id) &&
                     later->boot_ns >= earlier->boot_ns;
    int64_t ns = same_boot ? ns_between(earlier->boot_ns, later->boot_ns)
                           : ns_between(earlier->utc_ns, later->utc_ns);
    return ns > 0 ? ns : 0;
}

struct trigger_settings trigger_settings_default(void)
{
    return (struct trigger_settings){
        .off = 1u << TRIGGER_TOOL_CALL,
        .interval_ns = 300 * SECOND_NS,
    };
}

const char *trigger_answer_name(enum trigger_answer answer)
{
    static const char *const names[] = {
        [TRIGGER_MAKES] = "made",
        [TRIGGER_OFF] = "off",
        [TRIGGER_TOO_SOON] = "too soon",
        [TRIGGER_UNCHANGED] = "unchanged",
        [TRIGGER_NOT_CROSSED] = "no new threshold",
    };
    return (unsigned)answer < sizeof names / sizeof names[0] ? names[answer] : NULL;
}

static bool is_off(const struct trigger_settings *settings, enum trigger trigger)
{
    if (trigger == TRIGGER_SCHEDULED)
        return settings->schedule_ns <= 0;
    return settings->off >> trigger_kind(trigger) & 1;
}

enum trigger_answer trigger_decide(const struct trigger_settings *settings,
                                   const struct trigger_case *raised)
{
    assert(trigger_name(raised->trigger));
    if (raised->trigger == TRIGGER_MANUAL)
        return TRIGGER_MAKES;
    if (is_off(settings, raised->trigger))
        return TRIGGER_OFF;
    if (raised->trigger == TRIGGER_SIGNIFICANT_TIME &&
        moment_since(&raised->last, &raised->now) < settings->interval_ns)
        return TRIGGER_TOO_SOON;
    if (raised->trigger == TRIGGER_CONTEXT_THRESHOLD && !raised->crossed)
        return TRIGGER_NOT_CROSSED;
    return raised->unchanged ? TRIGGER_UNCHANGED : TRIGGER_MAKES;
}

bool schedule_due(const struct trigger_settings *settings, const struct moment *last,
                  const struct moment *now, int64_t *wait_ns)
{
    *wait_ns = INT64_MAX;
    if (settings->schedule_ns <= 0)
        return false;
    int64_t since = moment_since(last, now);
    *wait_ns = since < settings->schedule_ns ? settings->schedule_ns - since : 0;
    return *wait_ns == 0;
}
