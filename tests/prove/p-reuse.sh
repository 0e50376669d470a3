# shellcheck shell=sh disable=SC2154,SC2016,SC2086,SC2094
# Random workflows with `reuse` and `cutoff` through edits that go back and forth: of
# inputs, commands and outputs, old outputs put back by hand, outputs removed that are kept
# (`reuse: {keep}`), kills, removed runs, reuse switched off. After each run that completes every output must be what a plain shell script makes
# from nothing, and what ran must be what the plan said. Tasks read the outputs of what
# they need without declaring them as inputs, up to the nearest cut-off.
set -u
lives=10 steps=10 stride=131
if [ "$LEVEL" = full ]; then
    lives=400 steps=25 stride=5
fi

# The workflow of a life, and what it means as a shell script.
cat >gen.awk <<'END'
function chance(p) { return rand() < p }
BEGIN {
    srand(seed)
    n = 4 + int(rand() * 6)
    for (i = 0; i < n; i++) {
        reuse[i] = chance(0.75); cutoff[i] = chance(0.3); input[i] = chance(0.5)
        declared[i] = chance(0.4); kept[i] = chance(0.6); r = rand()
        type[i] = r < 0.7 ? "file" : r < 0.9 ? "value" : "none"
        modulus[i] = chance(0.5) ? 3 : 1000000
        for (j = 0; j < i; j++) {
            if (!chance(0.45)) continue
            order = chance(0.15)
            needs[i] = needs[i] (needs[i] ? ", " : "") (order ? "{task: t" j ", order: true}" : "t" j)
            ordered[i, j] = order
            if (order) continue
            reads[i, j] = 1
            for (k = 0; k < j && !cutoff[j]; k++) if (reads[j, k]) reads[i, k] = 1
        }
    }
    for (i = 0; (getline line < "salts") > 0; i++) salt[i] = line
    print "name: w\njobs: 2\ntasks:" >"w.yaml"
    print "cd ref || exit 1" >"ref.sh"
    for (i = 0; i < n; i++) {
        text = "echo " salt[i] "; "; env = ""; inputs = ""
        if (input[i]) { text = text "cat in." i "; "; inputs = "in." i }
        for (j = 0; j < i; j++) {
            if (!reads[i, j]) continue
            if (type[j] == "file") {
                text = text "cat o." j "; "
                if (declared[i]) inputs = inputs (inputs ? ", " : "") "o." j
            }
            if (type[j] == "value" && !ordered[i, j]) {
                text = text "echo $v" j "; "
                env = env (env ? ", " : "") "v" j ": \"${{ tasks.t" j ".outputs.v }}\""
            }
        }
        sum = "{ " text "} | cksum | awk '{ print $1 % " modulus[i] " }'"
        print "  t" i ":" >"w.yaml"
        print "    run: |" >"w.yaml"
        print "      echo t" i " >>ran.log" >"w.yaml"
        print "      [ ! -e kill." i " ] || { rm kill." i "; kill -9 $PPID; sleep 9; }" >"w.yaml"
        if (type[i] == "file") print "      " sum " >o." i "\n    outputs: [o." i "]" >"w.yaml"
        if (type[i] == "value") print "      echo v=$(" sum ") >>\"$CAIRN_OUTPUT\"" >"w.yaml"
        if (needs[i]) print "    needs: [" needs[i] "]" >"w.yaml"
        if (inputs) print "    inputs: [" inputs "]" >"w.yaml"
        if (env) print "    env: {" env "}" >"w.yaml"
        if (reuse[i]) print "    reuse: " (kept[i] && type[i] == "file" ? "{keep: 1h}" : "true") >"w.yaml"
        if (cutoff[i]) print "    cutoff: true" >"w.yaml"
        gsub(/cat in/, "cat ../in", sum)
        if (type[i] == "file") print sum " >o." i >"ref.sh"
        if (type[i] == "value") print "v" i "=$(" sum ")" >"ref.sh"
    }
    print n
}
END

