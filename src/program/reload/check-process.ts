/**
 * Reads and checks a changed configuration in a separate process, while the program serves requests. For a large API, a
 * check takes seconds and hundreds of megabytes. When the process ends, all its memory returns to the system (decision
 * 0035).
 */
import { formatProblems } from '../../config/check.js';
import { partsOf } from '../../config/config-parts.js';
import { withFixedSettings } from '../../config/fixed-settings.js';
import { loadConfig } from '../../config/load.js';
import { withoutDocuments } from '../../config/running-config.js';
import { describeApis } from '../../reference/describe-api.js';
import type { CheckRequest, FromCheck, ToCheck } from './check-messages.js';
import { preferForOomKill, lowerOwnPriority } from './step-back.js';

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
  const description = describes ? describeApis(withFixedSettings(result.config, fixed)) : undefined;
  yield { type: 'valid', warnings: result.warnings.map(({ message }) => message), residentBytes: residentBytes() };
  for (const part of partsOf(withoutDocuments(result.config), description)) yield { type: 'part', part };
}

function residentBytes(): number {
  return process.memoryUsage.rss();
}

// A terminal or service manager sends signals to all processes of the program. Only the program ends this process.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());
lowerOwnPriority();
preferForOomKill();

let messages: AsyncGenerator<FromCheck, void> | undefined;
process.on('message', (message: ToCheck) => {
  if (message.type === 'check') messages = check(message.request);
  void messages?.next().then((step) => {
    if (step.done !== true) process.send?.(step.value, undefined, undefined, () => undefined);
  });
});
