# shellcheck shell=sh disable=SC2154
# Secrets planted in every kind of thing that a search reads: in no answer, index or file.
# And what is deleted is in no file of the index any more.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION
db=$CAIRN_STORE/search.db
not() {
    ! "$@"
}
# Each thing gets a secret of its own, so that it is known which one was found: by its
# look, or the value of a variable that the session or a workflow calls a secret.
n=0
known() {
    n=$((n + 1))
    secret=$(printf 'ghp_%036d' "$n")
    echo "$secret" >>secrets
}
export NAMED=swordfish-swordfish-1 DECLARED=opensesame-opensesame-2
printf '%s\n%s\n' "$NAMED" "$DECLARED" >secrets

exits 0 cairn session start s
cairn session config redact NAMED >/dev/null 2>&1
cat >w.yaml <<'Y'
name: nightly
secrets: [DECLARED]
tasks:
  t: {secrets: [DECLARED], run: 'echo walrus $DECLARED; echo "walrus err $DECLARED" >&2'}
  bad: {secrets: [DECLARED], run: 'echo walrus $DECLARED; exit 3', needs: [t]}
Y
run cairn run w.yaml
is "$status" 1 'a run that prints its secret'
plant() { # NAME COMMAND... with SECRET in its words
    name=$1
    shift
    for value in known named declared; do
        case $value in
        known) known ;;
        named) secret=$NAMED ;;
        declared) secret=$DECLARED ;;
        esac
        for word; do
            shift
            set -- "$@" "$(printf %s "$word" | sed "s/SECRET/$secret/g")"
        done
        "$@" >planted.out 2>planted.err
        planted=$?
        # Put the word back for the next value.
        for word; do
            shift
            set -- "$@" "$(printf %s "$word" | sed "s/$secret/SECRET/g")"
        done
        ok "$name ($value) is stored, or refused with usage" test "$planted" -eq 0 -o "$planted" -eq 2
        [ "$name" = command ] || ok "$name ($value) is not repeated" not grep -qF "$secret" planted.out planted.err
    done
}
plant hypothesis cairn hypothesis add 'walrus hypothesis SECRET is it'
plant evidence cairn evidence add h1 'walrus evidence SECRET' --strength 0.3
plant belief cairn belief add 'walrus belief SECRET'
plant gap cairn gap add 'walrus gap SECRET'
plant note cairn note add 'walrus note SECRET' --tag walrus
plant check cairn check add 'walrus check SECRET' --run 'true'
plant command cairn exec -- sh -c 'echo walrus command SECRET'
plant checkpoint cairn checkpoint create 'walrus checkpoint SECRET' --summary 'in short SECRET' \
    --description 'at length SECRET' --context 'key=SECRET'
cairn checkpoint list --session s --json >list
id=$(json_get '.checkpoints[0].id' list)
plant 'note on a checkpoint' cairn checkpoint note "$id" 'walrus annotation SECRET'
known
exits 2 cairn checkpoint label "$id" "$secret"
exits 0 cairn checkpoint label "$id" walrus-label
plant message sh -c 'echo "walrus message SECRET" | cairn session message add -'
known
for secret in "$secret" "$NAMED" "$DECLARED"; do
    printf '{"role":"user","content":"walrus line %s"}\n' "$secret"
done >lines
cairn session message import lines >/dev/null 2>&1

# ---- Searched in every way ----
looked=0
: >answers
for section in sessions runs logs messages board files; do
    cairn search 'walrus is it' --in $section -k 100 --json >>answers 2>&1
    cairn search 'walrus is it' --in $section -k 100 >>answers 2>&1
done
while read -r secret; do
    cairn search "walrus" -k 100 --json >>answers 2>&1
    # The query itself is echoed: only what comes after it counts.
    cairn search "$secret" -k 100 --json 2>&1 | sed 's/^{"query":"[^"]*"//' >>answers
    looked=$((looked + 1))
done <secrets
ok 'many were looked for' test "$looked" -gt 10
found_in() { # any secret in these files?
    grep -aFf secrets "$@" >leaked 2>/dev/null
}
ok 'in no answer' not found_in answers
ok 'but the texts around them are' grep -q 'walrus' answers
ok 'marked where they were' grep -qF '[REDACTED]' answers
ok 'in no file of the store' not found_in -r "$CAIRN_STORE"
"$BUILD/tests/tools/sql" "$db" "SELECT group_concat(title || body, x'0a') FROM doc" >texts
ok 'in no text of the index' not found_in texts
ok 'which has many' grep -q walrus texts
"$BUILD/tests/tools/sql" "$db" "SELECT group_concat(hex(block)) FROM words_data" >hex
known=$(printf '%036d' 1)
ok 'nor in its lists of words' not grep -qi "$(printf %s "$known" | od -An -tx1 | tr -d ' \n')" hex

# ---- What is deleted is gone from the index and what lies beside it ----
exits 0 cairn checkpoint create 'about a narwhal' --summary 'narwhal in short'
gone=$(cat out)
exits 0 cairn search narwhal
ok 'it is in the index' grep -qai narwhal "$db"
exits 0 cairn checkpoint delete "$gone" --yes
for file in "$CAIRN_STORE"/search.*; do
    ok "not after it was deleted: ${file##*/}" not grep -qai narwhal "$file"
done
printf 'name: old\ntasks:\n  t: {run: echo capybara}\n' >old.yaml
cairn run old.yaml >/dev/null 2>&1
printf 'name: old\ntasks:\n  t: {run: echo other}\n' >old.yaml
cairn run old.yaml --fresh >/dev/null 2>&1
exits 0 cairn search capybara
ok 'a log is in the index' grep -qai capybara "$db"
exits 0 cairn gc --keep-runs 1
for file in "$CAIRN_STORE"/search.*; do
    ok "not after gc: ${file##*/}" not grep -qai capybara "$file"
done
done_testing
