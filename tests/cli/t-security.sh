# make: sanitize
# What docs/security.md claims and no other test shows: modes, links, stores made by
# somebody else, what a task can do to cairn, hostile arguments.
# shellcheck disable=SC2016
. "$TESTS/cli/tap.sh"
sql="$BUILD/tests/tools/sql"
probe="$BUILD/tests/tools/probe"

printf 'name: w\ntasks:\n  a: {run: "echo a >>ran"}\n  b: {run: "echo b >>ran; test -e go", needs: [a]}\n' >w.yaml

# limited: runs a command; one that hangs is killed, and ends with 137.
limited() {
    timeout -s KILL 20 "$@"
}

# ---- Modes: nobody else gets in, whatever the umask ----

cat >modes.yaml <<'END'
name: modes
secrets: [SECRET]
tasks:
  plain: {run: "echo x; echo n=1 >>$CAIRN_OUTPUT; find $STORE -ignore_readdir_race -perm /077 >>open; umask >>mask"}
  secret: {run: "echo $SECRET; find $STORE -ignore_readdir_race -perm /077 >>open", secrets: [SECRET]}
END
sed 's/^name: modes/name: adopt\non_crash: adopt/' modes.yaml >adopt.yaml
(
    umask 0
    export STORE="$PWD/.cairn" SECRET=geheimnis
    cairn run modes.yaml && cairn run adopt.yaml
) >out 2>err
is "$?" 0 'a run with umask 0'
find .cairn -perm /077 >>open
is "$(cat open)" '' 'nothing of the store is open to others, during a run and after'
is "$(sort -u mask)" 0000 'tasks have the umask of the caller'
# A umask that takes the owner's own bits would lock them out.
for mask in 0777 0700 0377; do
    rm -rf .cairn
    # shellcheck disable=SC2030
    (umask $mask && SECRET=geheimnis STORE=$PWD/.cairn cairn run adopt.yaml && cairn session start s &&
        cairn note add n && cairn search n) >out 2>err
    is "$?" 0 "a run and a session with umask $mask"
    is "$(find .cairn \( -type d ! -perm 700 -o -type f ! -perm 600 \) -print)" '' "umask $mask: modes are those that are needed"
done
rm -rf .cairn
(umask 0 && SECRET=geheimnis STORE=$PWD/.cairn cairn run modes.yaml) >out 2>err
mkdir tmp
sed 's,\$STORE,$TMPDIR/cairn.*,' modes.yaml >bare.yaml
(umask 0 && TMPDIR=$PWD/tmp SECRET=geheimnis cairn run --no-checkpoint bare.yaml) >out 2>err
is "$?/$(cat open)" 0/ 'nor of the place of a run without a store'
is "$(find tmp -mindepth 1)" '' 'which is gone afterwards'
rm -rf .cairn open

# ---- Links and pipes in the place of files ----

exits 1 cairn run w.yaml
cp -R .cairn kept
mv .cairn elsewhere && ln -s elsewhere .cairn
exits 0 cairn status
rm .cairn elsewhere -r
for file in cairn.db cairn.db-wal cairn.db-shm cairn.db-journal lock open; do
    for kind in fifo link; do
        rm -rf .cairn && cp -R kept .cairn
        rm -f ".cairn/$file"
        if [ $kind = fifo ]; then
            mkfifo ".cairn/$file"
        else
            if [ -e "kept/$file" ]; then cp "kept/$file" target; else : >target; fi
            ln -s ../target ".cairn/$file"
            cksum target >before
        fi
        for command in status resume doctor; do
            run limited cairn $command
            is "$status" 5 "$command with a $kind in the place of $file"
            says 'is not a file' 'says so'
        done
        [ $kind = fifo ] || ok 'and leaves what it leads to alone' test "$(cksum target)" = "$(cat before)"
    done
done
for kind in fifo link directory; do
    rm -rf .cairn && cp -R kept .cairn
    case $kind in
    fifo) mkfifo .cairn/live/run-1.slots ;;
    link) ln -s /dev/zero .cairn/live/run-1.slots ;;
    directory) mkdir .cairn/live/run-1.slots ;;
    esac
    for command in status 'status --tasks' 'log b' runs; do
        # shellcheck disable=SC2086
        run limited cairn $command
        is "$status" 0 "$command with a $kind in the place of a slot file"
    done
