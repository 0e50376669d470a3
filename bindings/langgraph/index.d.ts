import type { Store, StoreOptions } from '@cairn/node';
import { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import type {
  ChannelVersions, Checkpoint, CheckpointListOptions, CheckpointMetadata, CheckpointTuple, PendingWrite, SerializerProtocol,
} from '@langchain/langgraph-checkpoint';
import type { RunnableConfig } from '@langchain/core/runnables';

export interface CairnSaverOptions extends StoreOptions {
  /** Store values even if a secret is in them that a workflow of the store declares; else such a put fails with CAIRN_EUSAGE. */
  keepSecrets?: boolean;
}

/**
 * Keeps the checkpoints of graphs in a store of cairn: each thread is a session of it, each checkpoint a verified record.
 * What `put` and `putWrites` have fulfilled is durable. Several processes may use one store at once.
 */
export class CairnSaver extends BaseCheckpointSaver {
  /** The store is opened by the first call. One that is given open stays open, and is the caller's to close. */
  constructor(options?: CairnSaverOptions | Store | string, serde?: SerializerProtocol);
  static open(options?: CairnSaverOptions | Store | string, serde?: SerializerProtocol): Promise<CairnSaver>;
  store(): Promise<Store>;
  close(): Promise<void>;
  getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined>;
  /** The greatest id first. */
  list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;
  put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig>;
  putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void>;
  deleteThread(threadId: string): Promise<void>;
  /** Content is not stored again. Rejects with CAIRN_ENOTFOUND, CAIRN_EEXISTS. */
  copyThread(from: string, to: string): Promise<void>;
  /** Retention: the `keep` newest checkpoints of each namespace stay, and need none of the others. How many went. */
  pruneThread(threadId: string, keep: number): Promise<number>;
}
