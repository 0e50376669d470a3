#!/bin/sh
# Single linkage: texts closer than the threshold are in one cluster, and so are the
# neighbours of neighbours. Distances are the mean of both directions.
. steps/common.sh
threshold=$1
shift # the others are the distances
cat "$@" | LC_ALL=C sort >work/distances.tsv
awk -v OFS='\t' -v threshold="$threshold" '
    function root(x) {
        while (parent[x] != x)
            x = parent[x]
        return x
    }
    { distance[$1, $2] = $3 }
    !($1 in parent) { parent[$1] = $1; name[++n] = $1 }
    END {
        for (i = 1; i <= n; i++)
            for (j = i + 1; j <= n; j++) {
                a = name[i]; b = name[j]
                d = (distance[a, b] + distance[b, a]) / 2
                if (!(a in best) || d < best[a]) { best[a] = d; nearest[a] = b }
                if (!(b in best) || d < best[b]) { best[b] = d; nearest[b] = a }
                # The smaller name is the root, so the numbering below is stable.
                if (d < threshold && root(a) != root(b)) {
                    if (root(a) < root(b)) parent[root(b)] = root(a)
                    else parent[root(a)] = root(b)
                }
            }
        for (i = 1; i <= n; i++) {
            r = root(name[i])
            if (!(r in number)) number[r] = ++clusters
            printf "%s\t%d\t%s\t%.3f\n", name[i], number[r], nearest[name[i]], best[name[i]]
        }
    }' work/distances.tsv | write_to work/clusters.tsv
done_with cluster
