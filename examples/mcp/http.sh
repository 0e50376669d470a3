#!/bin/sh
# Sends files of messages, a JSON message a line, to `cairn mcp --listen` over HTTP:
#
#   http.sh FILE...
#
# Each file is a session of its own: its first message is `initialize`, whose answer
# names the session; the others carry that name; at its end the session is deleted.
# What comes back is printed, a message a line. The server is started here, on a free
# port, and ended when all is done. Without curl $CAIRN_HTTP is the program that sends
# what it reads to a port of this machine (tests/tools/http.c).
set -eu
CAIRN=${CAIRN:-cairn}
here=$(mktemp -d)
server=
end() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$here"
}
trap end EXIT
trap 'exit 1' INT TERM

# The token lies in a file that only we can read, so it is in no list of processes.
"$CAIRN" mcp --listen 127.0.0.1:0 --token-file "$here/token" >"$here/url" 2>"$here/said" &
server=$!
until [ -s "$here/url" ]; do
    kill -0 "$server" 2>/dev/null || {
        cat "$here/said" >&2
        exit 1
    }
    sleep 0.05
done
url=$(cat "$here/url")
address=${url#http://}
address=${address%/mcp}

# What every request has; behind `initialize` also the session and the version.
begin_headers() {
    {
        printf 'Authorization: Bearer %s\n' "$(cat "$here/token")"
        printf 'Content-Type: application/json\n'
        printf 'Accept: application/json, text/event-stream\n'
    } >"$here/headers"
}

with_curl() { # METHOD
    curl -sS -X "$1" -H "@$here/headers" -D "$here/answered" --data-binary "@$here/body" \
        -o "$here/answer" "$url"
}

with_tool() { # METHOD
    {
        printf '%s /mcp HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n' "$1" "$address"
        printf 'Content-Length: %s\r\n' "$(wc -c <"$here/body" | tr -d ' ')"
        sed 's/$/\r/' "$here/headers"
        printf '\r\n'
        cat "$here/body"
    } >"$here/request"
    "$CAIRN_HTTP" "${address##*:}" <"$here/request" >"$here/all"
    sed '/^\r*$/q' "$here/all" >"$here/answered"
    # Sizes of chunks stand on lines of their own, which no message is.
    tr -d '\r' <"$here/all" | sed '1,/^$/d' | grep -vxE '[0-9A-Fa-f]{1,8}' >"$here/answer" || true
}

ask() { # METHOD
    : >"$here/answer"
    if [ -n "${CAIRN_HTTP-}" ]; then with_tool "$1"; else with_curl "$1"; fi
    code=$(sed -n '1s/^HTTP\/[0-9.]* \([0-9]*\).*/\1/p' "$here/answered")
    case $code in
    2??) ;;
    *)
        echo "the server answers $code: $(cat "$here/answer")" >&2
        exit 1
        ;;
    esac
    # An answer is a message, or a stream of events, whose data are messages.
    awk '{ sub(/^data: */, "") } /^\{/' "$here/answer"
}

for file; do
    begin_headers
    while IFS= read -r message; do
        printf '%s' "$message" >"$here/body"
        ask POST
        session=$(tr -d '\r' <"$here/answered" | sed -n 's/^[Mm]cp-[Ss]ession-[Ii]d: *//p')
        [ -z "$session" ] || {
            begin_headers
            printf 'Mcp-Session-Id: %s\nMCP-Protocol-Version: 2025-11-25\n' "$session" >>"$here/headers"
        }
    done <"$file"
    : >"$here/body"
    ask DELETE
done