done
rm -rf .cairn && cp -R kept .cairn

# ---- A store made by somebody else ----

# Its triggers do not run, its views are not looked through.
"$sql" .cairn/cairn.db 'CREATE TABLE pwned(x);
    CREATE TRIGGER t1 AFTER UPDATE ON run BEGIN INSERT INTO pwned VALUES(1); END;
    CREATE TRIGGER t2 AFTER INSERT ON checkpoint BEGIN DELETE FROM checkpoint; END;
    CREATE TRIGGER t3 AFTER INSERT ON attempt BEGIN INSERT INTO pwned VALUES(3); END'
run limited cairn resume
is "$status" 1 'a run continues in a store with triggers'
is "$("$sql" .cairn/cairn.db 'SELECT count(*) FROM pwned')" 0 'they were not run'
ok 'and nothing was deleted by them' test \
    "$("$sql" .cairn/cairn.db 'SELECT count(*) FROM checkpoint')" -gt 4
for table in run checkpoint attempt object; do
    rm -rf .cairn && cp -R kept .cairn
    "$sql" .cairn/cairn.db "ALTER TABLE $table RENAME TO ${table}0" "CREATE VIEW $table AS
        WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
        SELECT ${table}0.* FROM ${table}0, c WHERE n < 0"
    for command in status 'status --tasks' 'checkpoint list' 'checkpoint verify' doctor resume; do
        # shellcheck disable=SC2086
        run limited cairn $command
        ok "$command with an endless view for $table ends" test "$status" -ne 137
    done
done

# What stands in it reaches the terminal as text only.
rm -rf .cairn && cp -R kept .cairn
"$sql" .cairn/cairn.db "UPDATE attempt SET text = 'x' || char(27) || ']0;pwned' || char(7)
    || char(155) || '2J'" "UPDATE run SET file = '/tmp/' || char(27) || '[2J.yaml',
    owner_host = char(27) || '[31m'" "UPDATE workflow SET name = char(27) || '[31mw'"
for command in status 'status --tasks' runs events 'checkpoint list' 'checkpoint show 5' \
    'checkpoint timeline' 'checkpoint verify' doctor resume plan 'explain b'; do
    # shellcheck disable=SC2086
    run limited cairn $command
    ok "$command prints nothing that a terminal obeys" "$probe" clean out err
done

# Found on the way up, it is not used: a run names the file that `resume` runs.
if [ "$(id -u)" = 0 ]; then
    rm -rf .cairn && mkdir -p shared/home && cp -R kept shared/.cairn
    chown 65534 shared/.cairn
    (
        unset CAIRN_STORE
        cd shared/home || exit 1
        for command in status resume 'run ../../w.yaml'; do
            # shellcheck disable=SC2086
            cairn $command >out 2>&1
            echo "$? $(grep -c 'belongs to another user (uid 65534)' out)"
        done
        cairn status --store ../.cairn >out 2>&1
        echo "$?"
        CAIRN_STORE=$PWD/../.cairn cairn status >out 2>&1
        echo "$?"
    ) >seen
    is "$(tr '\n' ' ' <seen)" '2 1 2 1 2 1 0 0 ' 'a store above that is not ours is refused, unless it is named'
    rm -rf shared
else
    skip 'a store of another user' 'needs root'
fi
rm -rf .cairn

# ---- What tasks get ----

printf 'name: env\ntasks:\n  e: {run: "env | grep ^CAIRN_ | sort >seen"}\n' >env.yaml
head -c 32 /dev/urandom >key && chmod 600 key
CAIRN_KEY=$PWD/key CAIRN_TOKEN=stolen CAIRN_ANYTHING=1 exits 0 cairn run env.yaml
is "$(cut -d= -f1 seen | tr '\n' ' ')" \
    'CAIRN_ATTEMPT CAIRN_OUTPUT CAIRN_RUN CAIRN_TASK CAIRN_TOKEN ' \
    'of CAIRN_* they get only what cairn sets'
