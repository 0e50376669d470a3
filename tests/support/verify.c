/* SPDX-License-Identifier: MIT */
#include "tests/support/verify.h"

#include "storage/store.h"

static int note_problem(void *context, const struct cairn_problem *problem)
{
    struct problems *problems = context;
    ck_assert_int_lt(problems->n, LAB_MAX);
    snprintf(problems->text[problems->n], 200, "%s: %s", problem->id, problem->text);
    problems->at[problems->n++] = *problem;
    return 0;
}

struct problems lab_found;

int lab_verify(struct lab *lab, const char *id)
{
    memset(&lab_found, 0, sizeof lab_found);
    return cairn_checkpoint_verify(lab->store, id, note_problem, &lab_found,
                                   &lab_found.result, &lab->error);
}

void lab_expect_sound(struct lab *lab)
{
    int rc = lab_verify(lab, NULL);
    ck_assert_msg(rc == 0, "%d %s %s", rc, lab->error.text, lab_found.text[0]);
    ck_assert_uint_eq((uint64_t)lab_found.n,
                      lab_found.result.part_lost); /* no damage */
}

/* Exactly one problem, and it names `seq`. */
void lab_expect_named(struct lab *lab, uint64_t seq, const char *what)
{
    char id[CAIRN_ID_MAX];
    int rc = lab_verify(lab, NULL);
    ck_assert_msg(rc == CAIRN_EDAMAGED, "%s: %d", what, rc);
    ck_assert_msg(lab_found.n == 1, "%s: %d problems: %s; %s", what, lab_found.n,
                  lab_found.text[0], lab_found.text[1]);
    ck_assert_msg(lab_found.at[0].seq == seq, "%s: %s", what, lab_found.text[0]);
    snprintf(id, sizeof id, "workflow:%llu", (unsigned long long)seq);
    ck_assert_msg(strncmp(lab_found.at[0].id, id, strlen(id)) == 0, "%s: %s", what,
                  lab_found.text[0]);
    ck_assert_uint_eq(lab_found.result.damaged, 1);
}

struct run_stream lab_fork_at(struct lab *lab, int i, struct run_stream *main_stream)
{
    struct digest graph;
    struct outcomes outcomes;
    struct rebuilt at;
    MUST(lab, outcomes_rebuild(lab->store, lab->seqs[i], &outcomes, &at, &lab->error));
    uint64_t run = lab_run(lab, "nightly", main_stream->chain.id, at.ref.seq, &graph);
    struct run_stream branch = run_stream_of(lab->store, lab->sha, run, &graph);
    branch.chain.parent = at.ref.seq;
    branch.chain.parent_digest = at.ref.digest;
    MUST(lab, store_begin(lab->store, -1, &lab->error));
    MUST(lab, run_stream_full(&branch, &outcomes.states, 5, NULL, &lab->error));
    MUST(lab, store_commit(lab->store, &lab->error));
    outcomes_release(&outcomes);
    return branch;
}
