// The whole validation suite of LangGraph's checkpointers against CairnSaver (tests/cli/t-node-agents.sh).
import { mkdtempSync, rmSync } from 'node:fs';
import { run } from './vitest.mjs';
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation';
import { CairnSaver } from '@cairn/langgraph';

const initializer = {
  checkpointerName: 'CairnSaver',
  async createCheckpointer() {
    return new CairnSaver({ path: mkdtempSync('suite-') + '/.cairn', sync: 'off' });
  },
  async destroyCheckpointer(saver) {
    const { path } = await saver.store();
    await saver.close();
    rmSync(path, { recursive: true });
  },
};
validate(initializer);
deltaChannelHistoryTests(initializer);
const { passed, skipped, failed } = await run();
for (const [name, error] of failed.slice(0, 10)) console.log(`# ${name}: ${error.stack?.replaceAll('\n', '\n# ')}`);
console.log(`${!failed.length && !skipped && passed >= 726 ? 'ok' : 'not ok'} - the validation suite: ${passed} passed, ${failed.length} failed, ${skipped} skipped`);