ok 'and not what the caller had' test -z "$(grep -E 'stolen|ANYTHING|KEY' seen)"
printf 'name: fd\ntasks:\n  e: {run: "ls /proc/self/fd >seen"}\n' >fd.yaml
CAIRN_KEY=$PWD/key exits 0 cairn run fd.yaml
is "$(grep -vx '[0123]' seen | tr '\n' ' ')" '' 'and no descriptor but the usual three (ls has one of its own)'
rm -rf .cairn

# ---- What a task can do to cairn ----

# It can end it, and that is like any other death: the run continues.
printf 'name: kill\ntasks:\n  a: {run: "echo a >>ran.kill"}\n  b: {run: "[ -e go ] || kill -9 $PPID; sleep 0.2", needs: [a]}\n' >kill.yaml
run limited cairn run kill.yaml
is "$status" 137 'a task kills cairn'
touch go
exits 0 limited cairn resume
is "$(cat ran.kill)" a 'what was done is not done again'
exits 0 cairn checkpoint verify
# Cutting off the file that says what runs takes nothing from a run.
rm -rf .cairn
printf 'name: cut\ntasks:\n  a: {run: ": >$STORE/live/run-1.slots; sleep 0.2"}\n  b: {run: "sleep 0.5"}\n' >cut.yaml
exits 0 limited env STORE="$PWD/.cairn" cairn run cut.yaml
exits 0 cairn checkpoint verify
# Taking the store away is noticed, and named.
rm -rf .cairn
printf 'name: gone\ntasks:\n  a: {run: "mv $STORE gone"}\n  b: {run: "echo b", needs: [a]}\n' >gone.yaml
run limited env STORE="$PWD/.cairn" cairn run gone.yaml
ok 'a task takes the store away: no success is claimed' test "$status" -ne 0 -a "$status" -ne 137
rm -rf .cairn gone
# What it leaves in the place of its values is not waited for.
printf 'name: pipe\ntasks:\n  a: {run: "rm $CAIRN_OUTPUT; mkfifo $CAIRN_OUTPUT"}\n  b: {run: "rm $CAIRN_OUTPUT; ln -s /dev/zero $CAIRN_OUTPUT"}\n' >pipe.yaml
exits 0 limited cairn run pipe.yaml
rm -rf .cairn

# ---- Hostile files and arguments ----

bomb() { # FIRST OTHERS: nine levels of ten aliases each
    printf 'name: bomb\nx-0: &b0 %s\n' "$1"
    for n in 1 2 3 4 5 6 7 8 9; do
        printf 'x-%d: &b%d %s\n' "$n" "$n" "$(echo "$2" | sed "s/N/b$((n - 1))/g")"
    done
    printf 'tasks: {t: {run: "true"}}\n'
}
bomb '[x, x]' '[*N, *N, *N, *N, *N, *N, *N, *N, *N, *N]' >bomb.yaml
exits 3 limited cairn validate bomb.yaml
says 'bomb.yaml:7:' 'aliases, which bombs are made of, are counted'
says 'aliases stand for more than 100000 values' 'and refused'
bomb '{a: {x: y}}' '{<<: *N, a: *N, b: *N, c: *N, d: *N, e: *N, f: *N, g: *N, h: *N, i: *N}' >bomb.yaml
exits 3 limited cairn validate bomb.yaml
says 'aliases stand for more than 100000 values' 'merged ones, too'
{
    printf 'name: deep\ntasks: '
    yes '[' | head -n 100000 | tr -d '\n'
} >deep.yaml
exits 3 limited cairn validate deep.yaml
says 'nest' 'so is deep nesting'
exits 0 cairn run w.yaml
big=99999999999999999999
long=$(head -c 100000 /dev/zero | tr '\0' 9)
for id in $big "workflow:$big" "workflow:1-$long" "$long" 18446744073709551617 -1 0 \
    9223372036854775808 '' 'workflow:' '../../etc/passwd' '1-'; do
    run limited cairn checkpoint show -- "$id"
    ok "checkpoint show $(printf '%.30s' "$id"): wrong usage or not found" \
        test "$status" -eq 2 -o "$status" -eq 10
    run limited cairn status -- "$id"
    ok "status $(printf '%.30s' "$id"): the same" test "$status" -eq 2 -o "$status" -eq 10
    ok 'and what is said of it is short' test "$(cat out err | wc -c)" -lt 4000
done

done_testing
