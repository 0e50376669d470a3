/* SPDX-License-Identifier: MIT */
/* The settings of a session: as bytes of its row, and as texts that people write. */
#ifndef SESSION_SETTINGS_H
#define SESSION_SETTINGS_H

#include "base/str.h"
#include "session/outside/hook_kinds.h"
#include "session/retention.h"
#include "session/triggers.h"

enum { KEEP_LAST_MOST = 10000 };

/* Settings that came after the others: texts, by number. Stored: never renumbered. */
enum setting_later {
    SETTING_FILES = 1,    /* where they are: files_root_name; off: none are kept */
    SETTING_STRATEGY = 2, /* agents/strategy.h; none: manual */
    SETTING_TOOLS = 3,    /* words with commas between them; none: the usual ones */
    SETTING_BUDGET = 4,   /* bytes that it may refer to before that is said */
    SETTING_SETTLE = 5,   /* a time: settings_settle */
    SETTING_CROSSED = 6,  /* by no person: settings_crossed */
};
enum { SETTINGS_LATER_END = 7 };

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

/* ---- settings_text.c ---- */

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
bool later_is_value(unsigned n, struct str text);
/* Of SETTING_BUDGET; 0: off. */
uint64_t settings_budget(const struct session_settings *settings);
/* How long files are to rest before `cairn session watch` makes a checkpoint, in ns; 0:
 * it makes none. */
int64_t settings_settle(const struct session_settings *settings);

#endif
