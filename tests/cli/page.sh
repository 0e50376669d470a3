# shellcheck shell=sh
# Pages of web/, held against what they may have; sourced behind tap.sh. And what somebody
# wrote to be seen by a browser as something else.

# Every tag of the page as a line "name attribute=value ...", and what is not closed.
tags() {
    awk 'BEGIN { RS = "<" } NR > 1 {
        end = index($0, ">"); tag = substr($0, 1, end - 1)
        if (end == 0) { print "UNCLOSED " $0; next }
        if (style && tag != "/style") next
        name = tag; sub(/[ \t\n].*/, "", name); style = name == "style"
        print tag
        if (name ~ /^\//) { if (open[depth--] != substr(name, 2)) print "MISPLACED " tag }
        else if (name !~ /^(!doctype|meta|link|input|br|img)$/ && tag !~ /\/$/) open[++depth] = name
    } END { if (depth) print "LEFT OPEN " open[depth] }' "$1"
}
known='!doctype|nav|link|html|head|meta|title|style|body|main|header|h1|h2|h3|small|p|dl|dt|dd|time|section|ul|ol|li|b|i|code|span|div|svg|g|a|br|form|input|button|textarea|label|select|option|path|rect|circle|line|text|table|thead|tbody|tr|th|td|pre|details|summary|footer|figure|figcaption|img|dialog|kbd'
shapes='class|inputmode|pattern|required|src|alt|rows|method|action|type|value|checked|selected|data-turn|rel|aria-current|id|href|width|height|viewBox|preserveAspectRatio|x|y|x1|x2|y1|y2|dx|rx|cx|cy|r|d|tabindex|role|aria-label|aria-labelledby|aria-hidden|scope|colspan|open|datetime|lang|charset|name|content|http-equiv|html'
# inert FILE [ERE]: only these tags and attributes; addresses within the page, which are
# there. With the ERE also addresses that fit it, and our own script.
inert() {
    tags "$1" >tags
    [ -z "${2-}" ] || sed -i -E '\:^script src="/page-[0-9a-f]{16}\.js" defer$:,\:^/script$:d' tags
    ! grep -E '^(UNCLOSED|MISPLACED|LEFT OPEN)' tags &&
        ! grep -vE "^/?($known)([ /]|\$)" tags &&
        ! sed -E 's/^[^ ]* ?//; s/="[^"]*"//g' tags | sed 's:[ /]:\n:g' |
            grep -vE "^($shapes)?\$" &&
        ! grep -oE ' action="[^"]*"' tags | grep -vE '"/(act|compare|search|sessions/[1-9][0-9]*/grep|runs/[1-9][0-9]*(/(tasks|log|audit))?|audit)"$' &&
        ! grep -oE '^img src="[^"]*"' tags | grep -vE '"/checkpoints/[1-9][0-9]*/picture[?]path=[A-Za-z0-9_.~%-]*"$' &&
        ! grep ' src="' tags | grep -v '^img ' &&
        ! grep -oE ' method="[^"]*"' tags | grep -vE '"(post|dialog)"$' &&
        ! grep -oE ' type="[^"]*"' tags | grep -vE '"(radio|search|text|hidden|checkbox)"$' &&
        ! grep -oE 'href="[^"]*"' tags | grep -vE "^href=\"(#|${2-none:})" &&
        grep -oE 'href="#[^"]*"' tags | sed 's/href="#//; s/"//' | sort -u >addresses &&
        grep -oE ' id="[^"]*"' tags | sed 's/ id="//; s/"//' | sort >ids &&
        [ -z "$(uniq -d ids)" ] && [ -z "$(comm -23 addresses ids)" ] &&
        ! LC_ALL=C grep -nP '[\x00-\x08\x0b-\x1f\x7f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]' "$1"
}

# A text a line; the last one is not UTF-8.
plant() {
    cat <<'END'
<script>alert(1)</script>
</style><script>alert(1)</script>
</title><script>alert(1)</script>
</pre></div></details><b onclick=alert(1)>
"><img src=x onerror=alert(1)>
'><svg/onload=alert(1)>
" onmouseover="alert(1)
javascript:alert(1)
<!-- --><![CDATA[<a href=javascript:alert(1)>x</a>]]>
&lt;script&gt;alert(1)&#60;/script&#62;&#x3c;b&#x3e;
<style>@import 'http://example.com/'</style><base href=//example.com>
<meta http-equiv=refresh content=0;url=http://example.com>
<iframe srcdoc='<script>alert(1)</script>'></iframe><math><mtext></mtext>
END
    printf 'rtl \342\200\256 \342\201\246 zero \342\200\213 line \342\200\250 esc \033[31m\033]0;x\007 c1 \302\205 bad \377 <\300\274b>\n'
}

