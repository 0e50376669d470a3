/* SPDX-License-Identifier: MIT */
/* What makes a checkpoint of a session, and whether it does.
 *
 * A checkpoint stores the number of its trigger. Name, message, tags and significance
 * follow from the number, so all checkpoints of a trigger agree on them. */
#ifndef SESSION_SETTINGS_H
#define SESSION_SETTINGS_H

#include "base/str.h"
#include "checkpoint/sections.h"
#include "session/board/confidence.h"
#include "session/keep.h"
#include "session/outside.h"

#include <stdbool.h>
#include <stdint.h>

/* Stored: never renumbered. There are eight kinds of automatic triggers, of which two
 * have cases that are told apart because they are significant; five more kinds that
 * come from a run's task, from an agent (two), from a restore and from edits of files;
 * and four that an agent's hook raises (agent_events.h). */
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
    TRIGGER_TURN_ENDED = 20,             /* an agent has answered */
    TRIGGER_FILES_SETTLED = 21,          /* edits of the files came to rest */
    TRIGGER_CONTEXT_THRESHOLD = 22,      /* usage of an agent's context */
    TRIGGER_THREAD = SECTIONS_OF_THREAD, /* 23: states and writes of a thread */
};

enum { TRIGGERS_END = 24 };

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

/* The settings of a session: as bytes of its row, and as texts that people write. */

/* Settings that came after the others: texts, by number. Stored: never renumbered. */
enum setting_later {
    SETTING_FILES = 1,    /* where they are: files_root_name; off: none are kept */
    SETTING_STRATEGY = 2, /* agent_events.h; none: manual */
    SETTING_TOOLS = 3,    /* words with commas between them; none: the usual ones */
    SETTING_BUDGET = 4,   /* bytes that it may refer to before that is said */
    SETTING_SETTLE = 5,   /* a time: settings_settle */
    SETTING_CROSSED = 6,  /* by no person: settings_crossed */
    SETTING_THREAD = 7,   /* by no person: the session is a thread (thread/) */
};

enum { SETTINGS_LATER_END = 8 };

/* What a session keeps without being asked to prune; all 0: everything. */
struct session_keeping {
    uint32_t last, days; /* as the rules of cairn_session_prune */
    bool hourly;
    struct str tags; /* with commas between them */
};

struct session_settings {
    struct trigger_settings triggers;
    struct session_keeping keep;
    struct moment scheduled; /* when the last scheduled checkpoint was made */
    struct str redact; /* names of environment variables whose values are not stored,
                          with commas between them */
    struct str hooks[HOOK_KINDS]; /* commands; len 0: none */
    int64_t hook_limit_ns;        /* of each */
    struct str environment; /* names of those that are stored with checkpoints, with
                               commas between them; NAME*: all that begin so */
    struct str later[SETTINGS_LATER_END]; /* texts; len 0: what is usual */
};

/* ---- settings.c ---- */

struct session_settings session_settings_default(void);
void settings_encode(const struct session_settings *settings, struct buf *out);
/* Untrusted bytes: CAIRN_EDAMAGED. Its texts are views. */
int settings_decode(struct str bytes, struct session_settings *out,
                    struct cairn_error *error);
/* The bytes of what it keeps, as settings_encode has them. */
void settings_encode_keeping(const struct session_keeping *keep, struct buf *out);
bool settings_keep_some(const struct session_settings *settings);

/* ---- settings.c ---- */

/* One by name. CAIRN_EUSAGE: no such setting, or no such value. (That of `files` is not
 * looked at: it is what files_root_name has made, or empty.) */
int settings_set(struct session_settings *settings, struct str name, struct str value,
                 struct cairn_error *error);
/* "5m": in the largest unit of which it is a whole number, of more than 0. */
void settings_time(int64_t ns, char out[32]);
/* A trigger that can be switched off. */
bool settings_has_switch(enum trigger trigger);
/* The highest threshold of the usage of an agent's context that was crossed in the
 * session, in percent; 0: none. */
uint8_t settings_crossed(const struct session_settings *settings);
void settings_cross(struct session_settings *settings, uint8_t threshold);
/* Of a later one: its name (NULL: nobody sets it, or it is none), what counts where
 * none is stored, and whether this may be its text (which is not empty). */
const char *later_name(unsigned n);
const char *later_usual(unsigned n);
/* Of SETTING_BUDGET; 0: off. */
uint64_t settings_budget(const struct session_settings *settings);
/* How long files are to rest before `cairn session watch` makes a checkpoint, in ns; 0:
 * it makes none. */
int64_t settings_settle(const struct session_settings *settings);

#endif
