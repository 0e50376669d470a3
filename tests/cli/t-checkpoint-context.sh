# The context of an agent that checkpoints keep: its parts and their limits, levels to go
# on from, thresholds, where git is, no secrets. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
repeat() { # N TEXT
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) printf "%s", text }'
}
checkpoints() { get .checkpoints cairn session show; }
made() { id=$(cat out); }

run cairn session start agent
unset API_TOKEN

# ---- Nothing unless something is given ----
exits 0 cairn checkpoint create plain
plain=$(cat out)
is "$(get .context cairn checkpoint show "$plain")" null 'a checkpoint without a context'
exits 10 cairn checkpoint resume "$plain"
says 'holds no context' 'nothing to continue from'
exits 10 cairn checkpoint resume
says 'no checkpoint with a context: `cairn checkpoint create --summary TEXT` makes one' 'nor in the session'

# ---- All of it (X-01, X-02) ----
cairn hypothesis add 'the cache is stale' >out 2>err
cairn session message add --role assistant 'I looked at the cache' >out 2>err
printf '{"open": ["a.c"]}\nsecond line\n' >state.txt
exits 0 cairn checkpoint create --summary 'The login is slow' --description 'Since the upgrade.
All hosts.' --context next='run the tests' --context error=timeout --state state.txt --tokens 1200 --tag one,two --json
json_ok 'what was made as JSON'
cp out made.json
id=$(json_get .id made.json)
is "$(json_get .made made.json) $(json_get .trigger made.json) $(json_get .session made.json) $(json_get '.tags[1]' made.json)" \
    'true manual agent two' 'how it was made'
is "$(json_get .message made.json)" 'The login is slow' 'the summary is the message'
is "$(json_get .context.summary made.json)" 'The login is slow' 'the summary'
is "$(json_get .context.description made.json)" 'Since the upgrade.\nAll hosts.' 'the description'
is "$(json_get '.context.pairs[0].key' made.json)=$(json_get '.context.pairs[0].value' made.json)" 'error=timeout' 'pairs, by key'
is "$(json_get '.context.pairs[1].value' made.json)" 'run the tests' 'the other one'
is "$(json_get .context.state made.json)" '{"open": ["a.c"]}\nsecond line\n' 'the full state'
# 17 + 29 + 4 + 13 + 5 + 7 + 30 = 105 bytes
is "$(json_get .context.tokens made.json) $(json_get .context.tokens_estimate made.json)" '1200 27' 'tokens: as given, and length / 4 rounded up (X-05)'
exits 0 cairn checkpoint show "$id" --json
is "$(json_get .context.description)" 'Since the upgrade.\nAll hosts.' 'another process has the same'
exits 0 cairn checkpoint show "$id"
matches '^summary +The login is slow$' 'and shows it'
matches '^ +All hosts\.$' 'line by line'
matches '^context +error=timeout$'
matches '^tokens +1200, as given; its texts are about 27 \(length / 4\)$'
exits 0 cairn checkpoint at "$id" --json
is "$(json_get .checkpoint.context.summary)" 'The login is slow' 'so does checkpoint at'
exits 0 cairn checkpoint create 'a message' --summary 'and a summary'
is "$(get .message cairn checkpoint show "$(cat out)")" 'a message' 'a message stays one'
exits 0 cairn checkpoint create --summary "$(repeat 90 ä)
more"
is "$(get .message cairn checkpoint show "$(cat out)")" "$(repeat 80 ä)..." 'of a long summary the first characters'
exits 2 cairn checkpoint create --description 'without a message'
says 'or --summary TEXT' 'one of the two is needed'

