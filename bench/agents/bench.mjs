// Checkpointers of LangGraph in one run (`make bench-agents`; docs/benchmarks.md says what the lines are).
// bench.mjs [CHECKPOINTS [PATH]]; bench.mjs cold SAVER FILE is how it calls itself.
import { spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CairnSaver } from '@cairn/langgraph';
import { MemorySaver } from '@langchain/langgraph-checkpoint';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';

const sqlite = (pragma) => (path) => {
  const saver = SqliteSaver.fromConnString(path);
  saver.setup();
  saver.db.pragma(`synchronous=${pragma}`);
  saver.close = async () => saver.db.close();
  return saver;
};
const cairn = (sync) => (path) => new CairnSaver({ path, sync });
const savers = {
  'cairn-full': cairn('full'), 'sqlite-full': sqlite('FULL'), 'cairn-normal': cairn('normal'), 'sqlite-normal': sqlite('NORMAL'),
  memory: () => Object.assign(new MemorySaver(), { close: async () => {} }),
};

const ms = (from) => Number(process.hrtime.bigint() - from) / 1e6;
const now = () => process.hrtime.bigint();
const line = (what, saver, value, unit) => console.log(`${what.padEnd(14)} ${saver.padEnd(14)} ${value.toFixed(value < 10 ? 3 : 0)} ${unit}`);
const size = (path) => (statSync(path).isDirectory() ? readdirSync(path).reduce((sum, name) => sum + size(join(path, name)), 0) : statSync(path).size);

let seed = 1;
const word = () => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed.toString(36));
const text = () => {
  let out = '';
  while (out.length < 400) out += `${word()} `;
  return out.slice(0, 400);
};
const id = (i) => `1ef00000-0000-6000-8000-${String(i).padStart(12, '0')}`;
const checkpoint = (i) => ({
  v: 4, id: id(i), ts: '2026-11-28T00:00:00Z', channel_values: { n: i, log: text() }, channel_versions: { n: i + 1, log: i + 1 }, versions_seen: {},
});
const metadata = (i) => ({ source: 'loop', step: i, parents: {} });
const thread = 'bench';
const config = (i, of = thread) => ({ configurable: { thread_id: of, checkpoint_ns: '', ...(i < 0 ? {} : { checkpoint_id: id(i) }) } });

// One step as a graph with durability 'sync' does it: the writes of two tasks and the checkpoint, and it waits for all.
const step = (saver, i, of = thread) => Promise.all([
  ...(i > 0 ? [0, 1].map((task) => saver.putWrites(config(i - 1, of), [['log', text()]], `task-${task}`)) : []),
  saver.put(config(i - 1, of), checkpoint(i), metadata(i), { n: i + 1, log: i + 1 }),
]);

// Of graphs that run at once in one process, each in a thread of its own.
async function together(saver, threads, steps) {
  const from = now();
  await Promise.all(Array.from({ length: threads }, async (_, k) => {
    for (let i = 0; i < steps; i++) await step(saver, i, `beside-${k}`);
  }));
  return threads * (3 * steps - 2) / ms(from) * 1000;
}

async function cold(name, path) {
  const from = now(), saver = savers[name](path);
  const { checkpoint: newest } = await saver.getTuple(config(-1));
  console.log(ms(from), newest.id);
  await saver.close();
}

async function measure(root, n) {
  const opened = {}, took = {};
  for (const name of Object.keys(savers)) {
    opened[name] = savers[name](join(root, name));
    await step(opened[name], 0);
    took[name] = 0;
  }
  const fd = openSync(join(root, 'floor'), 'w'), bytes = Buffer.alloc(4096, 1);
  took.fdatasync = 0;
  // In turns, so that all see the same machine.
  for (let done = 1; done < n; done += 100) {
    for (const [name, saver] of Object.entries(opened)) {
      const from = now();
      for (let i = done; i < Math.min(done + 100, n); i++) await step(saver, i);
      took[name] += ms(from);
    }
    const from = now();
    for (let i = 0; i < 20; i++) {
      writeSync(fd, bytes);
      fdatasyncSync(fd);
    }
    took.fdatasync += ms(from) * 5;
  }
  closeSync(fd);
  line('floor', 'fdatasync', (n - 1) / took.fdatasync * 1000, 'a second, 4 KiB each');
  for (const name of Object.keys(savers)) line('put', name, 3 * (n - 1) / took[name] * 1000, 'puts a second (two of writes, one of a state)');
  for (const [name, saver] of Object.entries(opened)) {
    const median = async (n, work) => {
      const times = [];
      for (let i = 0; i < n; i++) {
        const from = now();
        await work();
        times.push(ms(from));
      }
      return times.sort((x, y) => x - y)[n >> 1];
    };
    line('get-newest', name, await median(300, () => saver.getTuple(config(-1))), 'ms');
    line('list-10', name, await median(50, async () => {
      for await (const tuple of saver.list(config(-1), { limit: 10 })) if (!tuple) throw new Error('none');
    }), 'ms');
    await saver.close();
    if (name === 'memory') {
      line('put-16', name, await together(saver, 16, 50), 'puts a second, 16 threads at once');
      continue;
    }
    line('bytes', name, size(join(root, name)) / n, 'for each checkpoint and its writes');
    const times = Array.from({ length: 5 }, () => parseFloat(spawnSync(process.execPath, [fileURLToPath(import.meta.url), 'cold', name, join(root, name)]).stdout));
    line('open-get', name, times.sort((a, b) => a - b)[2], 'ms, a new process (without its start)');
    const again = savers[name](join(root, name));
    line('put-16', name, await together(again, 16, 50), 'puts a second, 16 threads at once');
    const from = now();
    await again.deleteThread(thread);
    line('delete', name, ms(from), 'ms');
    await again.close();
  }
}

const [first = '10000', second = '.', third] = process.argv.slice(2);
if (first === 'cold') await cold(second, third);
else {
  const root = mkdtempSync(join(second, 'bench-agents-'));
  try {
    await measure(root, Number(first));
  } finally {
    rmSync(root, { recursive: true });
  }
}
