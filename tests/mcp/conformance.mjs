// conformance.mjs ADDRESS: the server scenarios of @modelcontextprotocol/conformance, in both
// eras of the protocol, against a server over HTTP whose token is $TOKEN. Each scenario is a
// TAP line; those of not-applying.json have to fail, so that the list stays true.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, 'node_modules');

if (isMainThread) {
    // The proxy is a thread of its own, for the scenarios are waited for.
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: process.argv[2] });
    const url = await new Promise((resolve) => worker.once('message', resolve));
    const list = JSON.parse(readFileSync(join(here, 'not-applying.json'), 'utf8'));
    const reasons = new Map(Object.entries(list).flatMap(([why, names]) => names.map((name) => [name, why])));
    const unused = new Set(reasons.keys());
    for (const version of ['2025-11-25', '2026-07-28']) run(url, version, reasons, unused);
    for (const name of unused) console.log(`not ok - ${name} is in not-applying.json, and passes or is not there`);
    await worker.terminate();
} else {
    const { startProxy } = await import('./proxy.mjs');
    const { url } = await startProxy(workerData, process.env.TOKEN);
    parentPort.postMessage(url);
}

function run(url, version, reasons, unused) {
    const out = mkdtempSync(join(tmpdir(), 'conformance-'));
    const program = join(modules, '@modelcontextprotocol/conformance/dist/index.js');
    const words = ['server', '--url', url, '--suite', 'all', '--spec-version', version, '--timeout', '20000', '-o', out];
    spawnSync(join(modules, 'node/bin/node'), [program, ...words], { stdio: 'ignore', timeout: 300000 });
    const scenarios = readdirSync(out);
    console.log(`${scenarios.length >= 33 ? 'ok' : 'not ok'} - ${version}: ${scenarios.length} scenarios were run`);
    for (const folder of scenarios.sort()) {
        const name = folder.replace(/^server-/, '').replace(/-20\d\d-\d\d-\d\dT.*$/, '');
        const checks = JSON.parse(readFileSync(join(out, folder, 'checks.json'), 'utf8'));
        const failed = checks.filter(({ status }) => status === 'FAILURE');
        const wrong = failed.filter(({ id }) => ![name, `${name}/${id}`].some((key) => reasons.has(key) && (unused.delete(key), true)));
        if (wrong.length > 0) {
            console.log(`not ok - ${version}: ${name}`);
            for (const { id, errorMessage } of wrong) console.log(`# ${id}: ${String(errorMessage).slice(0, 200)}`);
        } else if (reasons.has(name)) console.log(`ok - ${version}: ${name} # skip ${reasons.get(name)}`);
        else console.log(`ok - ${version}: ${name} (${checks.length} checks)`);
    }
}