# ---- Levels (X-60 to X-63) ----
exits 0 cairn checkpoint resume "$id" --level summary
is "$(sed -n 1p out)" 'The login is slow' 'the summary'
is "$(wc -l <out)" 3 'and no more, but what it costs'
is "$(sed -n 3p out)" "$id: about 5 tokens (an estimate: length / 4); 1200 were given" '18 bytes are 5'
printf 'The login is slow\n\n---\nerror: timeout\nnext: run the tests\n' >wanted
exits 0 cairn checkpoint resume "$id" --level context
head -n 5 out >got
ok 'the context behind it' cmp wanted got
says "about $((($(wc -c <wanted) + 3) / 4)) tokens" 'the estimate is that of what is printed'
cp out context.out
exits 0 cairn checkpoint resume "$id"
ok 'it is what is printed by default (Q-17)' cmp out context.out
exits 0 cairn checkpoint resume "$id" --level full
for text in 'The login is slow' '## Description' 'All hosts.' '## Context' 'next: run the tests' '## State' '{"open": ["a.c"]}' \
    'second line' '## Board' 'the cache is stale' '## Last messages' '[assistant 1]' 'I looked at the cache'; do
    says "$text" "all of it has: $text"
done
head -n -2 out >body
is "$(sed -n '$s/.*about \([0-9]*\) tokens.*/\1/p' out)" "$((($(wc -c <body) + 3) / 4))" 'with its estimate'
cp body body.full
exits 0 cairn checkpoint resume "$id" --level full --json
json_ok 'as JSON'
is "$(json_get .tokens_estimate)" "$((($(wc -c <body.full) + 3) / 4))" 'the same estimate'
is "$(json_get .level) $(json_get .id) $(json_get .tokens)" "full $id 1200" 'of which one'
exits 0 cairn checkpoint resume "$id" --level summary --json
is "$(json_get .text)|$(json_get .description)|$(json_get .state)|$(json_get '.pairs[0].key')|$(json_get .tokens_estimate)" \
    'The login is slow\n|null|null||5' 'the summary alone'
