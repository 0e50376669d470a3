/* SPDX-License-Identifier: MIT */
/* Knowledge gaps: which open question matters most, what to do about it, and which have
 * closed by themselves. The score is always computed for the present moment, never
 * stored: it grows with age and shrinks with evidence. */
#ifndef SESSION_BOARD_GAPS_H
#define SESSION_BOARD_GAPS_H

#include "session/board/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stored: never renumbered. */
enum gap_kind {
    GAP_ASSUMPTION = 1,    /* taken for granted, never tested */
    GAP_INFORMATION = 2,   /* nobody has looked */
    GAP_CONTRADICTION = 3, /* evidence for both */
    GAP_DEPENDENCY = 4,    /* what it rests on is not known */
    GAP_OTHER = 5,
};
enum gap_criticality {
    GAP_HIGH = 1,
    GAP_MEDIUM = 2,
    GAP_LOW = 3,
};
/* "assumption", "high"; NULL for a number that is none. */
const char *gap_kind_name(enum gap_kind kind);
const char *gap_criticality_name(enum gap_criticality criticality);
int gap_kind_parse(struct str name, enum gap_kind *kind, struct cairn_error *error);
int gap_criticality_parse(struct str name, enum gap_criticality *criticality,
                          struct cairn_error *error);

struct gap {
    enum gap_kind kind;
    enum gap_criticality criticality;
    enum gap_status status;
    bool has_hypothesis;
    double confidence;  /* of the hypothesis; else not looked at */
    uint32_t depth;     /* levels of what it rests on: belief_reach's greatest depth */
    double strength;    /* of the evidence that there is, -1 to 1; 0 for none */
    int64_t created_ns; /* UTC */
};

/* 0.5 criticality (1, 0.6, 0.3) + 0.3 depth / 10 + 0.15 (1 - |strength|) + 0.05 age /
 * 30 days; depth and age count up to 10 and 30. In 0..1. A gap of the future has no
 * age. CAIRN_EUSAGE for numbers that are none. */
int gap_score(const struct gap *gap, int64_t now_ns, double *score,
              struct cairn_error *error);

/* Is it open, and its hypothesis certain? Then it closes by itself. */
bool gap_closes(const struct gap *gap);

enum gap_action {
    GAP_DO_CHECK,       /* add a verification check */
    GAP_DO_RESEARCH,    /* look it up */
    GAP_DO_INVESTIGATE, /* find out which of them is right */
    GAP_DO_RESOLVE,     /* find out what depends on what */
    GAP_DO_GATHER,      /* gather evidence */
    GAP_DO_DECIDE,      /* say what would fill it */
};
struct gap_suggestion {
    enum gap_action action;
    const char *name;      /* "check" */
    const char *rationale; /* a sentence; never freed */
};
/* By kind; NULL texts for a number that is no kind. */
struct gap_suggestion gap_suggest(const struct gap *gap);

/* The open ones in order: the highest score first, then the oldest, then by number.
 * `ranked` has room for n; *n_ranked is how many there are. */
struct gap_rank {
    uint32_t gap;
    double score;
};
int gap_order(const struct gap *gaps, uint32_t n, int64_t now_ns,
              struct gap_rank *ranked, uint32_t *n_ranked, struct cairn_error *error);

#endif
