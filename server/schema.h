/* SPDX-License-Identifier: MIT */
/* JSON Schemas of what a tool takes and gives, made from its row. */
#ifndef SERVER_SCHEMA_H
#define SERVER_SCHEMA_H

#include "server/text.h"
#include "server/tool.h"

void schema_input(struct text *text, const struct tool *tool);
void schema_output(struct text *text, const struct tool *tool);

#endif
