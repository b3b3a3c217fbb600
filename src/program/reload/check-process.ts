/**
 * The process that reads and checks a changed configuration, for a program that goes on serving requests: reading,
 * checking and describing a large API takes seconds, and hundreds of megabytes. It lives as long as somebody may want
 * another check, and all that it took goes back to the system (decision 0035).
 */
import { formatProblems } from '../../config/check.js';
import { partsOf } from '../../config/config-parts.js';
import { withFixedSettings } from '../../config/fixed-settings.js';
import { loadConfig } from '../../config/load.js';
import { withoutDocuments } from '../../config/running-config.js';
import { describeApi } from '../../reference/describe-api.js';
import type { CheckRequest, FromCheck, ToCheck } from './check-messages.js';
import { offerMemory, stepBackWithThreads } from './step-back.js';

async function* check({ path, environment, fixed, describes }: CheckRequest): AsyncGenerator<FromCheck, void> {
  const result = await loadConfig(path, environment);
  if ('problems' in result) {
    yield {
      type: 'refused',
      problems: formatProblems(result.problems),
      files: result.files,
      residentBytes: residentBytes(),
    };
    return;
  }
  const description = describes ? describeApi(withFixedSettings(result.config, fixed)) : undefined;
  yield { type: 'valid', warnings: result.warnings.map(({ message }) => message), residentBytes: residentBytes() };
  for (const part of partsOf(withoutDocuments(result.config), description)) yield { type: 'part', part };
}

function residentBytes(): number {
  return process.memoryUsage.rss();
}

// A signal to all processes of a terminal or a service is for the program, which ends this one.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
stepBackWithThreads();
offerMemory();

let messages: AsyncGenerator<FromCheck, void> | undefined;
process.on('message', (message: ToCheck) => {
  if (message.type === 'check') messages = check(message.request);
  void messages?.next().then((step) => {
    if (step.done !== true) process.send?.(step.value, undefined, undefined, () => undefined);
  });
});
