/**
 * Orders the test files. The files below `test/` come first, in Jest's order: failed, slow and large files first, so
 * that no slow file starts late. The files below `src/` come last, because they are quick.
 */
import Sequencer from '@jest/test-sequencer';

export default class InOrder extends Sequencer {
  sort(tests) {
    const { rootDir } = [...tests][0]?.context.config ?? { rootDir: '' };
    const isQuick = ({ path }) => Number(path.startsWith(`${rootDir}/src/`));
    return super.sort([...tests]).toSorted((one, other) => isQuick(one) - isQuick(other));
  }
}
