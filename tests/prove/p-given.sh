# shellcheck shell=sh disable=SC2154
# Secrets in every operand and option of every command, and in every text of every tool
# of `cairn mcp`, as help and tools list them: a new one is covered by itself. Then the
# store is searched, byte by byte and unpacked, for their values and encodings.
set -u
PATH=$BUILD/tests/tools:$PATH
mkdir plants template
printf 'pLanted-77/Value_of-A+secret' >plants/S00
export PLANTS="$PWD/plants"
S00=$(cat plants/S00)
export S00
unset CAIRN_SESSION CAIRN_STORE
tries=0 written=yes bad=0 refused=0 taken=0 commands=0 json=
fail() {
    bad=$((bad + 1))
    echo "# $*"
}

# ---- A store that has some of everything ----
cat >template/run.yaml <<'END'
name: flow
params: {p: plain}
secrets: [S00]
tasks:
  a: {run: 'echo ok; echo v=1 >>"$CAIRN_OUTPUT"', secrets: [S00]}
  ext: {external: do it}
END
cd template || exit 1
{
    cairn run run.yaml --no-wait -q
    cairn session start main
    cairn session config files .
    echo text >file
    cairn checkpoint create first
    echo more >>file
    cairn checkpoint create second
    for n in 1 2 3; do
        cairn hypothesis add "h $n"
        cairn evidence add h1 "e $n"
        cairn belief add "b $n"
        cairn gap add "g $n"
        cairn note add "n $n"
        cairn check add "k $n" --run true
        cairn exec -- true
    done
    cairn belief depend b1 b2
    echo hello | cairn session message add -
    cairn session start other
    cairn session switch main
    cairn branch start side
    cairn branch switch main
    cairn session export export.cairn
} >../made 2>&1 </dev/null
printf 'a text with %s in it\n' "$S00" >../leak.txt
cat >../leak.json <<END
{"session_id": "$S00", "hook_event_name": "UserPromptSubmit", "prompt": "of $S00", "tool_name": "$S00", "cwd": "$PWD", "source": "$S00"}
END
cd ..
coded=$(printf '{"n": 1, "token": "%s", "m": 2}' "$S00" | base64 -w 0)

# ---- What help lists ----
listed() {
    awk '/^commands:/ { on = 1; next } /^[a-z]/ { on = 0 }
        on && /^  [a-z]/ { print substr($0, 3, 23) }' | sed 's/ *$//'
}
{
    cairn help all | listed
    cairn help all | sed -n 's/^  \([a-z]*\) COMMAND .*/\1/p' | while read -r group; do
        cairn "$group" --help | listed
    done
} | sort -u >commands

# A word that fits where help has this one.
fits() { # COMMAND PLACEHOLDER
    case $2 in
    CHECKPOINT:PATH) echo 1:file ;;
    CHECKPOINT* | FROM) [ "$1" = 'belief depend' ] && echo b2 || echo 1 ;;
    TO) [ "$1" = 'belief depend' ] && echo b3 || echo 2 ;;
    HYPOTHESIS) echo h2 ;;
    ID*)
        case $1 in
        'belief undepend') echo d1 ;;
        check*) echo k2 ;;
        command*) echo c2 ;;
        *) printf '%.1s2\n' "$1" ;;
        esac ;;
    RUN) echo 1 ;;
    TASK*) case $1 in explain | log | shell | rerun | undo | values) echo a ;; *) echo ext ;; esac ;;
    FILE*)
        case $1 in
        'session import') echo export.cairn ;;
        'session message import') echo ../leak.json ;;
        'checkpoint export' | 'session export' | init) echo new.file ;;
        checkpoint*) echo file ;;
        *) echo run.yaml ;;
        esac ;;
    PATH*) echo file ;;
    NAME) case $1 in 'branch start' | 'session start') echo "name$tries" ;; 'session config') echo interval ;; values) echo v ;; *) echo side ;; esac ;;
    VALUE) echo 5m ;;
    SESSION) echo other ;;
    DIR) echo "dir$tries" ;;
    TEXT* | MESSAGE | LABEL | PATTERN | QUERY | COMMAND | CMD | ARG* | NUMBER | TIME* | CONFIDENCE)
        case $2 in NUMBER) echo 1 ;; TIME*) echo now ;; CONFIDENCE) echo 0.7 ;; CMD* | COMMAND) echo true ;; *) echo word ;; esac ;;
    -* | done*) printf '%s\n' "${2%%|*}" ;;
    *) return 1 ;;
    esac
}

