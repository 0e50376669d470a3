// A checkpointer for LangGraph.js on cairn's threads. index.d.ts describes everything.
import { Store } from '@cairn/node';
import {
  BaseCheckpointSaver, TASKS, WRITES_IDX_MAP, copyCheckpoint, getCheckpointId, maxChannelVersion,
} from '@langchain/langgraph-checkpoint';

const VERSIONS_KEPT = 1000;
const loneSurrogate = /[\ud800-\udfff]/u;

// What JSON has as it is: only by that can the store itself tell states apart.
const isPlain = (value) => value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)) ||
  (typeof value === 'string' && !loneSurrogate.test(value) && !value.includes('\0'));
const fits = (metadata, filter) => Object.entries(filter ?? {}).every(([key, value]) => value === undefined || metadata?.[key] === value);

const wanted = (config, what, ...names) => {
  for (const name of names) {
    const value = config.configurable?.[name];
    if (typeof value !== 'string' || value === '')
      throw new Error(`Failed to put ${what}: the RunnableConfig has no "${name}" in its "configurable" (a text that is not empty).`);
  }
  return config.configurable;
};

export class CairnSaver extends BaseCheckpointSaver {
  #options;
  #opened;
  #keepSecrets;
  #plainMetadata;
  // Of the states seen last, the versions of their channels: what a put need not store again.
  #versions = new Map();

