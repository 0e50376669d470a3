#!/bin/sh
# What tests need, as make reads it: from their first lines and from their includes.
#
#   sh mk/needs.sh >build/needs.mk
#
# A program is linked with the objects of the headers in tests/ that it includes, also by
# way of others: X.h stands for X.c and X_*.c beside it, in
# tests/support and tests/sim. Lines `make: WORD...` at the top
# of a test, in a comment, say the rest:
#
#   above           includes headers of rooms above its own (tests/lint/layers.sh)
#   rooms           a tool: is linked with the rooms
#   wrap=CALL,...   has a __wrap_CALL, which stands between the library and the rest
#   with-command    is linked with the command, whose main is called cairn_main
#   only-x86_64     is built for that processor only
#   long            takes longest, so it begins first: else it would run alone at the end
#   not-quick       takes too long for `make quick`
#   tsan            uses threads: `make tsan` has it
#   not-valgrind    starts processes with a clone that shares memory, which memcheck does
#                   not follow, or is too much for it
#   sanitize        one of the scripts that continuous integration runs under sanitizers:
#                   those that together reach most branches of the command soonest
set -eu
files=$(find tests -name node_modules -prune -o -name mcp -prune -o \
    \( -name '*.[ch]' -o -name 't-*.sh' \) -print | LC_ALL=C sort)
# shellcheck disable=SC2086
{
    printf '%s\n' $files
    grep -E '^#include "tests/|^(/\*|#) make: ' $files
} | awk '
    # A file, or the folder whose files are one program.
    function unit(file,   part) {
        if (file ~ /^tests\/(crash|flow)\/.*[ch]$/ && split(file, part, "/"))
            return "tests/" part[2] "/" part[2]
        if (file ~ /^tests\/prove\//) sub(/\/[^\/]*$/, "", file)
        return file
    }
    function program(file) {
        sub(/^tests\/fuzz\//, "fuzz/", file)
        sub(/\.c$/, "", file)
        return "$(BUILD)/" file
    }
    # What FILE includes, and what the sources beside that include.
    function follow(file, of,   i, j, n, m, header, source) {
        n = split(includes[file], header, " ")
        for (i = 1; i <= n; i++) {
            if (seen[of, header[i]]++) continue
            follow(header[i], of)
            m = split(beside[substr(header[i], 1, length(header[i]) - 2)], source, " ")
            for (j = 1; j <= m; j++) {
                needed[of] = needed[of] " $(BUILD)/" substr(source[j], 1, length(source[j]) - 2) ".o"
                follow(source[j], of)
            }
        }
    }
    !/:/ {
        if (/^tests\/(support|sim)\/.*\.c$/ && !/\/check_[^\/]*$/)
            for (name = substr($0, 1, length($0) - 2); ; ) {
                beside[name] = beside[name] " " $0
                if (!sub(/_[^_\/]*$/, "", name)) break
            }
        next
    }
    {
        at = index($0, ":")
        file = substr($0, 1, at - 1)
        n = split(substr($0, at + 1), word, " ")
        if (word[1] == "#include") {
            gsub(/"/, "", word[2])
            includes[unit(file)] = includes[unit(file)] " " word[2]
            if (file ~ /\.c$/ && file !~ /^tests\/support\//) includers[unit(file)]
            next
        }
        for (i = 2; i <= n; i++)
            if (word[i] == "rooms")
                print program(unit(file)) ": $(BUILD)/internal.a"
            else if (sub(/^wrap=/, "", word[i])) {
                print "THOSE_wrap += " program(unit(file))
                gsub(/,/, " -Wl,--wrap=", word[i])
                print program(unit(file)) ": ALL_LDFLAGS += -Wl,--wrap=" word[i]
            } else if (word[i] !~ /^(make:|\*\/)$/)
                print "THOSE_" word[i] " += " (file ~ /\.sh$/ ? file : program(unit(file)))
    }
    END {
        for (file in includers) follow(file, program(file))
        for (of in needed) print of ":" needed[of]
    }'
