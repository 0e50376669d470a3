/* SPDX-License-Identifier: MIT */
/* A definition as bytes, and back. */
#ifndef GRAPH_DEFINITION_CODEC_H
#define GRAPH_DEFINITION_CODEC_H

#include "graph/definition.h"

enum { DEFINITION_MAGIC_BYTES = 8, DEFINITION_VERSION = 9 };

/* Canonical binary form (docs/definition-format.md): the same definition always
 * gives the same bytes; its SHA-256 is the graph digest. Callbacks are stored as their
 * names and versions, and have no function after decoding (workflow/registry.h). */
int definition_encode(const struct definition *definition, struct buf *out,
                      struct cairn_error *error);
/* Appends the tasks from index `first` on, all of which were added to a run, as they
 * stand at the end of the binary form: of a definition to which tasks were added before
 * `first` that is what makes the one without them longer. */
int definition_encode_added(const struct definition *definition, uint32_t first,
                            struct buf *out, struct cairn_error *error);
/* CAIRN_EDAMAGED if the bytes are not a definition of a known version. Positions and
 * warnings are not stored. */
int definition_decode(struct str bytes, struct definition *out,
                      struct cairn_error *error);
/* Appends, as tasks that were added to a run, the tasks of `from` that begin at index
 * `first`, behind which it has no others: a definition of the same workflow that has all
 * that they need under the same names, and no other task of theirs. Copies; what the
 * definition had stays where it is. 0,
 * CAIRN_EWORKFLOW: a name is there already, or one that is needed is not; CAIRN_ELIMIT;
 * CAIRN_ENOMEM, after which the definition is only good for being released. */
int definition_append(struct definition *to, const struct definition *from,
                      uint32_t first, struct cairn_error *error);

#endif
