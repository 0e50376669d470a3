# shellcheck shell=sh disable=SC1090,SC1091,SC2015,SC2034,SC2046,SC2086,SC2154,SC2238
# The lock file or the whole store taken away from a live owner. What cannot be saved is
# said, nobody hangs, and no two owners finish the same run unnoticed.

part_removed() {
    part='taken away'
    mkdir removed && cd removed || exit 1
    export CAIRN_STORE="$PWD/store"
    tries=0
    for what in lock store replaced live marker; do
        rm -rf store go ran
        cat >flow.yaml <<'END'
name: w
tasks:
  first: {run: "echo first >>ran; until [ -e go ]; do sleep 0.02; done"}
  second: {needs: first, run: "echo second >>ran"}
END
        timeout 60 cairn run flow.yaml >out.owner 2>&1 &
        owner=$!
        wait_for 20 grep -q first ran
        case $what in
        lock) rm store/lock ;;
        store) rm -r store ;;
        replaced) rm store/lock && : >store/lock ;;
        live) rm -r store/live ;;
        marker) rm store/open ;;
        esac
        # Somebody who comes now may not run the first task beside the owner.
        case $what in
        lock | replaced)
            timeout 60 cairn resume >out 2>err
            status=$?
            [ $status -eq 6 ] || { fail "$what: resume beside the owner exits $status" && show out err; }
            ;;
        esac
        : >go
        wait $owner
        status=$?
        tries=$((tries + 1))
        [ "$(grep -c first ran)" -eq 1 ] || repeated=$((repeated + 1))
        case $what in
        lock | replaced | store)
            # Its outcomes could not be saved: that is said (docs/exit-codes.md).
            [ $status -eq 9 ] && [ "$what" != store ] || [ $status -eq 5 ] || { fail "$what: the owner ends with $status" && show out.owner; }
            grep -q 'cannot be saved\|could not be saved\|removed' out.owner || { fail "$what: nothing is said" && show out.owner; }
            ;;
        *)
            [ $status -eq 0 ] || { fail "$what: the owner ends with $status" && show out.owner; }
            expect 0 cairn checkpoint verify
            ;;
        esac
        # Afterwards all is usable again.
        [ "$what" = store ] || expect 0 cairn resume
        expect 0 cairn run --fresh flow.yaml
        expect 0 cairn checkpoint verify
    done
    figure 'G12' 'the lock, the live directory, the marker or the whole store removed while owned' "$tries cases"
    cd ..
    rm -rf removed
}
