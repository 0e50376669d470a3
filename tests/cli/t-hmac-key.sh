# --key: what is stored carries an HMAC, and what somebody without the key has put there
# or changed is not believed, and named.
. "$TESTS/cli/tap.sh"
sql="$BUILD/tests/tools/sql"

cat >w.yaml <<'END'
name: w
params: {mode: good}
tasks:
  a: {run: "echo a >>ran; echo n=1 >>$CAIRN_OUTPUT"}
  b: {run: "echo \"b $mode\" >>ran; test -e go", needs: [a]}
  c: {run: "echo c >>ran", needs: [b]}
END
head -c 32 /dev/urandom >key
head -c 48 /dev/urandom >other
chmod 600 key other

# bytes HEX: writes them out.
bytes() {
    # shellcheck disable=SC2059
    env printf "$(printf '%s' "$1" | sed 's/../\\x&/g')"
}

# forge STORE FROM TO: in the newest record, changes the last bytes of its payload from
# FROM to TO (hex, of the same length) and makes its SHA-256 fit, as anybody who can
# write to the store could do.
forge() {
    forge_record=$("$sql" "$1/cairn.db" \
        'SELECT hex(record) FROM checkpoint ORDER BY seq DESC LIMIT 1')
    forge_keyed=$(printf '%s' "$forge_record" | cut -c17-18)
    forge_tail=
    if [ "$forge_keyed" = 01 ]; then
        forge_tail=$(printf '%s' "$forge_record" | tail -c 64)
        forge_record=${forge_record%"$forge_tail"}
    fi
    case $forge_record in
    *"$2") ;;
    *) echo "# the record does not end with $2: $forge_record" && return 1 ;;
    esac
    forge_record=${forge_record%"$2"}$3$forge_tail
    forge_digest=$(bytes "$forge_record" | sha256sum | cut -d' ' -f1)
    "$sql" "$1/cairn.db" "UPDATE checkpoint SET record = x'$forge_record',
        digest = x'$forge_digest' WHERE seq = (SELECT max(seq) FROM checkpoint)"
}

# ---- Key files ----

fails_with() { # TEXT, KEY: opening fails with 2 and says the text
    exits 2 cairn run w.yaml --key "$2"
    says "$1" "and says: $1"
    ok 'and no store was made' test ! -e .cairn
}
head -c 31 /dev/urandom >short
head -c 4097 /dev/urandom >long
cp key shared
chmod 600 short long
chmod 644 shared
mkfifo fifo
mkdir directory
fails_with 'has only 31 bytes' short
fails_with 'more than 4096 bytes' long
fails_with 'chmod 0600' shared
fails_with 'is not a file' fifo
fails_with 'is not a file' directory
exits 10 cairn run w.yaml --key nowhere
says 'no key file nowhere'
exits 2 cairn run w.yaml --key
ok 'none of them made a store' test ! -e .cairn
if [ "$(id -u)" != 0 ]; then
    cp key closed && chmod 0 closed
    exits 75 cairn run w.yaml --key closed
fi

# The newest record of the run: a has completed, b has failed, c was skipped. Forged: b
# has completed, c is pending.
failed=0102014300
completed=0101014000

# ---- Without a key: whoever can write to the store is believed ----

exits 1 cairn run w.yaml
ok 'a record is forged' forge .cairn $failed $completed
exits 0 cairn checkpoint verify
exits 0 cairn resume
is "$(grep -c '^b' ran)" 1 'without a key the forged record counts: b did not run again'
rm -rf .cairn ran

# ---- With a key ----

exits 1 cairn run w.yaml --key key
says 'cairn resume 1 --key key' 'what is suggested has the key, too'
cp -R .cairn kept
exits 0 cairn checkpoint verify --key key
exits 0 cairn checkpoint verify
says '5 HMACs were not checked: give the key with --key FILE'
exits 0 cairn checkpoint verify --json
is "$(json_get .unchecked_hmacs)" 5 'as JSON, too'
for command in status 'status --tasks' runs events 'checkpoint list' 'checkpoint show 5' \
    plan 'explain b' 'log b' graph; do
    # shellcheck disable=SC2086
    exits 0 cairn $command
    sed 's/ --key FILE//' out >out.none
    # shellcheck disable=SC2086
    exits 0 cairn $command --key key
    sed 's/ --key key//' out >out.keyed && mv out.keyed out
    ok "$command says the same with the key and without" cmp -s out out.none
done

# Writing needs the key.
cksum .cairn/cairn.db >before
for command in resume 'resume 1' 'run w.yaml'; do
    # shellcheck disable=SC2086
    exits 2 cairn $command
    says '--key' "$command without the key names the option"
done
cksum .cairn/cairn.db >after
ok 'nothing was written' cmp -s before after

