/* SPDX-License-Identifier: MIT */
/* Members of foreach groups, computed when asked for: a group of N members costs N
 * values, and a product of several keys costs their sum. */
#ifndef GRAPH_MEMBERS_H
#define GRAPH_MEMBERS_H

#include "graph/definition.h"

/* Index into foreach[key].values for a member. */
uint32_t member_value(const struct task_def *def, uint32_t member, uint32_t key);
/* What a member has by name: its keys, then the columns of each. How many there are, ... */
uint32_t task_def_names(const struct task_def *def);
/* ... the i-th with its value, ... */
struct key_value member_named(const struct task_def *def, uint32_t member, uint32_t i);
/* ... and which one has the name, or UINT32_MAX. */
uint32_t task_def_name(const struct task_def *def, struct str name);
/* Appends the id of a member: `convert[part=3]`, or plain `fetch` without foreach. */
void member_id(const struct task_def *def, uint32_t member, struct buf *out);
/* The member of `def` with these bindings (raw or shown values), or UINT32_MAX. */
uint32_t member_find(const struct task_def *def, const struct str *values);
/* How a value stands in an id: [A-Za-z0-9_.+@:/-] and visible characters of UTF-8 as
 * they are, other bytes as %XX; longer than LIMIT_VALUE_BYTES: its start, '~', 12 hex
 * digits of the value's SHA-256, '~', its end. */
void value_shown(struct str value, struct buf *out);

/* Index of a value, raw or as shown, also as it was shown before UTF-8 stood in ids
 * (all of it as %XX, a long one as '~' and the digits alone); UINT32_MAX if there is
 * none. */
uint32_t foreach_key_find(const struct foreach_key *key, struct str value);
/* Inclusive bounds of a RANGE's spec; false if it is not "a..b". */
bool foreach_range(struct str spec, int64_t *from, int64_t *to);

/* Why a foreach key cannot be finished: values `first` and `second` are the same, or
 * stand for the same text in ids. */
struct clash {
    uint32_t first, second;
    bool same; /* else: only their ids are */
};
/* Fills shown and by_value. 0, CAIRN_ENOMEM, or CAIRN_EWORKFLOW with *clash. Does
 * nothing if it was done before. */
int foreach_key_finish(struct arena *arena, struct foreach_key *key,
                       struct clash *clash);

/* Fills by_value and shown of a foreach key and the members count of a def; used by
 * parse, decode and builders. CAIRN_EWORKFLOW for duplicate values, CAIRN_ELIMIT for
 * too many. */
int task_def_finish(struct definition *definition, struct task_def *def,
                    struct cairn_error *error);

#endif
