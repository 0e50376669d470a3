/* SPDX-License-Identifier: MIT */
/* JSON Schemas of what a tool takes and gives, made from its row. */
#ifndef SERVER_SCHEMA_H
#define SERVER_SCHEMA_H

#include "server/text.h"
#include "server/tool.h"

/* Without the properties that store something, if `read_only`. */
void schema_input(struct text *text, const struct tool *tool, bool read_only);
void schema_output(struct text *text, const struct tool *tool);

#endif