bad=0 runs=0 reused=0 back=0 spared=0 kills=0
fail() {
    bad=$((bad + 1))
    echo "# life $life (seed $seed), step $step ($op): $1"
    [ $bad -gt 3 ] || sed 's/^/# /' w.yaml said
}
random() { # LESS-THAN
    random_state=$(((random_state * 1103515245 + 12345) % 2147483648))
    echo_random=$((random_state / 65536 % $1))
}
compare() {
    rm -rf ref
    mkdir ref
    (sh ./ref.sh) 2>/dev/null
    for wanted in ref/o.*; do
        [ -e "$wanted" ] || continue
        cmp -s "$wanted" "${wanted#ref/}" || fail "${wanted#ref/} is not what a run from nothing makes"
    done
}
# The words of the plan, against what ran.
check_plan() {
    [ -e ran.log ] || : >ran.log
    while read -r verdict task _; do
        count=$(grep -cx "$task" ran.log)
        case $verdict in
        run) [ "$count" -eq 1 ] || fail "plan: $task runs; it ran $count times" ;;
        keep) [ "$count" -eq 0 ] || fail "plan: $task is kept; it ran" ;;
        may) [ "$count" -le 1 ] || fail "$task ran $count times" ;;
        esac
    done <plan
}
live() {
    random_state=$seed
    rm -rf .cairn in.* o.* kill.* old ran.log
    mkdir old
    i=0
    : >salts
    while [ $i -lt 12 ]; do
        echo 0 >>salts
        echo 0 >in.$i
        i=$((i + 1))
    done
    n=$(awk -v seed="$seed" -f gen.awk)
    step=0
    while [ $step -lt $steps ]; do
        random 12 && op=$echo_random
        random "$n" && at=$echo_random
        random 3 && value=$echo_random
        set -- run w.yaml
        case $op in
        0 | 1 | 2 | 8) echo "$value" >in.$at ;;
        3) awk -v at="$at" -v v="$value" 'NR - 1 == at { $0 = v % 2 } { print }' salts >s2 && mv s2 salts ;;
        4) [ ! -e o.$at ] || echo x >>o.$at ;;
        5) for file in old/"$value"/o.*; do [ ! -e "$file" ] || cp "$file" .; done ;;
        6) # which has to run then
            : >kill.$at
            awk -v at="$at" -v v="$step" 'NR - 1 == at { $0 = "k" v } { print }' salts >s2 && mv s2 salts
            ;;
        7) set -- run w.yaml --no-reuse ;;
        10) rm -f o.$at ;;
        11) rm -f o.* ;;
        9) [ $step -eq 0 ] || cairn gc --keep-runs 1 >/dev/null 2>&1 || fail 'gc' ;;
        esac
        awk -v seed="$seed" -f gen.awk >/dev/null
        random 2
        [ $step -eq 0 ] || [ $op -eq 7 ] || [ $echo_random -gt 0 ] || set -- resume
        rm -f ran.log
        case $1 in
        run) cairn plan --all "$2" ${3+"$3"} >plan 2>said ;;
        resume) cairn plan --all >plan 2>said ;;
        esac
        cairn "$@" >said 2>&1
        status=$?
        runs=$((runs + 1))
        reused=$((reused + $(grep -c 'reused from run' said)))
        back=$((back + $(grep -c 'put back from run' said)))
        spared=$((spared + $(grep -c 'came out the same' said)))
        if [ $status -gt 128 ]; then
            kills=$((kills + 1))
            cairn resume >said 2>&1
            status=$?
        elif [ $status -eq 0 ]; then
            check_plan
        fi
        rm -f kill.*
        [ $status -eq 0 ] || fail "exit status $status"
        compare
        random 3
        rm -rf old/$echo_random
        mkdir old/$echo_random
        for file in o.*; do [ ! -e "$file" ] || cp "$file" old/$echo_random; done
        step=$((step + 1))
    done
    cairn checkpoint verify >said 2>&1 || fail 'checkpoint verify'
}
life=0
while [ $life -lt $lives ]; do
    seed=$((${SEED:?} + life))
    live
    life=$((life + 1))
