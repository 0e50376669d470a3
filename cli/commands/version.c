/* SPDX-License-Identifier: MIT */
/* cairn version. */
#include "cli/commands/store_commands.h"
#include "cli/json.h"
#include "cli/ui.h"

int command_version(struct settings *settings)
{
    struct doc doc;
    (void)settings;
    if (!ui_json()) {
        out("cairn %s\n", cairn_version());
        return 0;
    }
    doc_begin(&doc);
    doc_text(&doc, "version", cairn_version());
    return doc_print(&doc);
}
