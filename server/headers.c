/* SPDX-License-Identifier: MIT */
#include "server/headers.h"

#include <string.h>

#define WRAP "=?base64?"

/* The member of params that a method's Mcp-Name repeats, or NULL. */
static const char *name_member(const char *method)
{
    static const char *const rows[][2] = {
        {"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i][0], method) == 0)
            return rows[i][1];
    return NULL;
}

static int digit_of(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Whether these n digits, in whole groups of four, are `text`. */
static bool is_base64_of(const char *from, size_t n, const char *text)
{
    size_t padding = n >= 2 ? (size_t)(from[n - 1] == '=') + (from[n - 2] == '=') : 0;
    size_t bytes = n / 4 * 3 - padding;
    if (n % 4 != 0 || bytes != strlen(text))
        return false;
    for (size_t i = 0; i < bytes; i++) {
        size_t at = i / 3 * 4 + i % 3;
        int high = digit_of(from[at]), low = digit_of(from[at + 1]);
        int shift = (int)(i % 3) * 2;
        if (high < 0 || low < 0 ||
            ((high << (2 + shift) | low >> (4 - shift)) & 255) !=
                (unsigned char)text[i])
            return false;
    }
    return true;
}

static bool is_value(const char *header, const char *text)
{
    size_t n, wrap = strlen(WRAP);
    header += strspn(header, " \t");
    n = strlen(header);
    while (n > 0 && (header[n - 1] == ' ' || header[n - 1] == '\t'))
        n--;
    if (n >= wrap + 2 && strncmp(header, WRAP, wrap) == 0 &&
        strncmp(header + n - 2, "?=", 2) == 0)
        return is_base64_of(header + wrap, n - wrap - 2, text);
    return n == strlen(text) && strncmp(header, text, n) == 0;
}

static bool agrees(const char *header, const char *name, const char *text,
                   char why[160])
{
    if (header && is_value(header, text))
        return true;
    snprintf(why, 160, "the header %s %s", name,
             header ? "does not say what the request says" : "is required");
    return false;
}

bool headers_agree(const struct headers *headers, const char *method,
                   const struct value *params, char why[160])
{
    const struct value *meta = value_member(params, "_meta");
    const char *version = value_text(value_member(meta, META "protocolVersion"));
    const char *member = name_member(method);
    const char *name = member ? value_text(value_member(params, member)) : NULL;
    return agrees(headers->version, "MCP-Protocol-Version", version ? version : "",
                  why) &&
           agrees(headers->method, "Mcp-Method", method, why) &&
           (!name || agrees(headers->name, "Mcp-Name", name, why));
}
