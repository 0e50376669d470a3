/* SPDX-License-Identifier: MIT */
/* Pages for browsers, over the same HTTP as `cairn mcp --listen`: GET only, but for forms
 * where they are allowed, and without
 * `remote` from this machine only. What the pages are is not known here.
 *
 * The address that is printed has a token, which opens one browser, once: that gets a
 * cookie for all further requests, and a new address is printed for the next one. */
#ifndef SERVER_SITE_H
#define SERVER_SITE_H

#include "server/serve.h"

#define SITE_SECRET 65 /* 256 bits in hexadecimal digits, and a NUL */

struct site_ask {
    const char *path; /* without a % */
    void *request;
    /* A value of the query as it was sent, with its percent signs; NULL: not there. */
    const char *(*query)(void *request, const char *name);
};

#define SITE_ACT "/act" /* to which forms are posted */
#define SITE_KEY "key"  /* the field of a form that shows that the form is ours */

struct site_answer {
    unsigned status;
    const char *type;
    bool fixed;      /* what stands at this address never changes */
    char file[128];  /* the name by which it is saved, and not shown; "": it is shown */
    struct buf body; /* freed by the reader */
};

/* When a stream of events is asked again. */
struct site_rest {
    int64_t least_ms; /* not before, whatever happens */
    int64_t most_ms;  /* also when nothing new has happened; SITE_NEVER: only then */
};
#define SITE_NEVER INT64_MAX

/* A command of cairn, which is carried out by a process of its own. */
struct site_command {
    const char *const *argv; /* ended by NULL; until `acted` is called */
    bool starts; /* it goes on when it has said which run it is, also without us */
    bool looks;  /* it changes nothing; else the log of the store says who asked */
    bool text;   /* it prints text, and is done if its status is 0; else JSON says so */
    int verdict; /* of one that prints text: a status that is a result, too; or 0 */
    /* It may take for long: who asked is answered by `lasting` then, and it goes on.
     * What came of it `acted` is told in any case. */
    bool lasts;
};
/* What came of it, while `acted` is called. */
struct site_came {
    const char *problem;       /* NULL: it is done, or goes on */
    const char *printed, *err; /* on stdout and on stderr */
};

struct site_options {
    const char *listen;
    const char *const *hosts; /* as in serve_options */
    bool remote;
    int64_t idle_ms; /* ends when nothing was asked for so long; 0: never */
    void *context;
    /* `answer` begins with nothing but the status 200. */
    void (*answer)(void *context, const struct site_ask *ask,
                   struct site_answer *answer);
    /* NULL: nothing can be posted. Else room for SITE_SECRET bytes: what the field
     * SITE_KEY of each form has, from the first call of `address` on. */
    char *key;
    /* What was posted by one of our forms, whose fields `ask` has. Answers it, or gives
     * a command; what it printed is answered by `acted`, which frees the command. */
    struct site_command *(*act)(void *context, const struct site_ask *ask,
                                struct site_answer *answer);
    /* Frees the command, and answers; or returns the next command to be carried out for
     * the same form, which may be the same struct, and answers nothing. `came` NULL:
     * nobody waits for an answer, and NULL is to be returned. */
    struct site_command *(*acted)(void *context, struct site_command *command,
                                  const struct site_came *came,
                                  struct site_answer *answer);
    void (*lasting)(void *context, const struct site_command *command,
                    struct site_answer *answer);
    /* The end was asked for, and this command, which changes something, is not done: it
     * is waited for; `left`: it is ended all the same. */
    void (*owed)(void *context, const struct site_command *command, bool left);
    /* A stream of events, if the address is one of those: what it needs, for `tick` and
     * then `live_end`; else NULL. */
    void *(*live)(void *context, const struct site_ask *ask, const char *last_event);
    /* Appends what is to be sent. */
    struct site_rest (*tick)(void *context, void *live, struct buf *out);
    /* A descriptor that can be read when there may be something new; -1: streams are
     * asked every so often. `take`: takes notice of what there was until now. */
    int (*news)(void *context, bool take);
    void (*live_end)(void *live);
    /* When clients can come, and after each address that was used. */
    void (*address)(void *context, const char *url, bool first);
};

/* Whether it may listen there, before anything is done; else `why` says why not. */
bool site_may_listen(const struct site_options *options, char why[512]);
/* Serves until a signal asks for the end, and what pages have begun to change is done (a
 * second signal: at once), or nobody comes. What is not SERVE_DONE has
 * its reason in `why`. */
enum serve_end serve_site(const struct site_options *options, char why[512]);

#endif