done
if [ $reused -eq 0 ] || [ $back -eq 0 ] || [ $spared -eq 0 ] || [ $kills -eq 0 ]; then
    echo "# reused $reused, put back $back, spared $spared, kills $kills: this tried nothing"
    bad=$((bad + 1))
fi
rm -rf .cairn in.* o.* old ref

# A run that reuses some of its tasks, killed before its system calls; the next one ends it,
# and the one after that finds all of it done.
mkdir base
cat >base/w.yaml <<'END'
name: w
jobs: 2
tasks:
  a: {run: 'cat in.1 >a.out', inputs: [in.1], outputs: [a.out], reuse: true, cutoff: true}
  b: {needs: a, run: 'cat a.out in.2 >b.out; echo v=1 >>"$CAIRN_OUTPUT"', inputs: [in.2], outputs: [b.out], reuse: true}
  c: {needs: b, run: 'cat b.out >c.out', outputs: [c.out], reuse: true}
  d: {needs: a, run: 'cat a.out >d.out', outputs: [d.out], reuse: true}
  e: {needs: [c, d], run: 'cat c.out d.out >e.out', outputs: [e.out]}
END
broken=0 tries=0
break_at() { # BASE NTH OPTION...
    rm -rf try
    cp -a "$1" try
    shift
    cd try || exit 1
    "$BUILD/tests/prove/nth" "$@" cairn run w.yaml >said 2>&1
    cairn run w.yaml >second 2>&1 && cairn run w.yaml >last 2>&1 && cairn checkpoint verify >verified 2>&1
    status=$?
    cat in.1 in.2 >want
    if [ $status -ne 0 ] || ! cmp -s in.1 a.out || ! cmp -s want b.out || ! cmp -s want c.out ||
        ! cat want in.1 | cmp -s - e.out || [ "$(grep -c 'reused from run' last)" -ne 4 ] ||
        [ -n "$(find . -name '.cairn-restore-*')" ]; then
        broken=$((broken + 1))
        echo "# $*: exit status $status"
        [ $broken -gt 3 ] || sed 's/^/# /' said second last
    fi
    tries=$((tries + 1))
    cd ..
}
sweep() { # BASE TITLE
    cp -a "$1" try
    calls=$(cd try && "$BUILD/tests/prove/nth" --count cairn run w.yaml 2>&1 | sed -n 's/^nth: \([0-9]*\) calls.*/\1/p')
    n=$((SEED % stride + 1)) tries=0 before=$broken
    while [ $n -le "$calls" ]; do
        break_at "$1" --kill $n
        n=$((n + stride))
    done
    printf 'figure|G1 G8 G14|%s: the next one ends right, and all of it is reused then|%s kills in %s calls|0|0|0|%s\n' \
        "$2" $tries "$calls" $((broken - before))
}
if "$BUILD/tests/prove/nth" --count true 2>/dev/null; then
    cp -a base kept
    (cd base && echo 1 >in.1 && echo 2 >in.2 && cairn run w.yaml && echo 3 >in.2) >said 2>&1
    sed -i 's/reuse: true/reuse: {keep: 1h}/' kept/w.yaml
    (cd kept && echo 1 >in.1 && echo 2 >in.2 && cairn run w.yaml && rm a.out c.out && echo x >b.out) >said 2>&1
    sweep base 'a run that reuses killed before a system call'
    sweep kept 'a run that puts outputs back killed before a system call'
else
    echo 'skip|a run that reuses, killed at its system calls|processes cannot be traced here'
fi
printf 'figure|G8 G9 G14|random workflows that reuse and cut off, edited back and forth: outputs as from nothing, and as the plan says|%s runs, %s tasks reused, %s put back, %s cut off, %s killed|0|0|0|%s\n' \
    $runs $reused $back $spared $kills $bad
[ $bad -eq 0 ] && [ $broken -eq 0 ]
