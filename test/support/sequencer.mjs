/**
 * The order of test files: those that run whole programs first, the large before the small, so that none is begun late that takes long; what
 * stands beside the source last, since each of it is quick.
 */
import Sequencer from '@jest/test-sequencer';

export default class InOrder extends Sequencer {
  sort(tests) {
    const { rootDir } = [...tests][0]?.context.config ?? { rootDir: '' };
    const isQuick = ({ path }) => Number(path.startsWith(`${rootDir}/src/`));
    return super.sort([...tests]).toSorted((one, other) => isQuick(one) - isQuick(other));
  }
}
