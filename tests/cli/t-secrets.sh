# make: sanitize
# Secrets: 50 of many shapes through every path. Tasks get them as they are; nothing that
# cairn stores or prints has one, in any form.
. "$TESTS/cli/tap.sh"
PATH="$BUILD/tests/tools:$PATH"
export PLANTS="$PWD/plants" # not in the store: its files hold the values
seed=${SEED:-$(date +%s)}
echo "# SEED=$seed"
mkdir plants all
plant make plants 50 "$seed"
names=$(cd plants && echo S* | tr ' ' ',')

said=0
planted() { # WANTED-STATUS COMMAND...: with the secrets; keeps all that is printed
    tap_planted=$1
    shift
    exits "$tap_planted" plant with plants "$@"
    keep
}
bare() { # the same without them
    exits "$@"
    keep
}
keep() {
    said=$((said + 1))
    cp out "all/$said.out"
    cp err "all/$said.err"
}
nothing_in() { # NAME FILE...
    tap_name=$1
    shift
    run plant find plants "$@"
    if [ "$status" = 0 ] && ! grep -q '^0 bytes' err; then
        tap_report ok "$tap_name"
    else
        tap_report 'not ok' "$tap_name (SEED=$seed)"
        tap_context
    fi
}
# The store byte by byte, and what its tables hold, unpacked.
nothing_in_store() { # NAME [STORE]
    rm -rf unpacked
    mkdir unpacked
    nothing_in "$1" "${2:-.cairn}"
    ok "$1: the tables can be read" plant unpack "${2:-.cairn}/cairn.db" unpacked
    nothing_in "$1, unpacked" unpacked
}
reason() { # TASK
    "$BUILD/tests/tools/json" flat out | awk -F '\t' -v task="$1" '
        $1 ~ /^\.decisions\[[0-9]+\]\.task$/ { mine = $2 == task }
        $1 ~ /^\.decisions\[[0-9]+\]\.reason$/ && mine { print $2; exit }'
}

# ---- The search finds what is there ----
# The same values in variables that are not secret: they are stored and shown.
cat >leak.yaml <<'END'
name: leak
tasks:
  raw: {run: 'plant print "$PLANTS" raw; plant print "$PLANTS" values >>"$CAIRN_OUTPUT"'}
  base64: {run: 'plant print "$PLANTS" base64'}
END
run plant with plants cairn run leak.yaml --store leak
is "$status" 0 'values that are no secrets are printed'
mkdir leaked
plant unpack leak/cairn.db leaked
is "$(plant find plants leaked 2>err | cut -d ' ' -f 1 | sort -u | wc -l)" 50 'and all are found'
rm -rf leaked/*/*
plant with plants plant print plants base64 >leaked/base64
is "$(plant find plants leaked 2>err | grep -c 64)" 50 'in base64, too'
rm -rf leak leaked

# ---- Every path of a run that goes well ----
cat >flow.yaml <<END
name: flow
secrets: [$names]
tasks:
  have: {secrets: [$names], run: 'plant have "\$PLANTS"'}
  some: {secrets: [S07, S09], run: 'plant none "\$PLANTS" S07 S09; test -n "\$S07\$S09"; ! env | grep -q ^S08='}
  none: {run: 'plant none "\$PLANTS"'}
  argv:
    secrets: [$names]
    run: 'cat /proc/[0-9]*/cmdline >argv 2>/dev/null || true; plant find "\$PLANTS" argv >argv.found'
  raw: {secrets: [$names], stderr: apart, run: 'plant print "\$PLANTS" raw; plant print "\$PLANTS" raw >&2'}
  base64: {secrets: [$names], run: 'plant print "\$PLANTS" base64; printf %s "\$S09" | base64 -w 0 >&2'}
  percent: {secrets: [$names], run: 'plant print "\$PLANTS" percent; plant print "\$PLANTS" percent >&2'}
  bytes: {secrets: [$names], run: 'plant print "\$PLANTS" bytes; plant print "\$PLANTS" halves >&2'}
  mixed:
    secrets: [$names]
    run: 'plant print "\$PLANTS" raw | tr -d "\n"; plant print "\$PLANTS" halves | dd bs=7 2>/dev/null'
  values:
    secrets: [$names]
    run: 'plant print "\$PLANTS" values >>"\$CAIRN_OUTPUT"; printf "pair=%s%s\n" "\$S00" "\$S09" >>"\$CAIRN_OUTPUT"'
  reader:
    needs: values
    env: {V: '\${{ tasks.values.outputs.k09 }}\${{ tasks.values.outputs.pair }}'}
    run: 'printf "%s\n" "\$V"'
  gated:
    secrets: [$names]
    run: ':'
    check: 'plant print "\$PLANTS" raw; plant print "\$PLANTS" raw >&2; printf "{\"confidence\": 0.75, \"why\": \"%s\"}\n" "\$S09"'