# ---- Pages that are served ----

query='[?]([a-z]+=[A-Za-z0-9_.~%-]*(&amp;)?)+'
served="/((runs|checkpoints|sessions)/[1-9][0-9]*(/[a-z]+)?($query)?(#(L[0-9]+|graph))?|timeline($query)?|audit($query)?|compare($query)?|search($query)?|$query|page-[0-9a-f]{16}[.]css)?\""
serve() { # OPTION...
    : >url
    cairn web "$@" >url 2>web.err &
    server=$!
    ok 'it says where it is' wait_for 10 test -s url
    opened=$(cat url)
    port=${opened#http://127.0.0.1:}
    port=${port%%/*}
    opened=/open/${opened##*/open/}
}
stop() {
    kill "$server"
    wait "$server"
    status=$?
}
newest() { sed -n 's/.*for another one: .*\(\/open\/[0-9a-f]*\)$/\1/p' web.err | tail -n 1; }
# ask METHOD PATH [HEADER...]: with the cookie, unless a header of that name is given;
# `Name:` alone leaves it out. Files answer and body, $code.
build() {
    request="$1 $2 HTTP/1.1"
    shift 2
    {
        printf '%s\r\n' "$request"
        for usual in "Host: 127.0.0.1:$port" "Cookie: $cookie" 'Connection: close'; do
            case "
$*" in *"${usual%%:*}:"*) ;; *) printf '%s\r\n' "$usual" ;; esac
        done
        for header; do
            case $header in *:) ;; *) printf '%s\r\n' "$header" ;; esac
        done
        printf '\r\n'
    } >request
}
send() {
    "$BUILD/tests/tools/http" "$port" <request >answer
    code=$(sed -n '1s/^HTTP.1.1 \([0-9]*\).*/\1/p' answer)
    sed '1,/^.$/d' answer >body
}
ask() {
    build "$@"
    send
}
enter() { # a browser that has used the address
    cookie=none=
    ask GET "$opened"
    cookie=$(sed -n 's/^Set-Cookie: \([^;]*\);.*/\1/p' answer)
}
page() { # CODE PATH NAME: asks, and holds the page against what it may have
    ask GET "$2"
    is "$code" "$1" "$3"
    ok "$3: whole and inert" inert body "$served"
}
has() { ok "${2-it has: $1}" grep -qF -e "$1" body; }
# browse NAME STEP...: the steps in a browser (tests/tools/browser.mjs); 1 if there is none
browse() {
    if ! command -v chromium >/dev/null || ! node --experimental-websocket -e 'new WebSocket("ws://0")' 2>/dev/null; then
        skip "$1" 'there is no chromium, or no node with WebSocket'
        return 1
    fi
    shift
    exits 0 node --experimental-websocket "$TESTS/tools/browser.mjs" "http://127.0.0.1:$port$(newest)" \
        'document.title.startsWith("cairn: /")' "$@"
}

# ---- Forms ----

# post FIELDS [HEADER...]: a form, as a browser sends it
post() {
    fields=$1
    shift
    for usual in 'Content-Type: application/x-www-form-urlencoded' "Origin: http://127.0.0.1:$port"; do
        case " $*" in *"${usual%%:*}:"*) ;; *) set -- "$@" "$usual" ;; esac
    done
    build POST /act "Content-Length: ${#fields}" "$@"
    printf '%s' "$fields" >>request
    send
}
key() { sed -n 's/.*name="key" value="\([0-9a-f]*\)".*/\1/p' body | head -n 1; }
nonce() { sed -n 's/.*name="nonce" value="\([0-9a-f]*\)".*/\1/p' body | head -n 1; }
refused() { # CODE NAME FIELDS [HEADER...]
    wanted=$1 name=$2
    shift 2
    post "$@"
    is "$code" "$wanted" "$name"
}