lf='
'
# Words of which one may be replaced: COMMAND WORDS (one a line) N PLANTED
attempt() {
    tries=$((tries + 1))
    name=$1 words=$2 place=$3 planted=$4
    i=0 old=$IFS
    # shellcheck disable=SC2086 # words
    set -- $name
    [ "$((tries % 2))" -eq 0 ] || set -- "$@" ${json:+"$json"}
    IFS=$lf
    for word in $words; do
        i=$((i + 1))
        [ "$i" -ne "$place" ] || word=$planted
        set -- "$@" "$word"
    done
    IFS=$old
    input=../leak.txt
    [ "$name" != 'session hook' ] || input=../leak.json
    echo "$*" >>../tried
    timeout 10 cairn "$@" <"$input" >../said 2>&1
    case $(cat ../said) in
    *'the value of the secret S00 is in'*) refused=$((refused + 1)) ;;
    *'the value of the secret S00 was taken out of'*) taken=$((taken + 1)) ;;
    esac
    case $name:$(cat ../said) in
    # What a program prints, and the name of the file that was made.
    exec:* | init:*) ;;
    *"$S00"* | *"$coded"*) fail "a secret is printed by cairn $*: $(grep -aFm1 "$S00" ../said | cut -c 1-300)" ;;
    esac
}

plantings() { # PLACEHOLDER: what to put in its place, one a line
    case $1 in
    *=*) printf '%s\n' "k=x-$S00-y" "$S00=1" "p=$coded" ;;
    FILE*) printf '%s\n' ../leak.txt "x-$S00-y" ;;
    TEXT* | MESSAGE) printf '%s\n' "of $S00." - "$coded" ;;
    *) printf '%s\n' "x-$S00-y" ;;
    esac
    [ "$LEVEL" != full ] || printf '%s\n' "$S00" "$coded" "{\"a\": \"$S00\"}" - ../leak.txt "a,x-$S00-y"
}

plant_command() { # COMMAND
    eval "cairn $1 --help" >../help </dev/null
    line=$(sed -n "s/^usage: cairn $1//p" ../help | head -n 1 |
        sed 's/ \[OPTION\]\.\.\.//; s/ | .*//; s/-- \(C[A-Z]*\).*/-- \1/; s/\[:LINE]//; s/\.\.\.//g; s/[][]/ /g')
    base=''
    kinds=''
    for word in $line; do
        fits "$1" "$word" >../word || fail "no word for $word of cairn $1"
        base="$base$(cat ../word)$lf"
        kinds="$kinds $word"
    done
    case $1 in
    'check add') base="--run${lf}true$lf$base" kinds="- - $kinds" ;;
    'checkpoint bisect') base="--good${lf}1${lf}--bad${lf}2$lf$base" kinds="- - - - $kinds" ;;
    esac
    json=$(sed -n 's/^  *\(--json\) .*/\1/p' ../help | head -n 1)
    n=0
    for kind in $kinds; do
        n=$((n + 1))
        [ "${kind#-}" = "$kind" ] || continue
        plantings "$kind" >../plantings
        while IFS= read -r planted <&3; do
            attempt "$1" "$base" "$n" "$planted"
        done 3<../plantings
    done
    # Where the store and its key are is not stored.
    sed -nE 's/^  (-[a-zA-Z], )?--([a-z-]+)[ =]([^ ]+).*/\2 \3/p' ../help | grep -vE '^(store|key) ' >../options
    while read -r option kind <&4; do
        plantings "$kind" >../plantings
        while IFS= read -r planted <&3; do
            attempt "$1" "--$option$lf-$lf$base" 2 "$planted"
        done 3<../plantings
    done 4<../options
}

search_store() { # NAME: where anything was written
    for file in cairn.db cairn.db-wal; do
        cmp -s ".cairn/$file" "../template/.cairn/$file" || written=yes
    done
    [ "$written" ] || return 0
    timeout 20 cairn search -q anything >/dev/null 2>&1 </dev/null
    rm -rf ../unpacked
    mkdir ../unpacked
    plant unpack .cairn/cairn.db ../unpacked || fail "the store of $1 cannot be read"
    cairn session export --all ../unpacked/export -q >../said 2>&1
    if ! plant find "$PLANTS" .cairn ../unpacked >../found 2>&1; then
        fail "a secret is stored by cairn $1:"
        sed 's/^/#   /' ../found | head -n 5
        sed 's/^/#   cairn /' ../tried | tail -n 60
    fi
}

