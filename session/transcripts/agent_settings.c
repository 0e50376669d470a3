/* SPDX-License-Identifier: MIT */
/* The settings of an agent, for programs. */
#include "cairn/message.h"
#include "session/agents/hook_settings.h"

int cairn_agent_settings(const char *json, size_t bytes, const char *command,
                         char **out, size_t *out_bytes, bool *changed,
                         struct cairn_error *error)
{
    struct buf text = BUF_INIT;
    struct str given = {json, bytes};
    int rc = 0;
    if (bytes > CAIRN_AGENT_SETTINGS_MAX)
        rc = error_set(error, CAIRN_EUSAGE, "it has more than %u MiB",
                       CAIRN_AGENT_SETTINGS_MAX >> 20);
    else if (command && !hook_command_is_ours(str_of(command)))
        rc = error_set(error, CAIRN_EUSAGE, "'%.80s' is not `cairn session hook`",
                       command);
    if (!rc)
        rc = hook_settings_edit(given, command, &text, error);
    if (rc) {
        buf_release(&text);
        return rc;
    }
    *changed = !str_equal(buf_view(&text), given);
    *out_bytes = text.size;
    *out = text.data;
    return 0;
}
