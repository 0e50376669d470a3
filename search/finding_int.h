/* SPDX-License-Identifier: MIT */
/* One search, between the files that make it: taken (asking.c), ranked (ranking.c),
 * told (telling.c), by search.c. */
#ifndef SEARCH_FINDING_INT_H
#define SEARCH_FINDING_INT_H

#include "search/service_int.h"

struct docs { /* by number */
    int64_t *at;
    size_t n, room;
};
struct finding {
    const struct cairn_search *search;
    struct catching c;
    struct buf text, project;
    int64_t since_ns, until_ns;
    uint32_t k;
    /* By what is asked besides the text: */
    bool *projects; /* [n_projects], by id: belongs to what is searched */
    size_t n_projects;
    struct docs tagged;
    struct scope scope;
    struct searchdb_vector query;
    struct rank_list lists[RANK_LISTS];
    struct fused fused[RANK_LISTS * RANK_DEPTH];
    size_t n_fused;
    int (*each)(void *, const struct cairn_search_hit *);
    void *context;
    struct cairn_search_result *result;
    const struct cairn_search_service *service; /* or NULL */
    struct cairn_error *error;
};

/* What is asked is taken, or refused. */
int finding_take(struct finding *f);
/* What the index finds, in order; needs a read transaction of it. */
int finding_rank(struct finding *f);
/* And what the service says, if one is to be asked; without a transaction. */
int finding_ask_service(struct finding *f);
/* Each hit is read from the store again. */
int finding_tell(struct finding *f);

#endif