finally:
  last: {secrets: [S00, S09], run: 'echo "\$S00"; echo "\$S09" >&2; echo "v=\$S09" >>"\$CAIRN_OUTPUT"'}
END
planted 0 cairn run flow.yaml
is "$(cat argv.found)" '' 'no process had a secret among its arguments'
ok 'the arguments of processes were seen' grep -q plant argv
for task in have some none argv raw base64 percent bytes mixed values reader gated last; do
    bare 0 cairn log $task
    bare 0 cairn log $task --json
    planted 0 cairn explain $task --json
done
bare 0 cairn log raw
is "$(grep -c 'k[0-9][0-9]=.*\[REDACTED\]' out)" 50 'what stood there is told'
is "$(grep -c 'k[0-9][0-9]=.*\[REDACTED\]' err)" 50 'on stderr, too'
bare 0 cairn log percent
ok 'in one log, too' test "$(grep -c 'REDACTED' out)" -ge 100
bare 0 cairn explain gated
says 'check warns' 'the check was heard'
bare 0 cairn log reader
matches '^(\[REDACTED\])+$' 'a value that was a secret is none'
for json in '' --json; do
    # shellcheck disable=SC2086
    for command in status 'status --tasks' 'plan --all' events runs 'explain raw' 'checkpoint list'; do
        bare 0 cairn $command $json
        planted 0 cairn $command $json
    done
done
nothing_in 'no output of any command has a secret' all
nothing_in_store 'no file of the store has one'

# ---- What fails ----
cat >fails.yaml <<END
name: fails
secrets: [$names]
on_failure: {undo: all}
tasks:
  start:
    secrets: [$names]
    run: 'plant print "\$PLANTS" values >>"\$CAIRN_OUTPUT"'
    undo: 'plant print "\$PLANTS" raw; plant print "\$PLANTS" base64 >&2; echo "\$S00" >>"\$CAIRN_OUTPUT"'
  printed:
    secrets: [$names]
    run: 'plant print "\$PLANTS" raw; plant print "\$PLANTS" halves >&2; exit 3'
    undo: 'plant print "\$PLANTS" raw >&2; echo "\$S09" >&2; exit 4'
  command: {secrets: [$names], run: '"./no-such-\$S00" || "\$S09"'}
  directory: {secrets: [$names], run: 'cd "/nonexistent/\$S25"'}
  values: {secrets: [$names], run: 'printf "%s\n" "\$S09" >>"\$CAIRN_OUTPUT"'}
  cwd: {needs: start, cwd: '\${{ tasks.start.outputs.k25 }}', run: ':'}
  exec: {needs: start, exec: ['./\${{ tasks.start.outputs.k02 }}']}
  condition: {needs: start, if: tasks.start.outputs.k09 > 0, run: ':'}
  input: {needs: start, inputs: '\${{ tasks.start.outputs.k02 }}', run: ':'}
  output: {needs: start, outputs: '\${{ tasks.start.outputs.k02 }}', run: ':'}
  check: {secrets: [$names], run: ':', check: 'plant print "\$PLANTS" raw; printf "%s" "\$S09" >&2; exit 5'}
  confidence: {secrets: [$names], run: ':', check: 'printf "{\"confidence\": \"%s\"}" "\$S00"'}
  slow: {secrets: [$names], timeout: {after: 300ms, grace: 100ms}, run: 'plant half "\$PLANTS"; sleep 60 & wait'}
  again: {secrets: [$names], retries: 1, run: 'plant print "\$PLANTS" raw >&2; exit 6'}
