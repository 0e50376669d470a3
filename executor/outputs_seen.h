/* SPDX-License-Identifier: MIT */
/* What was seen of the outputs of finished tasks, kept for the next look at them. */
#ifndef EXECUTOR_OUTPUTS_SEEN_H
#define EXECUTOR_OUTPUTS_SEEN_H

struct engine;

/* Once the outcomes are stored. Writes only what the file has not yet. */
void outputs_seen_save(struct engine *e);

#endif