# Whoever asks whether it can continue, or what would run, is told of the key, too.
exits 0 cairn status
says 'cairn resume 1 --key FILE' 'status names the option that resume wants'
exits 0 cairn status --key key
says 'cairn resume 1 --key key'
exits 2 cairn status --can-resume
says 'recorded with a key'
exits 2 cairn status --can-resume --json
is "$(json_get .can_resume) $(json_get .code)" 'false usage' 'as JSON, too'
exits 0 cairn status --can-resume --key key
exits 0 cairn plan
says 'recorded with a key' 'plan says so'
exits 2 cairn resume
says "cairn run $PWD/w.yaml --param mode=good --fresh" 'resume names the other way'

# Another key is none.
for command in status resume plan 'run w.yaml' 'status --can-resume' 'resume --from 5'; do
    # shellcheck disable=SC2086
    exits 5 cairn $command --key other
    says 'not of this key' "$command with another key says so"
done
exits 5 cairn checkpoint verify --key other
is "$(wc -l <out)" 1 'one line says that it is another key'
says 'no HMAC in the store is of this key'
says 'name the right key'
exits 5 cairn checkpoint show 5 --key other
exits 0 cairn runs --key other
matches ' -/3 ' 'a run that is not believed is listed without counts'
exits 0 cairn runs --key other --json
is "$(json_get '.runs[0].completed')" null 'as JSON, too'
# The environment names the file, the option comes first; tasks do not inherit it.
printf 'name: env\ntasks:\n  e: {run: "env >seen"}\n' >env.yaml
CAIRN_KEY=$PWD/key exits 0 cairn run env.yaml
run grep -c CAIRN_KEY seen
is "$status" 1 'CAIRN_KEY is not in the environment of a task'
CAIRN_KEY=$PWD/nowhere exits 0 cairn status --key key
CAIRN_KEY='' exits 0 cairn status
CAIRN_KEY=$PWD/other exits 5 cairn status
rm -rf .cairn
cp -R kept .cairn

# A forged record is named, and what only it recorded runs again.
ok 'the keyed record is forged' forge .cairn $failed $completed
exits 0 cairn checkpoint verify
exits 5 cairn checkpoint verify --key key
is "$(grep -c '^workflow:' out)" 1 'one record is named'
says 'its HMAC is not of this key: it was changed or forged'
says 'cairn checkpoint delete ID' 'verify says what takes it out'
exits 5 cairn checkpoint verify --key key --json
is "$(json_get '.problems[0].kind') $(json_get .bad_hmacs)" 'hmac 1' 'JSON tells it from damage'
exits 5 cairn checkpoint show 5 --key key
exits 5 cairn doctor --key key
says 'cairn checkpoint delete workflow:5-' 'so does the doctor'
ok 'and no repair is advised, which keeps it' sh -c '! grep -q "takes out" out'
exits 0 cairn doctor --repair --key key
cp -R .cairn forged
exits 0 cairn checkpoint delete 5 --yes --key key --store forged
exits 0 cairn checkpoint verify --key key --store forged
exits 10 cairn doctor --repair --key nowhere
says 'no key file nowhere' 'a key file is looked for even where none is needed'
touch go
: >ran
exits 0 cairn resume --key key
says 'checkpoint workflow:5 is damaged and was skipped: its HMAC is not of this key'
is "$(grep -c '^b' ran)" 1 'b runs, whatever the forged record said'
is "$(grep -c '^a' ran)" 0 'a, whose record is good, does not'
rm -rf .cairn go
cp -R kept .cairn

# So is one without an HMAC among keyed ones: what somebody without the key would add.
"$sql" .cairn/cairn.db 'SELECT hex(record) FROM checkpoint WHERE seq = 5' >hex
stripped=$(head -c -65 hex)
stripped=$(printf '%s' "$stripped" | sed 's/^\(.\{16\}\)01/\100/')
"$sql" .cairn/cairn.db "UPDATE checkpoint SET record = x'$stripped',
    digest = x'$(bytes "$stripped" | sha256sum | cut -d' ' -f1)' WHERE seq = 5"
exits 0 cairn checkpoint verify
exits 5 cairn checkpoint verify --key key
says 'it has no HMAC: it was written without the key'
exits 0 cairn status --key key
rm -rf .cairn
cp -R kept .cairn

# A flipped byte in the HMAC itself is damage for everybody: no byte is outside the hash.
"$sql" .cairn/cairn.db 'UPDATE checkpoint SET record = flip(record, length(record) - 5)
    WHERE seq = 3'
exits 5 cairn checkpoint verify
says 'its SHA-256 does not match'
rm -rf .cairn
cp -R kept .cairn

# The row of the run says with which file and which params it continues.
"$sql" .cairn/cairn.db "UPDATE run SET
    params_text = CAST(replace(params_text, 'good', 'evil') AS BLOB)"
for command in status resume 'plan --run 1'; do
    # shellcheck disable=SC2086
    exits 5 cairn $command --key key
    says 'its row was changed or forged' "$command with forged params says so"