while IFS= read -r command <&5; do
    case $command in
    mcp | help | version) continue ;;
    esac
    commands=$((commands + 1))
    if [ "$written" ]; then
        rm -rf work
        cp -r template work
        : >tried
    fi
    written=
    cd work || exit 1
    plant_command "$command"
    search_store "$command"
    cd ..
done 5<commands
# ---- Every text of every tool ----
rm -rf work
cp -r template work
cd work || exit 1
hello='{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'
# shellcheck disable=SC2094 # it waits for what comes back
serve() { # ANSWERS <REQUESTS: until so many lines have come back
    : >../answers
    { cat; i=0
        while [ "$(wc -l <../answers)" -lt "$1" ] && [ $((i += 1)) -lt 300 ]; do sleep 0.2; done
    } | timeout 90 cairn mcp --tools all >../answers 2>/dev/null
}
printf '%s\n' "$hello" '{"jsonrpc":"2.0","id":"tools","method":"tools/list"}' | serve 2
sed -n 2p ../answers >../tools
json flat ../tools | awk -F '\t' -v secret="x-$S00-y" '
    function fits(t, name) {
        if ((t, name) in first) return "\"" first[t, name] "\""
        if (name ~ /^(run|seq|attempt|limit|number|page)$/) return "1"
        if (name == "task") return "\"ext\""
        if (name ~ /checkpoint|^(from|to|good|bad)/) return "\"1\""
        if (name ~ /^hypothesis/) return "\"h2\""
        if (name == "id") return "\"h2\""
        return "\"word\""
    }
    { at = $1; sub(/^\.result\.tools\[[0-9]+\]/, "", at); t = $1; sub(/^\.result\.tools\[/, "", t); sub(/\].*/, "", t) }
    at == ".name" { tool[t] = $2; n = t > n ? t : n }
    at ~ /^\.inputSchema\.properties\.[a-z_]*\.enum\[0\]$/ {
        sub(/^\.inputSchema\.properties\./, "", at); sub(/\.enum.*/, "", at); first[t, at] = $2
    }
    at ~ /^\.inputSchema\.required\[/ { need[t] = need[t] " " $2 }
    at ~ /^\.inputSchema\.properties\..*\.type$/ && $2 == "string" {
        sub(/^\.inputSchema\.properties\./, "", at); sub(/\.type$/, "", at); texts[t] = texts[t] " " at
    }
    END {
        for (t in tool) {
            k = split(texts[t], text, " "); m = split(need[t], needed, " ")
            for (i = 1; i <= k; i++) {
                name = text[i]; value = "\"" secret "\""
                if (name ~ /^(directory|project_path|store)$/) continue
                if (name ~ /\.items$/) { sub(/\.items$/, "", name); value = "[" value "]" }
                if (name ~ /\./) continue
                arguments = "\"" name "\":" value
                for (j = 1; j <= m; j++) if (needed[j] != name) arguments = arguments ",\"" needed[j] "\":" fits(t, needed[j])
                printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{%s}}}\n", ++id, tool[t], arguments
            }
        }
    }' >../calls
calls=$(wc -l <../calls)
cp ../calls ../tried
{ printf '%s\n' "$hello"; cat ../calls; } | serve $((calls + 1))
written=yes
search_store mcp
cd ..
said=$(grep -c 'the value of the secret S00' answers)
if grep -qF "$S00" answers; then
    fail "a secret is in $(grep -cF "$S00" answers) answers of tools:"
    grep -F "$S00" answers | cut -c 1-300 | sed 's/^/#   /' | head -n 20
fi
if [ "$calls" -le 100 ] || [ "$said" -le 10 ]; then
    fail "$calls calls of tools, $said answers name the secret: too few"
fi

if [ "$refused" -le 20 ] || [ "$taken" -le 20 ]; then
    fail "$refused refused, $taken taken out: too few"
fi
printf 'figure|G11|secrets in every operand and option of every command, and every text of every tool|%s commands, %s tries, %s refused, %s taken out, %s calls of tools|0|0|0|%s\n' \
    "$commands" "$tries" "$refused" "$taken" "$calls" "$bad"
[ "$bad" -eq 0 ]
