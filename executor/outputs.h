/* Declared output files of tasks: are they there, are they the same, remove them. Paths
 * are relative to the task's working directory. */
#ifndef EXECUTOR_OUTPUTS_H
#define EXECUTOR_OUTPUTS_H

#include "executor/graph.h"

/* The task's working directory: root / cwd. "" where neither is set (the caller's). */
void task_directory(const struct graph *graph, uint32_t task, struct buf *out);

/* Checks that every output exists. 0, or CAIRN_ENOTFOUND with the missing one named. */
int outputs_exist(const struct graph *graph, uint32_t task, struct cairn_error *error);
/* Makes the list of outputs: per output lstr path, byte 'f' or 'd', varint size,
 * SHA-256 of the content (of a directory: of the sorted list of what is in it); and the
 * digest of that list. */
int outputs_list(const struct graph *graph, uint32_t task, struct buf *list,
                 struct digest *digest, struct cairn_error *error);
/* Deletes those that are there and are not directories. */
int outputs_remove(const struct graph *graph, uint32_t task, struct cairn_error *error);

#endif