END
sed -e '/^on_failure/d' -e 's/^name: .*/name: all/' -e '/^secrets/a on_failure: continue' fails.yaml >all.yaml
planted 1 cairn run all.yaml
cp err all.err
for task in printed command directory values cwd exec condition input output check confidence slow again; do
    ok "$task failed" grep -q "^FAILED $task " all.err
    bare 0 cairn log $task
done
planted 0 cairn plan
planted 0 cairn explain condition
bare 0 cairn explain command
planted 1 cairn resume --json
nothing_in_store 'nor after failures'
planted 1 cairn run fails.yaml --json -j 1
bare 0 cairn status
bare 0 cairn events --json
bare 0 cairn log start
nothing_in 'no output of a command after a failure or an undo has a secret' all
nothing_in_store 'nor does the store after undo'

# ---- cairn dies while a secret is half written ----
cat >crash.yaml <<END
name: crash
secrets: [$names]
tasks:
  half:
    secrets: [$names]
    run: |
      plant half "\$PLANTS"
      plant half "\$PLANTS" >&2
      [ -e again ] || { touch at-half; while :; do sleep 0.02; done; }
      plant print "\$PLANTS" raw
END
plant with plants cairn run crash.yaml >crash.out 2>crash.err &
pid=$!
ok 'a secret is half written' wait_for 20 test -e at-half
nothing_in 'the files of a live run have none' .cairn
for command in 'status --tasks' 'log half' events 'status --waiting'; do
    # shellcheck disable=SC2086
    run cairn $command
    keep
done
kill -KILL $pid
wait $pid 2>/dev/null
touch again
nothing_in_store 'nor does what a killed cairn left'
bare 0 cairn log half
planted 0 cairn resume --json
bare 0 cairn log half
nothing_in 'nor did any command say one' all crash.out crash.err
nothing_in_store 'nor is one there after the resume'

# ---- Steps that somebody else does ----
if cairn help complete >/dev/null 2>&1; then
    cat >steps.yaml <<END
name: steps
secrets: [$names]
on_failure: continue
tasks:
  use: {secrets: [S00, S09, S18], run: ':'}
  given: {external: 'say something'}
  refused: {external: 'say no'}
  after: {needs: given, run: 'echo "\$V"', env: {V: '\${{ tasks.given.outputs.v }}'}}
END
    planted 7 cairn run steps.yaml --no-wait
    cairn status --json >out
    number=$(json_get .run)
    # The shell has the secrets of the environment it is run in.
    # shellcheck disable=SC2016
    planted 0 sh -c 'cairn complete "$1" given --output "v=$S09" --output "w=$S00$S18"' - "$number"
    # shellcheck disable=SC2016
    planted 0 sh -c 'cairn fail "$1" refused --message "no: $S09 and $S18"' - "$number"
    planted 1 cairn resume --no-wait
    bare 0 cairn log after
    says '[REDACTED]' 'a secret given as a value is none'
    bare 0 cairn events --json
    bare 0 cairn explain refused
    says 'no: [REDACTED] and [REDACTED]' 'nor is one in a message'
    nothing_in 'no command about steps said one' all
    nothing_in_store 'nor is one stored'
else
    skip 'secrets given to complete and fail' 'there is no such command yet'
fi

# ---- A secret that changed ----
planted 0 cairn resume 1
says 'nothing to do' 'the same secrets: nothing to do'
mkdir old
cp plants/S07 old/S00
printf 'another value, %s\n' "$seed" >plants/S07
planted 0 cairn explain some --run 1
says 'S07' 'explain names the secret that changed'
matches 'will run' 'and says what follows'
planted 0 cairn explain some --run 1 --json
is "$(json_get .reason)" secret 'so does its JSON'
planted 0 cairn plan --run 1 --json
is "$(reason none)" '' 'a task that does not list it does not run again'
is "$(reason raw)" secret 'one that lists it does'
nothing_in 'neither says its value' all
run plant find old all
is "$status" 0 'nor its old one'
bare 0 cairn plan --run 1
says 'secret' 'plan without the secrets says that it cannot tell'
planted 0 cairn resume 1
planted 0 cairn resume 1
says 'nothing to do' 'then they are known'