exits 2 cairn checkpoint resume "$id" --level everything
says 'give one of summary|context|full' 'another level is refused with the list'
exits 0 cairn checkpoint resume "${id#debug:*-}"
ok 'by its digest, as other commands take it' cmp out context.out
seq=${id#debug:}
exits 0 cairn checkpoint resume "${seq%-*}"
ok 'and by its number' cmp out context.out
exits 10 cairn checkpoint resume 999999

# What is not there is said.
exits 0 cairn checkpoint create --summary 'only a summary'
short=$(cat out)
exits 10 cairn checkpoint resume "$short" --level full
says 'has no full state: there is --level summary, --level context' 'no full state (D-87)'
exits 0 cairn checkpoint resume
is "$(sed -n 1p out)" 'only a summary' 'without an id: the newest one that has a context'
exits 0 cairn checkpoint create later
exits 0 cairn checkpoint resume
is "$(sed -n 1p out)" 'only a summary' 'one without is not it'
exits 0 cairn checkpoint create m --context k=v
exits 10 cairn checkpoint resume --level summary
says 'has no summary: there is --level context' 'no summary'
exits 0 cairn checkpoint resume
is "$(sed -n '1,2p' out)" "$(printf -- '---\nk: v')" 'pairs without a summary'
exits 0 cairn checkpoint create m --tokens 5
exits 0 cairn checkpoint resume
is "$(sed -n 2p out)" 'k: v' 'a number alone is nothing to continue from'

# ---- Limits (X-03) ----
at() { # N OPTION TEXT: text of n characters is taken, of n + 1 not
    exits 0 cairn checkpoint create m "$2" "$(repeat "$1" "$3")"
    before=$(checkpoints)
    exits 2 cairn checkpoint create m "$2" "$(repeat $(($1 + 1)) "$3")"
    says "$(($1 + 1)) characters: it may have at most $1" "$2: what is wrong"
    is "$(checkpoints)" "$before" 'nothing was made'
}
at 500 --summary ä
at 10000 --description €
exits 0 cairn checkpoint create m --context "$(repeat 50 k)=$(repeat 500 v)"
exits 2 cairn checkpoint create m --context "$(repeat 51 k)=v"
exits 2 cairn checkpoint create m --context "k=$(repeat 501 v)"
says 'a value of the context has 501 characters' 'which one'
pairs() { # N: that many
    set --  "$1"
    pairs_n=$1
    set --
    while [ "$pairs_n" -gt 0 ]; do
        set -- "$@" --context "k$pairs_n=v"
        pairs_n=$((pairs_n - 1))
    done
    cairn checkpoint create m "$@"
}
exits 0 pairs 50
exits 2 pairs 51
says 'the context has 51 pairs: it may have at most 50' 'too many pairs'
tags() { # N: that many
    seq -f 'tag%g' "$1" | paste -sd,
}
exits 0 cairn checkpoint create --summary s --tag "$(tags 20)"
exits 2 cairn checkpoint create --summary s --tag "$(tags 21)"
says 'at most 20 tags' 'too many tags'
exits 0 cairn checkpoint create --summary s --tag "$(repeat 50 ä)"
exits 2 cairn checkpoint create --summary s --tag "$(repeat 51 ä)"
exits 0 cairn checkpoint create plain --tag "$(tags 64)"
head -c 1048576 /dev/zero | tr '\0' x >most
exits 0 cairn checkpoint create m --state most
is "$(get .context.tokens_estimate cairn checkpoint show "$(cat out)")" 262144 'a state of 1 MiB'
printf x >>most
exits 2 cairn checkpoint create m --state most
says 'most has more than 1 MiB' 'and not of more'
cairn checkpoint create m --state - <state.txt >out 2>err
is "$(get .context.state cairn checkpoint show "$(cat out)")" '{"open": ["a.c"]}\nsecond line\n' 'a state from stdin'
: >empty
printf 'a\0b' >binary
printf 'a\377b' >latin
for file in empty binary latin; do
    exits 2 cairn checkpoint create m --state $file
done
exits 10 cairn checkpoint create m --state missing
exits 75 cairn checkpoint create m --state .
exits 2 cairn checkpoint create m --summary ''
exits 2 cairn checkpoint create m --context =v
exits 2 cairn checkpoint create m --context novalue
exits 2 cairn checkpoint create - --state -
exits 2 cairn checkpoint create m --tokens 1099511627776
exits 0 cairn checkpoint create m --tokens 1099511627775

# ---- It is no state ----
exits 0 cairn note add changed
exits 0 cairn checkpoint create one --summary first
first=$(cat out)
before=$(checkpoints)
exits 0 cairn checkpoint create --trigger code-modified
says unchanged 'a context alone makes no automatic checkpoint'
is "$(checkpoints)" "$before" 'none was made'
exits 0 cairn checkpoint create --trigger compaction-warning --summary 'kept anyway'
is "$(checkpoints)" "$((before + 1))" 'but one that is given is never lost'
exits 0 cairn checkpoint create two --summary second --context k=v
second=$(cat out)
exits 0 cairn checkpoint diff "$first" "$second"
says '~ context    summary: first -> second' 'what differs'
says '~ context    context.k: - -> v'
exits 0 cairn checkpoint diff "$first" "$second" --json
is "$(json_get '.context[0].name') $(json_get '.context[0].before') $(json_get '.context[1].after') $(json_get .changed)" \
    'summary first v 0' 'as JSON'
exits 0 cairn checkpoint restore --yes "$first"
exits 0 cairn checkpoint resume
is "$(sed -n 1p out)" second 'a restore changes none of it'
exits 0 cairn session show --json
is "$(json_get .context.id) $(json_get .context.summary)" "$second second" 'the session offers the newest (X-54)'
exits 0 cairn session show
says "continue from   $second: second" 'so that a person sees it'

# ---- Thresholds (X-50 to X-52) ----
run cairn session start window
exits 0 cairn checkpoint create --threshold 0.1
says 'no checkpoint was made: no new threshold' 'below the first one'
exits 0 cairn checkpoint create --threshold 0.2499999
says 'no new threshold' 'just below it'
exits 0 cairn checkpoint create --threshold 0.25 --summary 'a quarter'
made
is "$(get .tags[2] cairn checkpoint show "$id") $(get .trigger cairn checkpoint show "$id")" \
    'auto-context-threshold-25 context-threshold' 'its tag and trigger (X-51)'
is "$(get .context.threshold cairn checkpoint show "$id") $(get .context.usage cairn checkpoint show "$id")" '25 0.25' 'threshold and usage'
exits 0 cairn checkpoint create --threshold 0.3
says 'no new threshold' 'each once'
exits 0 cairn checkpoint create --threshold 80% --json
is "$(json_get .message) $(json_get .context.threshold)" 'Auto: context threshold 75% 75' 'the highest of several'
exits 0 cairn checkpoint create --threshold 0.6 --json
is "$(json_get .made) $(json_get .why)" 'false no new threshold' 'those below are behind it'
run cairn checkpoint delete --yes "$(get '.checkpoints[0].id' cairn checkpoint list)"
exits 0 cairn checkpoint create --threshold 0.8
says 'no new threshold' 'also where that one was deleted'
exits 0 cairn session config context-threshold off
exits 0 cairn checkpoint create --threshold 0.95
says 'no checkpoint was made: off' 'it can be switched off'
exits 0 cairn session config context-threshold on
exits 0 cairn checkpoint create --threshold 0.95
made
is "$(get .context.threshold cairn checkpoint show "$id")" 90 'what was off was not crossed'
for usage in 0.1 0.3 0.5 0.75 0.9 1 0 100% 0.2 0.9; do
    cairn checkpoint create --threshold $usage
done >out 2>err
silent_on out
ok 'never more than four' test "$(checkpoints)" -le 4
exits 0 cairn checkpoint create by-hand --trigger manual --threshold 0.5
is "$(get .context.usage cairn checkpoint show "$(cat out)")" 0.5 'a manual one keeps the usage'
for usage in '' -1 1.01 101% nan 0x1 1e-1 . % 0.5x; do
    exits 2 cairn checkpoint create --threshold "$usage"
done
exits 2 cairn checkpoint create --trigger context-threshold
says 'needs the usage of the context' 'without a usage'
run cairn session start window-2
exits 0 cairn checkpoint create --threshold 1
made
is "$(get .context.threshold cairn checkpoint show "$id")" 90 'another session has its own'

# A copy of a state, in which a probe looks, has what the checkpoint has.
run cairn session start bisected
exits 0 cairn checkpoint create --summary good
good=$(cat out)
exits 0 cairn checkpoint create --threshold 0.5 --summary 'bad since'
first_bad=$(cat out)
exits 0 cairn checkpoint create --summary 'bad still'
exits 0 cairn checkpoint bisect --good "$good" --bad "$(cat out)" --json -- sh -c '! cairn checkpoint resume --level summary | grep -q ^bad'
is "$(json_get .first_bad)" "$first_bad" 'the first bad one by what was said of it'

# ---- Secrets (X-64) ----
run cairn session start secrets
key=sk-ant-api03-$(repeat 40 k)
token=ghp_$(printf '%036d' 9)
export API_TOKEN=planted-value-of-a-token DECLARED=declared-in-a-workflow
run cairn session config redact API_TOKEN
cat >flow.yaml <<'END'
name: flow
secrets: [DECLARED]
tasks: {a: {run: "true", secrets: [DECLARED]}}
END
run cairn run flow.yaml
printf 'state with %s and %s\n' "$API_TOKEN" "$DECLARED" >leak.txt
exits 0 cairn checkpoint create "msg $API_TOKEN" --summary "sum $token" --description "about $DECLARED" \
    --context "plain=$key"
made
for text in 'the message' 'the summary' 'the description'; do
    ok "reported: $text" grep -q "taken out of $text before" err
done
exits 0 cairn checkpoint show "$id" --json
is "$(json_get .message)|$(json_get .context.summary)|$(json_get .context.description)" \
    'msg [REDACTED]|sum [REDACTED]|about [REDACTED]' 'taken out of the texts'
is "$(json_get '.context.pairs[0].value')" '[REDACTED]' 'of values'
exits 2 cairn checkpoint create m --context "key-$API_TOKEN=value"
says 'the value of the secret API_TOKEN is in a key of the context, at byte 4' 'a key'
exits 2 cairn checkpoint create m --tag "tag-$token"
says 'at byte 4 of a tag looks like a secret' 'a tag'
exits 2 cairn checkpoint create m --state leak.txt
says 'the value of the secret API_TOKEN is in the state, at byte 11' 'a state'
exits 2 sh -c 'echo "state $1" | cairn checkpoint create m --state -' sh "$token"
says 'at byte 6 of the state looks like a secret' 'a state with what looks like a secret'
exits 0 cairn checkpoint resume "$id" --level context
exits 0 cairn checkpoint create --summary "$API_TOKEN is the summary"
exits 0 cairn checkpoint create "alone $API_TOKEN"
run cairn session export --all session.cairn
ok 'none is in store or export' sh -c '! grep -rqa -e planted-value -e declared-in -e ghp_0000 -e sk-ant .cairn session.cairn out err'
exits 0 env API_TOKEN=abc cairn session config redact API_TOKEN
exits 2 env API_TOKEN=abc cairn checkpoint create --summary s
exits 0 env API_TOKEN=abc cairn checkpoint create plain
unset API_TOKEN DECLARED

# ---- Where git is (X-04) ----
run cairn session start git
a=$(repeat 40 a)
mkdir -p .git/refs/heads
echo 'ref: refs/heads/main' >.git/HEAD
exits 0 cairn checkpoint create empty --json
is "$(json_get .context.git_branch) $(json_get .context.git_commit)" 'main null' 'a repository without a commit'
echo "$a" >.git/refs/heads/main
exits 0 cairn note add one
exits 0 cairn checkpoint create --trigger code-modified --json
is "$(json_get .context.git_branch) $(json_get .context.git_commit)" "main $a" 'branch and commit, of an automatic one, too'
exits 0 cairn checkpoint show "$(json_get .id)"
matches "^git +main, commit $a\$" 'shown'
echo "$a" >.git/HEAD
exits 0 cairn checkpoint create --summary detached
made
is "$(get .context.git_branch cairn checkpoint show "$id")" null 'no branch where HEAD is on none'
exits 0 cairn checkpoint resume
is "$(sed -n '$!p' out | tail -n 2 | head -n 1)" "git: no branch $a" 'what an agent reads has it'
exits 10 cairn checkpoint resume "$(get '.checkpoints[1].id' cairn checkpoint list)" --level summary
says 'has no summary: it has none of the levels' 'git alone is no level'
mkdir deep
exits 0 sh -c 'cd deep && exec cairn checkpoint create from-below --json'
is "$(json_get .context.git_commit)" "$a" 'the directory of the project counts'
rm -rf .git
exits 0 cairn checkpoint create gone --json
is "$(json_get .context)" null 'no repository: nothing'
if command -v git >/dev/null; then
    git init -q . 2>/dev/null
    git checkout -q -b topic/one 2>/dev/null
    git -c user.name=t -c user.email=t@t commit -q --allow-empty -m first
    exits 0 cairn checkpoint create real --json
    is "$(json_get .context.git_branch) $(json_get .context.git_commit)" "topic/one $(git rev-parse HEAD)" 'as git says'
    git pack-refs --all
    exits 0 cairn checkpoint create packed --json
    is "$(json_get .context.git_commit)" "$(git rev-parse HEAD)" 'packed'
    rm -rf .git
else
    skip 'a repository that git made' 'git is not here'
fi

# ---- It goes with the session ----
run cairn session start last
exits 0 cairn checkpoint create --summary 'travels along' --context k=v --state state.txt
exits 0 cairn session export last.cairn
mkdir other
exits 0 cairn --store other/.cairn session start first
exits 0 cairn --store other/.cairn checkpoint create newer --session first
exits 0 cairn --store other/.cairn session import last.cairn
exits 0 cairn --store other/.cairn checkpoint resume --session last
is "$(sed -n 1p out)" 'travels along' 'an import has it'

# ---- Lists (X-30 to X-32) ----
other() {
    cairn --store other/.cairn "$@"
}
ids() { # what the list says, by number alone
    other checkpoint list --json "$@" >doc.json 2>list.err
    "$BUILD/tests/tools/json" flat doc.json | awk -F '\t' '$1 ~ /^\.checkpoints\[[0-9]*\]\.seq$/ { printf "%s%s", sep, $2; sep = " " }'
}
is "$(ids) $(json_get .total doc.json)" '2 1 2' 'newest first, by number'
is "$(ids --sort seq)" '1 2' 'the other way round'
is "$(ids --sort -created)" '1 2' 'by time: what was imported is as old as it was'
is "$(ids --sort created) $(json_get .total doc.json)" '2 1 2' 'the other way round'
is "$(ids --sort created --limit 1 --offset 1) $(json_get .total doc.json)" '1 2' 'a page, and the exact total'
is "$(ids --sort created --offset 2) $(json_get .total doc.json)" ' 2' 'none behind the last one'
exits 2 other checkpoint list --sort updated
exits 0 other session switch first
exits 0 other checkpoint create --threshold 0.5
exits 0 other checkpoint create --threshold 0.9
is "$(ids --auto-only) $(json_get .total doc.json)" '4 3 2' 'only what was made by a trigger'
is "$(ids --auto-only --sort created --limit 1 --offset 1) $(json_get .total doc.json)" '4 2' 'with all else'
is "$(ids --auto-only --session last) $(json_get .total doc.json)" ' 0' 'of a session that has none'
exits 2 other checkpoint list --auto-only --workflow flow
i=4
while [ $i -lt 250 ]; do
    i=$((i + 1))
    other checkpoint create "number $i" || break
done >out 2>err
for sort in -seq -created; do
    for offset in 0 100 200; do
        ids --limit 100 --offset $offset --sort $sort
        echo
    done | tr ' ' '\n' >pages
    is "$(wc -l <pages) $(sort -n pages | uniq | wc -l) $(json_get .total doc.json)" '250 250 250' "pages of 100 cover each once ($sort)"
done
is "$(head -n 3 pages | tr '\n' ' ')" '250 249 248 ' 'newest first'
exits 2 other checkpoint list --limit 101

# ---- Damage is found ----
exits 0 cairn checkpoint verify
damaged=$(get '.checkpoints[0].id' cairn checkpoint list --session last)
"$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE object SET data = CAST(substr(data, 1, length(data) - 1) || x'55' AS BLOB)
    WHERE rowid = (SELECT max(rowid) FROM object)"
exits 5 cairn checkpoint resume
says "checkpoint ${damaged%-*}: " 'which checkpoint'
exits 5 cairn checkpoint show "$damaged"
exits 5 cairn checkpoint restore --yes "$damaged"
exits 5 cairn checkpoint verify
# Whatever is damaged: the error is a document, also where a text was begun.
CAIRN_STORE=$PWD/broken
exits 0 cairn session start broken
exits 0 cairn hypothesis add 'to be damaged'
echo '{"a": 1}' | cairn checkpoint create --summary s --state - >out 2>err
broken=$(cat out)
cp "$CAIRN_STORE/cairn.db" whole.db
without=0
for row in $("$BUILD/tests/tools/sql" "$CAIRN_STORE/cairn.db" 'SELECT rowid FROM object'); do
    "$BUILD/tests/tools/sql" "$CAIRN_STORE/cairn.db" "UPDATE object SET data = CAST(substr(data, 1, length(data) - 1) || x'55' AS BLOB)
        WHERE rowid = $row"
    run cairn checkpoint resume "$broken" --level full --json
    [ "$status" -eq 0 ] || [ -n "$(json_get .error.text)" ] || without=$((without + 1))
    cp whole.db "$CAIRN_STORE/cairn.db"
    rm -f "$CAIRN_STORE/cairn.db-wal" "$CAIRN_STORE/cairn.db-shm"
done
is "$without" 0 'no error is without a document'
done_testing