  constructor(options = {}, serde = undefined) {
    super(serde);
    this.#options = typeof options === 'string' ? { path: options } : options;
    this.#keepSecrets = this.#options.keepSecrets ?? false;
    this.#plainMetadata = serde === undefined;
    if (this.#options instanceof Store) this.#opened = Promise.resolve(this.#options);
  }
  static async open(options, serde) {
    const saver = new CairnSaver(options, serde);
    await saver.store();
    return saver;
  }
  // Opened by the first call, and again by the next one if that failed.
  store() {
    this.#opened ??= Store.open(this.#options).catch((error) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }
  async close() {
    if (this.#options instanceof Store) return;
    const opened = this.#opened;
    this.#opened = Promise.reject(Object.assign(new Error('the saver is closed'), { code: 'CAIRN_EUSAGE' }));
    this.#opened.catch(() => {});
    await (await opened?.catch(() => undefined))?.close();
  }

  // ---- Reads ----

  async getTuple(config) {
    const { thread_id, checkpoint_ns: space = '' } = config.configurable ?? {};
    if (thread_id === undefined) return undefined;
    const store = await this.store();
    const found = await store.getState(thread_id, { space, id: getCheckpointId(config) || undefined });
    return found && this.#tuple(store, found);
  }

  async *list(config, { limit, before, filter } = {}) {
    const { thread_id: thread, checkpoint_ns: space, checkpoint_id: id } = config.configurable ?? {};
    const store = await this.store(), below = before && getCheckpointId(before);
    let left = limit ?? Infinity;
    if (left <= 0) return;
    const plain = this.#plainMetadata ? Object.entries(filter ?? {}).filter(([key, value]) => isPlain(key) && isPlain(value)) : [];
    const metadata = plain.length ? Object.fromEntries(plain) : undefined;
    // Whatever the store's filter lets through is compared here, too; only if it sees all of it may it count.
    const exact = plain.length === Object.values(filter ?? {}).filter((value) => value !== undefined).length;
    for await (const found of store.listStates({ thread: thread || undefined, space, before: below || undefined, limit: exact && !id ? limit : undefined, metadata })) {
      if (id && found.id !== id) continue;
      const tuple = await this.#tuple(store, found);
      if (!fits(tuple.metadata, filter)) continue;
      yield tuple;
      if (--left <= 0) return;
    }
  }

  async #tuple(store, found) {
    const { thread, space, id, parent } = found;
    const load = ({ kind, value }) => this.serde.loadsTyped(kind, new Uint8Array(value));
    const [checkpoint, metadata, values, pendingWrites] = await Promise.all([
      this.serde.loadsTyped(found.kind, found.state), this.serde.loadsTyped(found.metadataKind, found.metadata),
      Promise.all(found.channels.map(async (channel) => [channel.name, await load(channel)])),
      Promise.all(found.writes.map(async (write) => [write.task, write.channel, await load(write)])),
    ]);
    checkpoint.channel_values = Object.fromEntries(values);
    this.#remember(thread, space, id, checkpoint.channel_versions);
    if (checkpoint.v < 4 && parent !== undefined) await this.#moveSends(store, checkpoint, thread, space, parent);
    const at = (checkpoint_id) => ({ configurable: { thread_id: thread, checkpoint_ns: space, checkpoint_id } });
    return { config: at(id), checkpoint, metadata, parentConfig: parent === undefined ? undefined : at(parent), pendingWrites };
  }

  // Checkpoints before version 4 had what was sent in the writes of their parent.
  async #moveSends(store, checkpoint, thread, space, parent) {
    const writes = (await store.getState(thread, { space, id: parent }))?.writes ?? [];
    checkpoint.channel_values[TASKS] =
      await Promise.all(writes.filter(({ channel }) => channel === TASKS).map(({ kind, value }) => this.serde.loadsTyped(kind, new Uint8Array(value))));
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_versions = { ...checkpoint.channel_versions, [TASKS]: versions.length ? maxChannelVersion(...versions) : this.getNextVersion(undefined) };
  }

  // ---- Puts ----

  async put(config, checkpoint, metadata, newVersions) {
    const { thread_id: thread, checkpoint_ns: space = '', checkpoint_id: parent } = wanted(config, 'a checkpoint', 'thread_id');
    const store = await this.store();
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const [[kind, state], [metadataKind, metadataBytes], known] = await Promise.all([
      this.serde.dumpsTyped(rest), this.serde.dumpsTyped(metadata), parent === undefined ? undefined : this.#versionsOf(store, thread, space, parent)]);
    const has = (versions, name) => versions !== undefined && Object.hasOwn(versions, name);
    const same = (before, name) => has(before, name) && has(rest.channel_versions, name) && before[name] === rest.channel_versions[name];
    // A fork names no new versions, but has values that its parent (that of what it is a copy of) does not have.
    const whole = parent !== undefined || metadata?.source === 'fork';
    const putAfter = async (before) => store.putStates({ states: [
      { thread, space, id: checkpoint.id, parent, kind, state, metadataKind, metadata: metadataBytes, keepSecrets: this.#keepSecrets,
        channels: await Promise.all(Object.entries(values).filter(([name]) => whole || has(newVersions, name)).map(async ([name, value]) => {
          if (!has(newVersions, name) && same(before, name)) return { name, unchanged: true };
          const [valueKind, bytes] = await this.serde.dumpsTyped(value);
          return { name, kind: valueKind, value: bytes };
        })) }] });
    await putAfter(known).catch((error) => {
      if (error.code !== 'CAIRN_ENOTFOUND') throw error;
      return putAfter(undefined); // the parent went meanwhile, or never had the value
    });
    this.#remember(thread, space, checkpoint.id, rest.channel_versions);
    return { configurable: { thread_id: thread, checkpoint_ns: space, checkpoint_id: checkpoint.id } };
  }

  async putWrites(config, writes, taskId, taskPath = '') {
    const { thread_id: thread, checkpoint_ns: space = '', checkpoint_id: id } = wanted(config, 'writes', 'thread_id', 'checkpoint_id');
    const store = await this.store();
    await store.putStates({ writes: [{ thread, space, id, keepSecrets: this.#keepSecrets, writes: await Promise.all(writes.map(async ([channel, value], i) => {
      const [kind, bytes] = await this.serde.dumpsTyped(value);
      return { task: taskId, path: taskPath, channel, kind, value: bytes, index: Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : i };
    })) }] });
  }

  async deleteThread(threadId) {
    await (await this.store()).deleteThread(threadId);
    this.#versions.clear();
  }
  async copyThread(from, to) {
    await (await this.store()).copyThread(from, to);
  }
  // The `keep` newest checkpoints of each namespace stay. How many went.
  async pruneThread(threadId, keep) {
    return (await this.store()).pruneThread(threadId, keep);
  }

  // ---- Versions of channels ----

  #remember(thread, space, id, versions) {
    const key = JSON.stringify([thread, space, id]);
    this.#versions.delete(key);
    this.#versions.set(key, { ...versions });
    if (this.#versions.size > VERSIONS_KEPT) this.#versions.delete(this.#versions.keys().next().value);
  }
  async #versionsOf(store, thread, space, id) {
    const known = this.#versions.get(JSON.stringify([thread, space, id]));
    if (known !== undefined) return known;
    const found = await store.getState(thread, { space, id });
    if (found === undefined) return undefined;
    const { channel_versions: versions } = await this.serde.loadsTyped(found.kind, found.state);
    this.#remember(thread, space, id, versions);
    return versions;
  }
}