# ---- Refused ----
cat >small.yaml <<'END'
name: small
secrets: [TOKEN, OTHER]
tasks:
  a: {run: 'touch ran', secrets: [TOKEN]}
END
bare 2 cairn run small.yaml
says TOKEN 'a secret that is missing is named'
says environment 'and where it would come from'
bare 2 env TOKEN= cairn run small.yaml
says TOKEN 'an empty one is refused'
bare 2 env TOKEN=xy9Qz cairn run small.yaml
says '6 bytes' 'one of five bytes too'
is "$(cat out err | grep -c xy9Qz)" 0 'without saying it'
bare 2 env TOKEN=sixsix OTHER=short cairn run small.yaml
says OTHER 'also if no task lists it'
ok 'and nothing ran' test ! -e ran
bare 0 env TOKEN=sixsix cairn run small.yaml
ok 'six bytes are enough, and what no task lists is not needed' test -e ran
bare 0 cairn plan small.yaml
bare 0 cairn validate small.yaml

# From a descriptor: before the environment, and not in cairn's own.
if cairn run --help | grep -q secrets-fd; then
    cat >fd.yaml <<'END'
name: fd
secrets: [TOKEN, OTHER]
tasks:
  a: {run: 'test "$TOKEN, $OTHER" = "$(cat wanted)"; echo "$TOKEN, $OTHER"', secrets: [TOKEN, OTHER]}
END
    printf 'TOKEN=of the descriptor=1\n' >given
    echo 'of the descriptor=1, of the caller' >wanted
    # shellcheck disable=SC2016
    bare 0 env TOKEN=wrong-one OTHER='of the caller' sh -c 'cairn run fd.yaml --secrets-fd 5 5<given'
    bare 0 cairn log a
    is "$(cat out)" '[REDACTED], [REDACTED]' 'both are taken out'
    for text in 'TOKEN=sh0rt' 'TOKEN with a value' '=of-nobody' 'OTHER=but-not-TOKEN'; do
        printf '%s\n' "$text" >given
        bare 2 sh -c 'cairn run fd.yaml --fresh --secrets-fd 5 5<given'
        is "$(cat out err | grep -c "${text#*[= ]}\|of-nobody")" 0 'nothing of it is said'
    done
    printf 'TOKEN=with a \000 in it\n' >given
    bare 2 sh -c 'cairn run fd.yaml --fresh --secrets-fd 5 5<given'
    says NUL 'a NUL byte is refused'
    bare 2 sh -c 'cairn run fd.yaml --fresh --secrets-fd 5 5<&-'
    says descriptor 'a descriptor that is not open, too'
else
    skip 'secrets from a descriptor' 'there is no --secrets-fd yet'
fi

# What cannot be: in ${{ }}, in names, listed but not declared.
refused() { # NAME, the end of a workflow file
    printf 'name: r\nsecrets: [TOKEN]\n%s\n' "$2" >r.yaml
    bare 3 env TOKEN=sixsix cairn run r.yaml
    matches 'TOKEN|the value of a secret is in the workflow' "$1: what is wrong is named"
}
# shellcheck disable=SC2016
{
    refused 'in an argument' 'tasks: {a: {exec: [echo, "${{ secrets.TOKEN }}"]}}'
    refused 'as a variable' 'tasks: {a: {secrets: [TOKEN], exec: [echo, "${{ env.TOKEN }}"]}}'
    refused 'named like a param' 'params: {TOKEN: x}
tasks: {a: {run: x}}'
    refused 'named like a variable' 'env: {TOKEN: x}
tasks: {a: {run: x}}'
    refused 'in a command' 'tasks: {a: {run: echo "TOKEN is sixsix"}}'
    echo sixsix >list
    refused 'in a list' 'tasks: {TOKEN-of: {foreach: {h: {lines: list}}, run: "true"}}'
    is "$(cat out err .cairn/cairn.db* | grep -ac sixsix)" 0 'it is neither shown nor stored'
    refused 'not listed at the top' 'tasks: {a: {run: x, secrets: [TOKEN2]}}'
}
done_testing