done
exits 5 cairn checkpoint verify --key key
rm -rf .cairn
cp -R kept .cairn

# One whose checksum was made to fit, too: only the HMAC tells.
"$sql" .cairn/cairn.db "UPDATE run SET sum = CAST(substr(sum, 1, 8) ||
    flip(substr(sum, 9), 3) AS BLOB)"
exits 5 cairn status --key key
exits 5 cairn checkpoint verify --key key
says 'resume refuses the run' 'verify says what becomes of it'
exits 5 cairn doctor --key key
says 'cairn run FILE --fresh' 'the doctor says what helps'
ok 'and advises no repair' sh -c '! grep -q "takes out" out'
exits 5 cairn gc --key key
says 'without --key' 'gc says what helps'
exits 0 cairn gc
rm -rf .cairn
cp -R kept .cairn

# A row that has lost its HMAC: the records of the run betray it, with the key or without.
"$sql" .cairn/cairn.db 'UPDATE run SET sum = substr(sum, 1, 8)'
: >ran
for command in status 'status --can-resume' resume 'plan --run 1' 'run w.yaml' 'checkpoint head' \
    'checkpoint show 2' 'checkpoint list' 'log a'; do
    # shellcheck disable=SC2086
    exits 5 cairn $command --key key
    says 'row of run 1 has no HMAC' "$command says so"
done
for command in status resume; do
    exits 5 cairn $command
    says 'row of run 1 has no HMAC' "$command without the key says so, too"
done
ok 'nothing ran' test ! -s ran
exits 5 cairn checkpoint verify
says 'row of run 1 has no HMAC' 'verify without the key says so, too'
exits 0 cairn runs --key key
says '1 of 1 run' 'it is listed'
exits 5 cairn checkpoint verify --key key
says 'the row of its run has none any more'
rm -rf .cairn

# ---- Forks, steps of others, commands ----

cp -R kept .cairn
touch go
exits 0 cairn resume --from 3 --key key
exits 0 cairn checkpoint verify --key key
exits 5 cairn resume --from 3 --key other
# A fork is a run of its own: without the key it is one without.
exits 0 cairn resume --from 3
exits 0 cairn checkpoint verify --key key
says '1 run was recorded without a key'
exits 2 cairn status 3 --key key
rm -rf .cairn go

printf 'name: steps\ntasks:\n  e: {external: "do it"}\n  f: {run: "echo f >>ran.f", needs: [e]}\n' >steps.yaml
exits 7 cairn run steps.yaml --no-wait --key key
exits 0 cairn next
exits 0 cairn next --key key
for command in 'claim 1 e' 'complete 1 e' 'fail 1 e' 'cancel 1'; do
    # shellcheck disable=SC2086
    exits 2 cairn $command
    says '--key' "$command without the key names the option"
    ok 'and no other run, which would not help' sh -c '! grep -q fresh err'
    # shellcheck disable=SC2086
    exits 5 cairn $command --key other
done
exits 0 cairn claim 1 e --key key
token=$(cat out)
exits 6 cairn complete 1 e --key key
exits 0 cairn complete 1 e --token "$token" --key key
exits 0 cairn resume --key key
is "$(cat ran.f)" f 'a step of somebody with the key counts'
rm -rf .cairn ran.f

# ---- Runs from before there was a key ----

exits 1 cairn run w.yaml
exits 2 cairn resume --key key
says 'leave out --key' 'continuing a run without a key: what to do'
exits 2 cairn run w.yaml --key key
says "cairn run $PWD/w.yaml --param mode=good --fresh --key key"
exits 1 cairn run w.yaml --fresh --key key
exits 2 cairn status 1 --key key
exits 0 cairn status 2 --key key
exits 0 cairn runs --key key
says '2 of 2 runs' 'both are listed'
exits 0 cairn checkpoint verify --key key
says '1 run was recorded without a key: nothing proves who wrote it'
exits 0 cairn checkpoint verify --key key --json
is "$(json_get .unkeyed_runs)" 1 'as JSON, too'
# Its commands and claims have no HMAC, either: that is not damage.
exits 7 cairn run steps.yaml --no-wait
exits 0 cairn claim 3 e
exits 0 cairn cancel 3
exits 0 cairn checkpoint verify --key key
says '2 runs were recorded without a key'
# A claim of a keyed run that has none is named, and not as damage that a repair mends.
exits 7 cairn run steps.yaml --no-wait --fresh --key key
exits 0 cairn claim 4 e --key key
"$sql" .cairn/cairn.db 'UPDATE claim SET sum = substr(sum, 1, 8) WHERE run = 4'
exits 0 cairn checkpoint verify
exits 5 cairn checkpoint verify --key key
says 'the claim of run 4' 'a claim without an HMAC is named'
ok 'as void' grep -q 'does not count: it has no HMAC' out

done_testing
