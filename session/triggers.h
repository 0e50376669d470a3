/* SPDX-License-Identifier: MIT */
/* What makes a checkpoint of a session, and whether it does.
 *
 * A checkpoint stores the number of its trigger. Name, message, tags and significance
 * follow from the number, so all checkpoints of a trigger agree on them. */
#ifndef SESSION_TRIGGERS_H
#define SESSION_TRIGGERS_H

#include "base/str.h"
#include "session/board/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Stored: never renumbered. There are eight kinds of automatic triggers, of which two
 * have cases that are told apart because they are significant; five more kinds that
 * come from a run's task, from an agent (two), from a restore and from edits of files;
 * and four that an agent's hook raises (agents/strategy.h). */
enum trigger {
    TRIGGER_MANUAL = 1,
    TRIGGER_SCHEDULED = 2,
    TRIGGER_HYPOTHESIS_STATUS = 3,
    TRIGGER_HYPOTHESIS_CONFIRMED = 4, /* a case of 3; significant */
    TRIGGER_HYPOTHESIS_REJECTED = 5,  /* a case of 3; significant */
    TRIGGER_CONTRADICTION = 6,        /* significant */
    TRIGGER_VERIFICATION = 7,
    TRIGGER_BRANCH_SWITCH = 8,
    TRIGGER_BRANCH_MERGED = 9, /* a case of 8; significant */
    TRIGGER_GAP_FILLED = 10,
    TRIGGER_CODE_MODIFIED = 11,
    TRIGGER_SIGNIFICANT_TIME = 12,
    TRIGGER_COMPACTION_WARNING = 13, /* of an agent's context */
    TRIGGER_TASK_FAILED = 14,
    TRIGGER_TOOL_CALL = 15,
    TRIGGER_BEFORE_RESTORE = 16,
    TRIGGER_PROMPT = 17,      /* the user has given an agent a prompt */
    TRIGGER_BEFORE_TOOL = 18, /* an agent is about to use a tool */
    TRIGGER_AFTER_TOOL = 19,
    TRIGGER_TURN_ENDED = 20,        /* an agent has answered */
    TRIGGER_FILES_SETTLED = 21,     /* edits of the files came to rest */
    TRIGGER_CONTEXT_THRESHOLD = 22, /* usage of an agent's context */
};
enum { TRIGGERS_END = 23 };

/* "hypothesis-confirmed"; NULL for a number that is none. */
const char *trigger_name(enum trigger trigger);
int trigger_parse(struct str name, enum trigger *trigger, struct cairn_error *error);
/* "Auto: hypothesis confirmed", "Scheduled"; NULL where a person gives the message. */
const char *trigger_message(enum trigger trigger);
/* Automatic ones: "auto", the kind's name and, of a case, its own name; scheduled ones:
 * "scheduled". Returns how many. */
enum { TRIGGER_TAGS = 3 };
unsigned trigger_tags(enum trigger trigger, const char *tags[TRIGGER_TAGS]);
bool trigger_is_automatic(enum trigger trigger);
/* Does a checkpoint of it always stay when others are pruned? (A manual one stays, too,
 * for being manual.) */
bool trigger_is_significant(enum trigger trigger);
/* Does it make one where messages alone are new since the last checkpoint? Not where
 * messages come with every use of a tool. */
bool trigger_counts_messages(enum trigger trigger);
/* The kind that the trigger is a case of, or itself. */
enum trigger trigger_kind(enum trigger trigger);
/* Of a hypothesis that has become this. */
enum trigger trigger_of_hypothesis(enum hypothesis_status now);

/* ---- Whether ---- */

/* One moment on the two clocks that outlive a process. */
struct moment {
    int64_t utc_ns, boot_ns; /* clock_utc_ns, clock_boot_ns */
    struct str boot_id;      /* what boot_ns counts from; empty: not known */
};
/* Nanoseconds from one to the other, never negative: by the boot clock, which nobody
 * sets, where both are of one boot, else by UTC. */
int64_t moment_since(const struct moment *earlier, const struct moment *later);

struct trigger_settings {
    uint32_t off;        /* 1 << kind for each automatic kind that makes none */
    int64_t interval_ns; /* significant time: this much or more since the last */
    int64_t schedule_ns; /* scheduled ones: this far apart; 0: none */
};
/* All on but tool-call, 300 s, no schedule. */
struct trigger_settings trigger_settings_default(void);

enum trigger_answer {
    TRIGGER_MAKES,
    TRIGGER_OFF,         /* the settings say so */
    TRIGGER_TOO_SOON,    /* only ever of significant time */
    TRIGGER_UNCHANGED,   /* the last checkpoint has this state; never of a manual one */
    TRIGGER_NOT_CROSSED, /* no threshold, or not for the first time */
};
/* "too soon": for people and JSON. */
const char *trigger_answer_name(enum trigger_answer answer);

struct trigger_case {
    enum trigger trigger;
    struct moment last; /* of the last checkpoint of any kind, or of the start */
    struct moment now;
    bool unchanged; /* the state is that of the last checkpoint, by digest */
    bool crossed;   /* a threshold of the usage of the context */
};
/* Ask before a number is taken for the checkpoint. */
enum trigger_answer trigger_decide(const struct trigger_settings *settings,
                                   const struct trigger_case *raised);

/* Is a scheduled checkpoint due? `last` is the last scheduled one, or the start.
 * *wait_ns is how long until it is, 0 if it is now, INT64_MAX if there is no schedule.
 * One is due however many times were missed. */
bool schedule_due(const struct trigger_settings *settings, const struct moment *last,
                  const struct moment *now, int64_t *wait_ns);

#endif
