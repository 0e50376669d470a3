/* SPDX-License-Identifier: MIT */
/* Callbacks by name (cairn_registry): put into the tasks of a definition that call them. */
#ifndef WORKFLOW_REGISTRY_H
#define WORKFLOW_REGISTRY_H

#include "graph/definition.h"

/* The functions and versions of the tasks from index `first` on that name a callback and
 * have none. *changed becomes true if a task has another version now. registry NULL: does
 * nothing. CAIRN_ENOTFOUND, naming the task and the callback; CAIRN_ENOMEM. */
int registry_bind(const struct cairn_registry *registry, struct definition *definition,
                  uint32_t first, bool *changed, struct cairn_error *error);
/* Only what undoes a callback, whose version stays. CAIRN_ENOTFOUND as above. */
int registry_bind_undo(const struct cairn_registry *registry,
                       struct definition *definition, struct task_def *def,
                       struct cairn_error *error);
/* Without a registry nobody knows the versions: those that the run has recorded, so that
 * a plan does not take all callbacks for others. Only memory can fail, which the arena
 * of the definition remembers. */
void registry_keep_versions(struct definition *definition,
                            const struct definition *recorded);

#endif
